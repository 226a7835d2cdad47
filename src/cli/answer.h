#pragma once
// Prints one answer as it comes.
#include <string>

#include "conclave/engine.h"

namespace conclave::cli {

struct Answer {
  std::string text;
  Done done;
};

// Submits, steps the engine on this thread and writes text to stdout at once; an interrupt counted before or meanwhile cancels the
// request. With `show_ids` token ids are written instead of text. Throws the engine's Error when it refuses.
Answer print_answer(Engine&, Request, bool show_ids = false);

// "63 tokens at 812 tokens/s (first after 9 ms), prompt 38 tokens" on stderr.
void print_timings(const Done&);
// What ran: one line per decision of the model.
void print_kernels(const ModelInfo&);

}  // namespace conclave::cli
