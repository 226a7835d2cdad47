#pragma once
// The published tensors of one linear while a codec binds them: looks them up in every spelling, checks them, and collects what is
// wrong, each problem naming its tensor.
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quant/tensor_source.h"

namespace conclave {

struct NamedTensor {
  std::string name;
  ConstTensorView view;
  explicit operator bool() const { return static_cast<bool>(view); }
};

class LinearTensors {
 public:
  using Suffixes = std::initializer_list<std::string_view>;
  using DTypes = std::initializer_list<DType>;

  LinearTensors(const TensorSource& source, std::string_view module, std::vector<std::string>& problems)
      : source_(source), module_(module), problems_(problems), problems_before_(problems.size()) {}

  // The tensor under exactly one of the spellings (".weight", ".weight_packed"): none or two is a problem and gives an empty one.
  // `need` goes to sources that make what they do not have; it checks nothing.
  NamedTensor required(Suffixes, const TensorNeed& need);
  // The same, but none is fine.
  NamedTensor optional(Suffixes);

  // A matrix [rows, cols] of one of the types, else a problem and false. An empty tensor is false without a new problem.
  bool expect(const NamedTensor&, DTypes, std::int64_t rows, std::int64_t cols);
  // The scales as a matrix [rows, cols]: unit dimensions are dropped or added, so [N], [N, 1] and [N, 1, 1, 1] are one thing. Their
  // values are not read. Where u8 is among the types it is read as the type `bytes`.
  ConstTensorView scales(const NamedTensor&, DTypes, std::int64_t rows, std::int64_t cols, DType bytes = DType::u8);
  // One float32 above 0, of shape [] or [1]; `inverted` publishes its reciprocal. Empty: 0 without a new problem. 1 where the
  // source has no values.
  float scalar(const NamedTensor&, bool inverted = false);

  void problem(const std::string& name, std::string_view words);
  bool ok() const { return problems_.size() == problems_before_; }
  const std::string& module() const { return module_; }

 private:
  std::optional<ConstTensorView> find(const std::string& name);

  const TensorSource& source_;
  std::string module_;
  std::vector<std::string>& problems_;
  std::size_t problems_before_;
};

}  // namespace conclave
