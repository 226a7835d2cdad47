#include "quant/linear_tensors.h"

#include <fmt/format.h>

#include <algorithm>

#include "conclave/error.h"
#include "quant/elements.h"
#include "quant/scales.h"

namespace conclave {
namespace {

std::string list_of(LinearTensors::DTypes types) {
  std::string out;
  for (DType t : types) out += (out.empty() ? "" : " or ") + std::string(to_string(t));
  return out;
}

bool is_one_of(DType t, LinearTensors::DTypes types) { return std::find(types.begin(), types.end(), t) != types.end(); }

// The view as a matrix [rows, cols], when its extents are these in this order once extents of 1 are left out.
std::optional<ConstTensorView> as_grid(const ConstTensorView& view, std::int64_t rows, std::int64_t cols) {
  ConstTensorView grid = view;
  grid.shape = Shape{rows, cols};
  grid.stride = {};
  const std::int64_t wanted[] = {rows, cols};
  int next = 0;
  for (int i = 0; i < view.shape.rank(); ++i) {
    if (view.shape[i] == 1) continue;
    while (next < 2 && wanted[next] == 1) ++next;
    if (next == 2 || wanted[next] != view.shape[i]) return std::nullopt;
    grid.stride[static_cast<std::size_t>(next++)] = view.stride[static_cast<std::size_t>(i)];
  }
  while (next < 2 && wanted[next] == 1) ++next;
  if (next != 2) return std::nullopt;
  if (rows == 1) grid.stride[0] = cols;
  if (cols == 1) grid.stride[1] = 1;
  return grid;
}

}  // namespace

std::optional<ConstTensorView> LinearTensors::find(const std::string& name) {
  try {
    return source_.find(name);
  } catch (const Error& e) {  // it exists with a type that we cannot hold: one problem among others
    const std::string_view words = e.what();
    if (words.find(name) == words.npos)
      problem(name, words);
    else
      problems_.emplace_back(words);
    return std::nullopt;
  }
}

void LinearTensors::problem(const std::string& name, std::string_view words) {
  problems_.push_back(fmt::format("'{}' {}", name, words));
}

NamedTensor LinearTensors::optional(Suffixes suffixes) {
  NamedTensor found;
  for (std::string_view suffix : suffixes) {
    std::string name = module_ + std::string(suffix);
    const auto view = find(name);
    if (!view) continue;
    if (found) {
      problem(name, fmt::format("and '{}' are both in the checkpoint; they are two spellings of one thing", found.name));
      return {};
    }
    found = {std::move(name), *view};
  }
  return found;
}

NamedTensor LinearTensors::required(Suffixes suffixes, const TensorNeed& need) {
  const std::size_t before = problems_.size();
  NamedTensor found = optional(suffixes);
  if (found || problems_.size() != before) return found;
  for (std::string_view suffix : suffixes)
    if (const auto made = source_.provide(module_ + std::string(suffix), need)) return {module_ + std::string(suffix), *made};
  std::string others;
  for (std::string_view suffix : suffixes)
    if (suffix != *suffixes.begin()) others += fmt::format("{}'{}{}'", others.empty() ? " (nor " : ", ", module_, suffix);
  if (!others.empty()) others += ")";
  problem(module_ + std::string(*suffixes.begin()), "is missing" + others);
  return {};
}

bool LinearTensors::expect(const NamedTensor& t, DTypes types, std::int64_t rows, std::int64_t cols) {
  if (!t) return false;
  if (is_one_of(t.view.dtype, types) && t.view.shape == Shape{rows, cols}) return true;
  problem(t.name, fmt::format("is {} {}; expected {} [{}, {}]", to_string(t.view.dtype), to_string(t.view.shape), list_of(types),
                              rows, cols));
  return false;
}

ConstTensorView LinearTensors::scales(const NamedTensor& t, DTypes types, std::int64_t rows, std::int64_t cols, DType bytes) {
  if (!t) return {};
  auto grid = as_grid(t.view, rows, cols);
  if (!is_one_of(t.view.dtype, types) || !grid) {
    problem(t.name, fmt::format("is {} {}; expected {} [{}, {}]", to_string(t.view.dtype), to_string(t.view.shape), list_of(types),
                                rows, cols));
    return {};
  }
  if (grid->dtype == DType::u8) grid->dtype = bytes;
  return *grid;
}

float LinearTensors::scalar(const NamedTensor& t, bool inverted) {
  if (!t) return 0.0f;
  if (!holds_floats(t.view.dtype) || t.view.shape.elements() != 1) {
    problem(t.name, fmt::format("is {} {}; expected one f32", to_string(t.view.dtype), to_string(t.view.shape)));
    return 0.0f;
  }
  if (!source_.has_values()) return 1.0f;
  const float published = load_float(t.view, 0);
  const float value = inverted && usable_scale(published) ? 1.0f / published : published;
  if (usable_scale(value)) return value;
  problem(t.name, fmt::format("is {}; a scale must be finite, above 0 and not subnormal{}", published,
                              inverted ? ", and so must its reciprocal" : ""));
  return 0.0f;
}

}  // namespace conclave
