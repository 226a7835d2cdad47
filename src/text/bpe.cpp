#include "text/bpe.h"

#include <fmt/format.h>

#include <algorithm>

#include "conclave/error.h"
#include "io/json.h"
#include "text/json_fields.h"
#include "text/utf8.h"

namespace conclave {
namespace {

// A heap's comparison: the candidate to be merged first is the greatest.
bool later(const BpeWorkspace::Candidate& a, const BpeWorkspace::Candidate& b) {
  return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
}

struct MergePair {
  std::string_view left, right;
};

// "a b" or ["a", "b"].
MergePair read_pair(const Json& merge, std::size_t index, const std::string& path) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
    return {merge[0].get_ref<const std::string&>(), merge[1].get_ref<const std::string&>()};
  }
  if (merge.is_string()) {
    const std::string_view line = merge.get_ref<const std::string&>();
    const std::size_t space = line.find(' ');
    if (space != std::string_view::npos && line.find(' ', space + 1) == std::string_view::npos) {
      return {line.substr(0, space), line.substr(space + 1)};
    }
  }
  throw Error(Errc::corrupt, fmt::format("{}[{}]: expected \"left right\" or [\"left\", \"right\"], found {}", path, index,
                                         merge.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 80)));
}

}  // namespace

std::vector<Vocabulary::Entry> Bpe::vocabulary_entries(const Json& model, const std::string& path) {
  const auto vocab = model.is_object() ? model.find("vocab") : model.end();
  if (vocab == model.end() || !vocab->is_object())
    throw Error(Errc::corrupt, path + ".vocab: expected an object of tokens and ids");
  std::vector<Vocabulary::Entry> entries;
  entries.reserve(vocab->size());
  for (auto entry = vocab->begin(); entry != vocab->end(); ++entry) {
    if (!entry->is_number_integer()) {
      throw Error(Errc::corrupt, fmt::format("{}.vocab: the id of '{}' is not a whole number", path, entry.key()));
    }
    // An unsigned number beyond the range of a signed one turns negative here, and is refused as such.
    entries.push_back({entry.key(), entry->get<std::int64_t>(), true});
  }
  return entries;
}

Bpe::Bpe(const Json& model, const std::string& path, const Vocabulary& vocabulary)
    : vocabulary_(vocabulary), near_characters_(kNearCharacters, kNoToken) {
  const JsonFields fields(model, path,
                          {"vocab", "merges", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
                           "byte_fallback", "ignore_merges"});
  const std::string type = model.contains("type") ? component_type(model, path) : "BPE";  // older files do not say it
  if (type != "BPE") throw Error(Errc::unsupported, fmt::format("{}: the model '{}'; only BPE is supported", path, type));
  const Json* dropout = fields.find("dropout");
  if (dropout != nullptr && (!dropout->is_number() || dropout->get<double>() != 0)) {
    throw Error(Errc::unsupported, fields.path_of("dropout") + ": random tokenization");
  }
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!fields.optional_text(affix).value_or("").empty())
      throw Error(Errc::unsupported, fields.path_of(affix) + ": not supported");
  }
  fuse_unknown_ = fields.flag("fuse_unk", false);
  byte_fallback_ = fields.flag("byte_fallback", false);
  ignore_merges_ = fields.flag("ignore_merges", false);
  if (const auto unknown = fields.optional_text("unk_token")) {
    unknown_ = vocabulary_.find_in_model(*unknown);
    if (unknown_ == kNoToken) {
      throw Error(Errc::corrupt, fmt::format("{}: '{}' is not in the vocabulary", fields.path_of("unk_token"), *unknown));
    }
  }
  read_merges(fields.array("merges"), fields.path_of("merges"));
  for (char32_t c = 0; c < kNearCharacters; ++c) {
    std::string text;
    append_character(text, c);
    near_characters_[c] = vocabulary_.find_in_model(text);
  }
  for (std::size_t byte = 0; byte < 256; ++byte) byte_tokens_[byte] = vocabulary_.find_in_model(fmt::format("<0x{:02X}>", byte));
}

void Bpe::read_merges(const Json& merges, const std::string& path) {
  merges_ = MergeTable(merges.size());
  std::string joined;
  std::uint32_t rank = 0;
  for (const Json& merge : merges) {
    const auto [left, right] = read_pair(merge, rank, path);
    joined.assign(left).append(right);
    const Token left_id = vocabulary_.find_in_model(left), right_id = vocabulary_.find_in_model(right);
    const Token merged = vocabulary_.find_in_model(joined);
    if (left_id == kNoToken || right_id == kNoToken || merged == kNoToken) {
      const std::string_view missing = left_id == kNoToken ? left : right_id == kNoToken ? right : std::string_view(joined);
      throw Error(Errc::corrupt,
                  fmt::format("{}[{}]: '{}' + '{}': the token '{}' is not in the vocabulary", path, rank, left, right, missing));
    }
    merges_.add(left_id, right_id, {rank++, merged});
  }
}

Token Bpe::character_token(char32_t c, std::string_view text) const {
  return c < kNearCharacters ? near_characters_[c] : vocabulary_.find_in_model(text);
}

void Bpe::encode(std::string_view piece, BpeWorkspace& space, std::vector<Token>& out) const {
  if (piece.empty()) return;
  if (ignore_merges_) {
    const Token whole = vocabulary_.find_in_model(piece);
    if (whole != kNoToken) return out.push_back(whole);
  }
  split_characters(piece, space);
  merge(space);
  for (const BpeWorkspace::Symbol& symbol : space.symbols) {
    if (symbol.token != kNoToken) out.push_back(symbol.token);
  }
}

void Bpe::split_characters(std::string_view piece, BpeWorkspace& space) const {
  auto& symbols = space.symbols;
  symbols.clear();
  int pending_unknown = 0;  // unknown tokens that the next known character will be put behind: 0 or 1
  for (std::size_t at = 0; at < piece.size();) {
    const std::size_t begin = at;
    const char32_t c = next_character(piece, at);
    const std::string_view character = piece.substr(begin, at - begin);
    const Token token = character_token(c, character);
    if (token == kNoToken) {
      fall_back(character, pending_unknown, space);
      continue;
    }
    if (pending_unknown > 0) symbols.push_back({unknown_, 0, 0});
    pending_unknown = 0;
    symbols.push_back({token, 0, 0});
  }
  if (pending_unknown > 0) symbols.push_back({unknown_, 0, 0});
  const auto count = static_cast<std::int32_t>(symbols.size());
  for (std::int32_t i = 0; i < count; ++i) {
    symbols[static_cast<std::size_t>(i)].previous = i - 1;
    symbols[static_cast<std::size_t>(i)].next = i + 1 < count ? i + 1 : -1;
  }
}

void Bpe::fall_back(std::string_view character, int& pending_unknown, BpeWorkspace& space) const {
  const auto byte_token = [&](char byte) { return byte_tokens_[static_cast<unsigned char>(byte)]; };
  if (byte_fallback_ && std::none_of(character.begin(), character.end(), [&](char byte) { return byte_token(byte) == kNoToken; })) {
    for (const char byte : character) space.symbols.push_back({byte_token(byte), 0, 0});
    return;
  }
  if (unknown_ == kNoToken) return;
  if (pending_unknown > 0 && !fuse_unknown_) space.symbols.push_back({unknown_, 0, 0});
  pending_unknown = 1;
}

void Bpe::push_candidate(std::int32_t left, BpeWorkspace& space) const {
  const auto& symbol = space.symbols[static_cast<std::size_t>(left)];
  if (symbol.next < 0) return;
  const Merge* found = merges_.find(symbol.token, space.symbols[static_cast<std::size_t>(symbol.next)].token);
  if (found == nullptr) return;
  space.heap.push_back({found->rank, static_cast<std::uint32_t>(left), found->merged});
  std::push_heap(space.heap.begin(), space.heap.end(), later);
}

// Merges the pair of lowest rank, leftmost first, until none is left. Candidates are not taken back when a neighbour
// changes: one whose pair now merges to something else is passed over.
void Bpe::merge(BpeWorkspace& space) const {
  auto& symbols = space.symbols;
  space.heap.clear();
  for (std::int32_t i = 0; i + 1 < static_cast<std::int32_t>(symbols.size()); ++i) push_candidate(i, space);
  while (!space.heap.empty()) {
    std::pop_heap(space.heap.begin(), space.heap.end(), later);
    const BpeWorkspace::Candidate best = space.heap.back();
    space.heap.pop_back();
    auto& left = symbols[best.position];
    if (left.token == kNoToken || left.next < 0) continue;
    auto& right = symbols[static_cast<std::size_t>(left.next)];
    const Merge* current = merges_.find(left.token, right.token);
    if (current == nullptr || current->merged != best.merged) continue;
    left.token = best.merged;
    left.next = right.next;
    right.token = kNoToken;
    const auto position = static_cast<std::int32_t>(best.position);
    if (left.next >= 0) symbols[static_cast<std::size_t>(left.next)].previous = position;
    if (left.previous >= 0) push_candidate(left.previous, space);
    push_candidate(position, space);
  }
}

}  // namespace conclave
