#pragma once
// Cutting pieces at the matches of something: what "behavior" means in tokenizer.json.
#include <string>
#include <utility>
#include <vector>

#include "text/json_fields.h"
#include "text/pretokenizer.h"

namespace conclave {

enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

// Throws Error{corrupt} for an unknown name. `otherwise` stands for an absent field.
SplitBehavior split_behavior(const JsonFields&, SplitBehavior otherwise);

// One piece as matches and the text between them: in order, gapless, whole.
struct Segment {
  std::size_t begin = 0, end = 0;
  bool is_match = false;
};

class Segments {
 public:
  // `find(text, found)` calls found(begin, end) for each match; `invert` exchanges matches and the rest.
  template <class Find>
  void fill(std::string_view text, bool invert, Find&& find) {
    list_.clear();
    std::size_t covered = 0;
    find(text, [&](std::size_t begin, std::size_t end) {
      if (begin != covered) list_.push_back({covered, begin, invert});
      list_.push_back({begin, end, !invert});
      covered = end;
    });
    if (covered != text.size()) list_.push_back({covered, text.size(), invert});
  }
  // Joins and drops segments as the behavior says; what is left are the new pieces (some may be empty).
  const std::vector<Segment>& arranged(SplitBehavior);

 private:
  void merge_with_previous();
  void merge_with_next();
  void join_equals();
  std::vector<Segment> list_;
};

// Cuts all pieces. `find` as in Segments::fill.
template <class Find>
void split_pieces(Pieces& pieces, SplitBehavior behavior, bool invert, Find&& find) {
  std::vector<Pieces::Span> cut;
  cut.reserve(pieces.spans.size());
  Segments segments;
  for (const Pieces::Span& span : pieces.spans) {
    segments.fill(pieces.view(span), invert, find);
    for (const Segment& part : segments.arranged(behavior)) {
      if (part.begin == part.end) continue;
      cut.push_back({span.begin + part.begin, span.begin + part.end, span.opens_text && part.begin == 0});
    }
  }
  pieces.spans = std::move(cut);
}

}  // namespace conclave
