#include "cli/standard_input.h"

#include <fmt/format.h>

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/interrupt.h"
#include "conclave/error.h"
#include "text/text_size.h"

namespace conclave::cli {
namespace {

// Bytes of stdin; an interrupt ends a wait for them like the end of the input does.
class Input {
 public:
  int next() { return at_ < size_ || fill() ? static_cast<unsigned char>(bytes_[at_++]) : EOF; }

 private:
  bool fill() {
    if (!wait()) return false;
    const ssize_t got = read(STDIN_FILENO, bytes_, sizeof(bytes_));
    if (got < 0) throw Error(Errc::device, fmt::format("stdin could not be read: {}", std::strerror(errno)));
    at_ = 0;
    size_ = static_cast<std::size_t>(got);
    return size_ > 0;
  }

  // False: an interrupt came first.
  static bool wait() {
    pollfd waiting[] = {{STDIN_FILENO, POLLIN, 0}, {interrupt_event(), POLLIN, 0}};
    for (;;) {
      if (interrupts() > 0 || told_to_end()) return false;
      if (poll(waiting, 2, -1) < 0) continue;  // a signal, which is looked at above
      if (waiting[1].revents == 0) return true;
      clear_interrupt_event();  // of an interrupt that was answered already, unless the loop finds another
    }
  }

  char bytes_[4096];
  std::size_t at_ = 0, size_ = 0;
};

Input& input() {
  static Input all;
  return all;
}

// Reads on until `end` (not kept; EOF: none) or the end of the input; says whether anything was read.
bool read_until(int end, std::string& text) {
  bool any = false;
  for (int c = input().next(); c != EOF; c = input().next()) {
    any = true;
    if (c == end) break;
    if (text.size() == kMostTextBytes)
      throw Error(Errc::bad_input,
                  fmt::format("stdin: expected a prompt of at most {} bytes, which can be tokenized; found more", kMostTextBytes));
    text += static_cast<char>(c);
  }
  return any;
}

}  // namespace

std::string read_all() {
  std::string text;
  read_until(EOF, text);
  return text;
}

std::optional<std::string> read_line() {
  std::string line;
  if (!read_until('\n', line)) return std::nullopt;
  return line;
}

}  // namespace conclave::cli
