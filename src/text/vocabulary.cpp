#include "text/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>

#include "conclave/error.h"

namespace conclave {

Vocabulary::Vocabulary(const std::vector<Entry>& entries) {
  // Real vocabularies have no or few holes; the bound keeps the table within the order of the file.
  const std::int64_t bound = static_cast<std::int64_t>(entries.size()) * 4 + 65536;
  std::int64_t highest = -1;
  std::size_t letters = 0;
  for (const Entry& entry : entries) {
    if (entry.id < 0 || entry.id >= bound) {
      throw Error(Errc::corrupt, fmt::format("the token '{}' has the id {}; with {} tokens, ids from 0 to {} are taken", entry.text,
                                             entry.id, entries.size(), bound - 1));
    }
    highest = std::max(highest, entry.id);
    letters += entry.text.size();
  }
  if (letters >= kHole) throw Error(Errc::unsupported, "the tokens have more than 4 GiB of text");
  letters_.reserve(letters);
  slots_by_id_.resize(static_cast<std::size_t>(highest + 1));
  index_.assign(std::bit_ceil(entries.size() * 2 + 2), kNoToken);
  for (const Entry& entry : entries) insert(entry);
}

void Vocabulary::insert(const Entry& entry) {
  const auto id = static_cast<Token>(entry.id);
  const std::size_t place = probe(entry.text);
  if (index_[place] == id) return;
  if (index_[place] != kNoToken) {
    throw Error(Errc::corrupt, fmt::format("the token '{}' has two ids, {} and {}", entry.text, index_[place], id));
  }
  if (has(id)) throw Error(Errc::corrupt, fmt::format("two tokens have the id {}: '{}' and '{}'", id, text_of(id), entry.text));
  index_[place] = id;
  slots_by_id_[static_cast<std::size_t>(id)] = {static_cast<std::uint32_t>(letters_.size()),
                                                static_cast<std::uint32_t>(entry.text.size()), entry.in_model};
  letters_ += entry.text;
}

std::size_t Vocabulary::probe(std::string_view text) const {
  const std::size_t mask = index_.size() - 1;
  std::size_t place = std::hash<std::string_view>{}(text)&mask;
  while (index_[place] != kNoToken && text_of(index_[place]) != text) place = (place + 1) & mask;
  return place;
}

Token Vocabulary::find(std::string_view text) const { return index_.empty() ? kNoToken : index_[probe(text)]; }

Token Vocabulary::find_in_model(std::string_view text) const {
  const Token id = find(text);
  return id != kNoToken && slots_by_id_[static_cast<std::size_t>(id)].in_model ? id : kNoToken;
}

std::string_view Vocabulary::text_of(Token id) const {
  if (!has(id)) return {};
  const Slot& slot = slots_by_id_[static_cast<std::size_t>(id)];
  return std::string_view(letters_).substr(slot.offset, slot.length);
}

}  // namespace conclave
