#include "quant/stacked_experts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "conclave/error.h"

namespace conclave {
namespace {

enum class Projection : std::uint8_t { gate, up, down };

// "P.experts.3.gate_proj.weight", taken apart.
struct Asked {
  std::string_view prefix;  // "P.experts"
  std::int64_t expert;
  Projection projection;
  std::string_view part;  // "weight"
};

std::optional<Asked> parse(std::string_view name) {
  constexpr std::string_view kExperts = ".experts.";
  const std::size_t at = name.find(kExperts);
  if (at == std::string_view::npos) return std::nullopt;
  Asked asked{};
  asked.prefix = name.substr(0, at + kExperts.size() - 1);
  const char* end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + at + kExperts.size(), end, asked.expert);
  if (error != std::errc() || asked.expert < 0) return std::nullopt;
  const std::string_view tail(rest, static_cast<std::size_t>(end - rest));
  constexpr std::string_view kProjections[] = {".gate_proj.", ".up_proj.", ".down_proj."};
  for (int p = 0; p < 3; ++p) {
    if (tail.substr(0, kProjections[p].size()) != kProjections[p]) continue;
    asked.projection = static_cast<Projection>(p);
    asked.part = tail.substr(kProjections[p].size());
    return asked;
  }
  return std::nullopt;
}

std::string stacked_name(const Asked& asked) {
  std::string name = fmt::format("{}.{}", asked.prefix, asked.projection == Projection::down ? "down_proj" : "gate_up_proj");
  if (asked.part != "weight") name += fmt::format("_{}", asked.part);
  return name;
}

// Scales of whole matrices: one for all experts, one for each, or one for each half of each.
bool is_global_scale(std::string_view part) {
  return part == "weight_scale_2" || part == "input_scale" || part == "weight_global_scale" || part == "input_global_scale";
}

void drop_dimension(ConstTensorView& view, int dimension) {
  Shape shape;
  std::array<std::int64_t, Shape::kMaxRank> stride{};
  for (int i = 0; i < view.shape.rank(); ++i) {
    if (i == dimension) continue;
    stride[static_cast<std::size_t>(shape.rank())] = view.stride[static_cast<std::size_t>(i)];
    shape.push_back(view.shape[i]);
  }
  view.shape = shape;
  view.stride = stride;
}

// Element `index` of a dimension, which goes away.
ConstTensorView at(ConstTensorView view, int dimension, std::int64_t index) {
  view.data += index * view.stride[static_cast<std::size_t>(dimension)] * size_of(view.dtype);
  drop_dimension(view, dimension);
  return view;
}

// Every second row, or one half of the rows.
ConstTensorView half_of_rows(ConstTensorView view, bool second, bool interleaved) {
  const std::int64_t rows = view.shape[0] / 2;
  view.data += (second ? 1 : 0) * (interleaved ? 1 : rows) * view.stride[0] * size_of(view.dtype);
  if (interleaved) view.stride[0] *= 2;
  Shape shape{rows};
  for (int i = 1; i < view.shape.rank(); ++i) shape.push_back(view.shape[i]);
  view.shape = shape;
  return view;
}

ConstTensorView global_scale(const ConstTensorView& view, const Asked& asked, const StackedLayout& layout,
                             const std::string& name) {
  if (view.shape.elements() == 1) return {view.data, view.dtype, Shape{}};
  const bool halves = view.shape == Shape{layout.experts, 2} && asked.projection != Projection::down;
  if (view.shape == Shape{layout.experts} || view.shape == Shape{layout.experts, 1}) {
    ConstTensorView one = at(view, 0, asked.expert);
    one.shape = Shape{};
    return one;
  }
  if (halves) return at(at(view, 0, asked.expert), 0, asked.projection == Projection::up ? 1 : 0);
  throw Error(Errc::corrupt, fmt::format("'{}' is {}; expected one scale, [{}] or [{}, 2]", name, to_string(view.shape),
                                         layout.experts, layout.experts));
}

}  // namespace

std::optional<ConstTensorView> StackedExperts::find(std::string_view name) const {
  const auto asked = parse(name);
  if (!asked) return source_.find(name);
  const bool down = asked->projection == Projection::down;
  const std::string stacked = stacked_name(*asked);
  const auto found = source_.find(stacked);
  if (!found) return std::nullopt;
  if (asked->expert >= layout_.experts) return std::nullopt;
  if (is_global_scale(asked->part)) return global_scale(*found, *asked, layout_, stacked);

  const Shape& shape = found->shape;
  const bool turned = layout_.transposed && shape.rank() == 3;
  const int out = turned ? 2 : 1;  // the dimension of the rows of the matrix
  if (shape.rank() < 2 || shape[0] != layout_.experts || (!down && shape[out] % 2 != 0)) {
    throw Error(Errc::corrupt, fmt::format("'{}' is {}; expected {} experts first{}", stacked, to_string(shape), layout_.experts,
                                           down ? "" : fmt::format(", and an even extent of dimension {} for gate and up", out)));
  }
  ConstTensorView view = at(*found, 0, asked->expert);
  if (turned) {
    view.shape = Shape{view.shape[1], view.shape[0]};
    view.stride = {view.stride[1], view.stride[0]};
  }
  return down ? view : half_of_rows(view, asked->projection == Projection::up, layout_.interleaved);
}

std::optional<ConstTensorView> StackedExperts::provide(std::string_view name, const TensorNeed& need) const {
  const auto asked = parse(name);
  if (!asked) return source_.provide(name, need);
  constexpr std::string_view kParts[] = {"weight", "weight_scale", "weight_scale_2", "input_scale", "blocks", "scales", "bias"};
  if (std::find(std::begin(kParts), std::end(kParts), asked->part) == std::end(kParts)) return std::nullopt;
  TensorNeed whole = need;
  whole.shape = Shape{layout_.experts};
  if (!is_global_scale(asked->part)) {
    const std::int64_t rows = need.shape[0] * (asked->projection == Projection::down ? 1 : 2);
    whole.shape.push_back(rows);
    if (need.shape.rank() == 2) whole.shape.push_back(need.shape[1]);
    if (need.shape.rank() == 2 && layout_.transposed) whole.shape = Shape{layout_.experts, need.shape[1], rows};
  }
  if (!source_.provide(stacked_name(*asked), whole)) return std::nullopt;
  return find(name);
}

}  // namespace conclave
