#pragma once
// "added_tokens" of tokenizer.json: tokens found in the text as a whole, before anything else cuts it.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "io/json_fwd.h"
#include "text/normalizer.h"
#include "text/vocabulary.h"

namespace conclave {

struct AddedToken {
  std::string content;
  Token id = kNoToken;
  bool special = false;                 // left out of decoded text on demand
  bool normalized = false;              // looked for, normalized itself, in the normalized text
  bool single_word = false;             // only where no word character touches it
  bool lstrip = false, rstrip = false;  // takes the white space before / behind it along
};

// Finds added tokens in a text: the leftmost, and of those the longest, from left to right.
class TokenFinder {
 public:
  // A stretch of the text: an added token, or (token = kNoToken) what is between.
  struct Section {
    std::size_t begin = 0, end = 0;
    Token token = kNoToken;
  };

  // `contents[i]` is what is looked for in place of tokens[i].content; an empty one is never found.
  TokenFinder(const std::vector<const AddedToken*>& tokens, const std::vector<std::string>& contents);

  bool empty() const { return rules_.empty(); }
  // The sections of `text` in order. No section without a token is empty.
  std::vector<Section> split(std::string_view text) const;

 private:
  struct Node {  // of a trie over bytes: children are a list of siblings
    unsigned char byte = 0;
    int sibling = -1, child = -1;
    int rule = -1;
  };
  struct Rule {
    Token id;
    bool single_word, lstrip, rstrip;
  };

  void insert(std::string_view content, int rule);
  int child_of(int node, unsigned char byte) const;
  // The rule of the longest token at `at`, or -1; its end in `end`.
  int longest_at(std::string_view text, std::size_t at, std::size_t& end) const;

  std::vector<Node> nodes_;  // [0] to [255]: by first byte
  std::vector<Rule> rules_;
};

class AddedTokens {
 public:
  // Throws Error{corrupt}. `added_tokens` may be nullptr.
  static std::vector<AddedToken> read(const Json* added_tokens, const std::string& path);

  AddedTokens(std::vector<AddedToken>, const Normalizer&);

  const std::vector<AddedToken>& list() const { return list_; }
  const TokenFinder& in_raw_text() const { return raw_; }
  const TokenFinder& in_normalized_text() const { return normalized_; }

 private:
  static TokenFinder finder(const std::vector<AddedToken>&, bool normalized, const Normalizer&);

  std::vector<AddedToken> list_;
  TokenFinder raw_, normalized_;
};

}  // namespace conclave
