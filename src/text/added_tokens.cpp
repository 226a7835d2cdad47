#include "text/added_tokens.h"

#include <fmt/format.h>

#include <algorithm>

#include "conclave/error.h"
#include "io/json.h"
#include "text/characters.h"
#include "text/json_fields.h"
#include "text/utf8.h"

namespace conclave {
namespace {

bool word_ends_at(std::string_view text, std::size_t end) { return end > 0 && is_word(previous_character(text, end)); }

bool word_begins_at(std::string_view text, std::size_t at) { return at < text.size() && is_word(next_character(text, at)); }

std::size_t space_before(std::string_view text, std::size_t end) {
  while (end > 0) {
    std::size_t begin = end;
    if (!is_whitespace(previous_character(text, begin))) break;
    end = begin;
  }
  return end;
}

std::size_t space_behind(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    std::size_t next = at;
    if (!is_whitespace(next_character(text, next))) break;
    at = next;
  }
  return at;
}

}  // namespace

TokenFinder::TokenFinder(const std::vector<const AddedToken*>& tokens, const std::vector<std::string>& contents) : nodes_(256) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (contents[i].empty()) continue;
    rules_.push_back({tokens[i]->id, tokens[i]->single_word, tokens[i]->lstrip, tokens[i]->rstrip});
    insert(contents[i], static_cast<int>(rules_.size()) - 1);
  }
}

void TokenFinder::insert(std::string_view content, int rule) {
  int node = static_cast<unsigned char>(content[0]);
  for (const char c : content.substr(1)) {
    const auto byte = static_cast<unsigned char>(c);
    int child = child_of(node, byte);
    if (child < 0) {
      child = static_cast<int>(nodes_.size());
      nodes_.push_back({byte, nodes_[static_cast<std::size_t>(node)].child, -1, -1});
      nodes_[static_cast<std::size_t>(node)].child = child;
    }
    node = child;
  }
  int& held = nodes_[static_cast<std::size_t>(node)].rule;
  if (held < 0) held = rule;  // of two with one content, the first
}

int TokenFinder::child_of(int node, unsigned char byte) const {
  int child = nodes_[static_cast<std::size_t>(node)].child;
  while (child >= 0 && nodes_[static_cast<std::size_t>(child)].byte != byte)
    child = nodes_[static_cast<std::size_t>(child)].sibling;
  return child;
}

int TokenFinder::longest_at(std::string_view text, std::size_t at, std::size_t& end) const {
  int longest = -1;
  int node = static_cast<unsigned char>(text[at]);
  while (node >= 0) {
    ++at;
    const Node& here = nodes_[static_cast<std::size_t>(node)];
    if (here.rule >= 0) {
      longest = here.rule;
      end = at;
    }
    if (here.child < 0 || at == text.size()) break;
    node = child_of(node, static_cast<unsigned char>(text[at]));
  }
  return longest;
}

std::vector<TokenFinder::Section> TokenFinder::split(std::string_view text) const {
  std::vector<Section> sections;
  std::size_t covered = 0;
  for (std::size_t at = 0; !empty() && at < text.size();) {
    std::size_t begin = at, end = 0;
    const int found = longest_at(text, at, end);
    if (found < 0) {
      ++at;
      continue;
    }
    at = end;  // also when the match is refused: its text is not searched again
    const Rule& rule = rules_[static_cast<std::size_t>(found)];
    if (rule.single_word && (word_ends_at(text, begin) || word_begins_at(text, end))) continue;
    if (rule.lstrip) begin = std::max(space_before(text, begin), covered);
    if (rule.rstrip) end = space_behind(text, end);
    if (covered < begin) sections.push_back({covered, begin, kNoToken});
    sections.push_back({begin, end, rule.id});
    covered = end;
  }
  if (covered < text.size()) sections.push_back({covered, text.size(), kNoToken});
  return sections;
}

std::vector<AddedToken> AddedTokens::read(const Json* added_tokens, const std::string& path) {
  std::vector<AddedToken> list;
  if (added_tokens == nullptr) return list;
  if (!added_tokens->is_array()) throw Error(Errc::corrupt, path + ": expected an array");
  list.reserve(added_tokens->size());
  for (std::size_t i = 0; i < added_tokens->size(); ++i) {
    const JsonFields fields((*added_tokens)[i], fmt::format("{}[{}]", path, i),
                            {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
    AddedToken token;
    token.content = fields.text("content");
    fields.need("id");
    const std::size_t id = fields.count("id", 0);
    if (id > 0x7FFFFFFF) throw Error(Errc::corrupt, fmt::format("{}: {} is too large", fields.path_of("id"), id));
    token.id = static_cast<Token>(id);
    token.special = fields.flag("special", false);
    token.normalized = fields.flag("normalized", !token.special);
    token.single_word = fields.flag("single_word", false);
    token.lstrip = fields.flag("lstrip", false);
    token.rstrip = fields.flag("rstrip", false);
    list.push_back(std::move(token));
  }
  return list;
}

TokenFinder AddedTokens::finder(const std::vector<AddedToken>& list, bool normalized, const Normalizer& normalizer) {
  std::vector<const AddedToken*> tokens;
  std::vector<std::string> contents;
  for (const bool special : {true, false}) {  // of two that read the same, a special one goes first
    for (const AddedToken& token : list) {
      if (token.normalized != normalized || token.special != special) continue;
      tokens.push_back(&token);
      contents.push_back(normalized ? normalizer.apply(token.content) : token.content);
    }
  }
  return {tokens, contents};
}

AddedTokens::AddedTokens(std::vector<AddedToken> list, const Normalizer& normalizer)
    : list_(std::move(list)), raw_(finder(list_, false, normalizer)), normalized_(finder(list_, true, normalizer)) {}

}  // namespace conclave
