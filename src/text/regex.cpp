#include "text/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <array>
#include <new>

#include "conclave/error.h"
#include "text/onig_pattern.h"
#include "text/utf8.h"

namespace conclave {
namespace {

struct Free {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  void operator()(pcre2_compile_context* context) const { pcre2_compile_context_free(context); }
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};

template <class T>
std::unique_ptr<T, Free> owned(T* made) {
  if (made == nullptr) throw std::bad_alloc();
  return std::unique_ptr<T, Free>(made);
}

constexpr std::uint32_t kMostHeapKiB = 64 * 1024;  // of one match, where the JIT's stack does not suffice

std::string pcre2_words(int code) {
  std::array<PCRE2_UCHAR, 256> words{};
  pcre2_get_error_message(code, words.data(), words.size());
  return reinterpret_cast<const char*>(words.data());
}

}  // namespace

struct Regex::Code {
  std::unique_ptr<pcre2_code, Free> program;
  std::unique_ptr<pcre2_match_context, Free> limits;
  std::string written;  // the pattern as the file has it
};

Regex::Regex(std::string_view onig_pattern, const std::string& path) : code_(std::make_unique<Code>()) {
  code_->written = onig_pattern;
  const std::string pattern = onig_to_pcre2(onig_pattern, path);
  const auto context = owned(pcre2_compile_context_create(nullptr));
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int fault = 0;
  PCRE2_SIZE place = 0;
  code_->program.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                     PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NO_AUTO_CAPTURE, &fault, &place,
                                     context.get()));
  if (!code_->program) {
    throw Error(Errc::unsupported,
                fmt::format("{}: the regular expression '{}' was refused by PCRE2: {}", path, onig_pattern, pcre2_words(fault)));
  }
  pcre2_jit_compile(code_->program.get(), PCRE2_JIT_COMPLETE);  // where it fails, the interpreter matches
  code_->limits = owned(pcre2_match_context_create(nullptr));
  pcre2_set_match_limit(code_->limits.get(), kMostSteps);
  pcre2_set_heap_limit(code_->limits.get(), kMostHeapKiB);
}

Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;

Regex::Search::Search(const Regex& regex, std::string_view text)
    : code_(*regex.code_), text_(text), match_data_(pcre2_match_data_create(1, nullptr)) {
  if (match_data_ == nullptr) throw std::bad_alloc();
}

Regex::Search::~Search() { pcre2_match_data_free(static_cast<pcre2_match_data*>(match_data_)); }

bool Regex::Search::match_from(std::size_t at) {
  auto* data = static_cast<pcre2_match_data*>(match_data_);
  const auto run = [&](std::uint32_t options) {
    return pcre2_match(code_.program.get(), reinterpret_cast<PCRE2_SPTR>(text_.data()), text_.size(), at,
                       PCRE2_NO_UTF_CHECK | options, data, code_.limits.get());
  };
  int result = run(0);
  if (result == PCRE2_ERROR_JIT_STACKLIMIT) result = run(PCRE2_NO_JIT);  // the interpreter's stack is the heap
  if (result == PCRE2_ERROR_NOMATCH) return false;
  if (result < 0) {
    throw Error(Errc::bad_input, fmt::format("the tokenizer's regular expression '{}' cannot be run on this text of {} bytes: {}",
                                             code_.written, text_.size(), pcre2_words(result)));
  }
  const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(data);
  begin_ = ends[0];
  end_ = ends[1];
  return true;
}

bool Regex::Search::next() {
  while (at_ <= text_.size()) {
    const std::size_t last_end = end_;
    if (!match_from(at_)) break;
    if (begin_ == end_ && matched_before_ && end_ == last_end) {
      at_ += at_ < text_.size() ? utf8_length(text_[at_]) : 1;
      continue;
    }
    at_ = end_;
    matched_before_ = true;
    return true;
  }
  at_ = text_.size() + 1;
  return false;
}

}  // namespace conclave
