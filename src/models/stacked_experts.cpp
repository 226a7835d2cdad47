#include "models/stacked_experts.h"

#include <array>
#include <charconv>
#include <utility>

namespace conclave {
namespace {

// How a stacked tensor is called, for each suffix that formats look up.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kSuffixes{{{".weight", ""},
                                                                                  {".weight_scale", "_weight_scale"},
                                                                                  {".weight_scale_2", "_weight_scale_2"},
                                                                                  {".input_scale", "_input_scale"},
                                                                                  {"_blocks", "_blocks"},
                                                                                  {"_scales", "_scales"},
                                                                                  {".bias", "_bias"}}};

// One element of the leading dimension.
ConstTensorView at_index(ConstTensorView view, std::int64_t index) {
  ConstTensorView out = view;
  out.data += index * view.stride[0] * size_of(view.dtype);
  out.shape = {};
  out.stride = {};
  for (int i = 1; i < view.shape.rank(); ++i) {
    out.shape.push_back(view.shape[i]);
    out.stride[static_cast<std::size_t>(i - 1)] = view.stride[static_cast<std::size_t>(i)];
  }
  return out;
}

}  // namespace

std::optional<StackedExperts::Place> StackedExperts::parse(std::string_view name) const {
  constexpr std::string_view kParts[] = {"gate_proj", "up_proj", "down_proj"};
  const std::string prefix = at_ + "experts.";
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  Place place{};
  const auto [end, status] = std::from_chars(name.data(), name.data() + name.size(), place.expert);
  if (status != std::errc{} || end == name.data() + name.size() || *end != '.') return std::nullopt;
  name.remove_prefix(static_cast<std::size_t>(end - name.data()) + 1);
  for (place.part = 0; place.part < 3; ++place.part)
    if (name.starts_with(kParts[place.part])) {
      place.suffix = name.substr(kParts[place.part].size());
      return place;
    }
  return std::nullopt;
}

std::optional<ConstTensorView> StackedExperts::find(std::string_view name) const {
  const auto place = parse(name);
  if (!place) return source_.find(name);
  for (const auto& [wanted, stored] : kSuffixes) {
    if (wanted != place->suffix) continue;
    const auto stacked = source_.find(at_ + (place->part == 2 ? "experts.down_proj" : "experts.gate_up_proj") + std::string(stored));
    return stacked ? slice(*stacked, *place) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<ConstTensorView> StackedExperts::slice(ConstTensorView stacked, const Place& place) const {
  if (stacked.shape.rank() == 0) return stacked;  // one scalar for all experts
  if (place.expert >= stacked.shape[0]) return std::nullopt;
  ConstTensorView one = at_index(stacked, place.expert);
  if (one.shape.rank() == 0) return one;
  const std::int64_t outputs = place.part == 2 ? hidden_ : 2 * inter_;
  if (one.shape.rank() == 2 && one.shape[1] == outputs && (one.shape[0] != outputs || transposed_)) {
    one.shape = Shape{one.shape[1], one.shape[0]};
    std::swap(one.stride[0], one.stride[1]);
  }
  if (place.part == 2) return one;
  if (one.shape[0] == 2 && one.shape.rank() == 1) return at_index(one, place.part);  // a scalar for gate and one for up
  return one.shape[0] == outputs ? rows_of(one, place.part) : one;  // of another extent: the format says what is wrong with it
}

ConstTensorView StackedExperts::rows_of(ConstTensorView both, int part) const {
  Shape shape{inter_};
  for (int i = 1; i < both.shape.rank(); ++i) shape.push_back(both.shape[i]);
  const std::int64_t first = part == 0 ? 0 : order_ == GateUp::interleaved ? 1 : inter_;
  both.data += first * both.stride[0] * size_of(both.dtype);
  if (order_ == GateUp::interleaved) both.stride[0] *= 2;
  both.shape = shape;
  return both;
}

}  // namespace conclave
