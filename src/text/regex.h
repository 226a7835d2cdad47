#pragma once
// Regular expressions of tokenizer.json: Oniguruma's language, run by PCRE2 (JIT where the system allows it).
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace conclave {

class Regex {
 public:
  // Throws Error{corrupt|unsupported}, see onig_pattern.h; `path` names the pattern's place in the file.
  Regex(std::string_view onig_pattern, const std::string& path);
  ~Regex();
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;

  // Calls found(begin, end) for all matches, left to right, not overlapping; an empty match right behind the last match
  // is passed over. `text` must be valid UTF-8. Thread-safe. Throws Error{bad_input} when the expression needs more than
  // kMostSteps on this text: the tokens would otherwise depend on how far it came.
  template <class Found>
  void for_each_match(std::string_view text, Found&& found) const {
    Search search(*this, text);
    while (search.next()) found(search.begin(), search.end());
  }

 private:
  struct Code;
  static constexpr unsigned kMostSteps = 10'000'000;

  class Search {
   public:
    Search(const Regex&, std::string_view text);
    ~Search();
    Search(const Search&) = delete;
    Search& operator=(const Search&) = delete;
    bool next();
    std::size_t begin() const { return begin_; }
    std::size_t end() const { return end_; }

   private:
    bool match_from(std::size_t at);

    const Code& code_;
    std::string_view text_;
    void* match_data_;
    std::size_t at_ = 0, begin_ = 0, end_ = 0;
    bool matched_before_ = false;
  };

  std::unique_ptr<Code> code_;
};

}  // namespace conclave
