#pragma once
// The tokens of a tokenizer: id to text and text to id. Those of the model ("vocab") and those only added beside it
// ("added_tokens") share the ids, and only the former can come out of BPE.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace conclave {

using Token = std::int32_t;
inline constexpr Token kNoToken = -1;

class Vocabulary {
 public:
  struct Entry {
    std::string_view text;  // copied
    std::int64_t id = 0;
    bool in_model = true;
  };

  Vocabulary() = default;
  // Throws Error{corrupt} for an id that is taken or negative, a text that has another id already, and ids so far above
  // the number of tokens that the table by id would be mostly holes. A text given again with its own id counts once.
  explicit Vocabulary(const std::vector<Entry>&);
  Vocabulary(Vocabulary&&) noexcept = default;
  Vocabulary& operator=(Vocabulary&&) noexcept = default;

  // kNoToken when there is none.
  Token find(std::string_view text) const;
  Token find_in_model(std::string_view text) const;

  // One more than the highest id.
  Token size() const { return static_cast<Token>(slots_by_id_.size()); }
  bool has(Token id) const { return id >= 0 && id < size() && slots_by_id_[static_cast<std::size_t>(id)].length != kHole; }
  // "" for a hole and for an id out of range.
  std::string_view text_of(Token id) const;

 private:
  static constexpr std::uint32_t kHole = 0xFFFFFFFF;
  struct Slot {
    std::uint32_t offset = 0, length = kHole;  // in letters_
    bool in_model = false;
  };

  void insert(const Entry&);
  std::size_t probe(std::string_view text) const;  // where `text` is or would be in index_

  std::string letters_;
  std::vector<Slot> slots_by_id_;
  std::vector<Token> index_;  // open addressing; the size is a power of two, at least twice the number of tokens
};

}  // namespace conclave
