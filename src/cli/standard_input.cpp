#include "cli/standard_input.h"

#include <fmt/format.h>

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

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
    pollfd waiting[] = {{STDIN_FILENO, POLLIN, 0}, {interrupt_event(), POLLIN, 0}};
    while (poll(waiting, 2, -1) < 0)
      if (errno != EINTR || interrupts() > 0) return false;
    if (waiting[1].revents != 0) return false;
    const ssize_t got = read(STDIN_FILENO, bytes_, sizeof(bytes_));
    at_ = 0;
    size_ = got > 0 ? static_cast<std::size_t>(got) : 0;
    return size_ > 0;
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
