#pragma once
// Ctrl-C and SIGTERM as a counter that commands look at; nothing is torn down from inside the handler.

namespace conclave::cli {

// From here on SIGINT and SIGTERM are counted instead of ending the process, and interrupt blocking reads. A third one ends it at
// once, so that a program that does not look can still be stopped.
void count_interrupts();
int interrupts() noexcept;
// A descriptor that can be read once there was an interrupt, for poll(): a signal may arrive just before a wait begins, or in
// another thread, and would not end it. -1 before count_interrupts().
int interrupt_event() noexcept;
void clear_interrupt_event() noexcept;  // look at interrupts() after it, not before
int take_interrupts() noexcept;         // the same, and begins again at 0

// Whether SIGTERM has come. It is never forgotten: unlike Ctrl-C it is not about one answer.
bool told_to_end() noexcept;

}  // namespace conclave::cli
