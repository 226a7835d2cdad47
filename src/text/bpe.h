#pragma once
// The BPE model of tokenizer.json: one piece of text becomes tokens.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/json_fwd.h"
#include "text/merge_table.h"
#include "text/vocabulary.h"

namespace conclave {

// Scratch space of one encode(), reused from piece to piece.
struct BpeWorkspace {
  struct Symbol {
    Token token;
    std::int32_t previous, next;  // -1 at the ends; a symbol merged into its left neighbour has the token kNoToken
  };
  struct Candidate {
    std::uint32_t rank, position;
    Token merged;
  };
  std::vector<Symbol> symbols;
  std::vector<Candidate> heap;
};

class Bpe {
 public:
  // The model's own tokens, for the Vocabulary: views into `model`.
  static std::vector<Vocabulary::Entry> vocabulary_entries(const Json& model, const std::string& path);

  // `vocabulary` must hold those entries, and outlive this. Throws Error{corrupt} (a merge names a token that does not
  // exist, ...) and Error{unsupported} (another kind of model, dropout, subword prefixes and suffixes).
  Bpe(const Json& model, const std::string& path, const Vocabulary& vocabulary);

  // Appends the tokens of one piece. O(n log n). A character that is no token becomes byte tokens where the model has
  // byte_fallback and all of them, else the unknown token, else nothing. `piece` is valid UTF-8 of at most kMostTextBytes.
  void encode(std::string_view piece, BpeWorkspace&, std::vector<Token>& out) const;

 private:
  void read_merges(const Json& merges, const std::string& path);
  Token character_token(char32_t, std::string_view text) const;
  void split_characters(std::string_view piece, BpeWorkspace&) const;
  void fall_back(std::string_view character, int& pending_unknown, BpeWorkspace&) const;
  void push_candidate(std::int32_t left, BpeWorkspace&) const;
  void merge(BpeWorkspace&) const;

  static constexpr char32_t kNearCharacters = 0x800;

  const Vocabulary& vocabulary_;
  MergeTable merges_;
  std::vector<Token> near_characters_;    // token of each character below kNearCharacters
  std::array<Token, 256> byte_tokens_{};  // <0x00> to <0xFF>
  Token unknown_ = kNoToken;
  bool fuse_unknown_ = false, byte_fallback_ = false, ignore_merges_ = false;
};

}  // namespace conclave
