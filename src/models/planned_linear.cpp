#include "models/planned_linear.h"

#include "base/check.h"

namespace conclave {
namespace {

class PlannedLinear final : public Linear {
 public:
  PlannedLinear(const QuantScheme& scheme, std::int64_t rows, std::int64_t cols, const Ops& ops)
      : scheme_(scheme), rows_(rows), cols_(cols), ops_(ops) {}

  std::int64_t rows() const noexcept override { return rows_; }
  std::int64_t cols() const noexcept override { return cols_; }
  std::size_t workspace_bytes(std::int64_t tokens) const override { return ops_.linear_workspace_bytes(scheme_, cols_, tokens); }
  void run(ConstTensorView, TensorView, Workspace&, Stream&) const noexcept override { CONCLAVE_CHECK(false, "a plan was run"); }
  std::string describe() const override { return "planned"; }

 private:
  QuantScheme scheme_;
  std::int64_t rows_, cols_;
  const Ops& ops_;
};

}  // namespace

std::unique_ptr<Linear> planned_linear(const QuantScheme& scheme, std::int64_t rows, std::int64_t cols, const Ops& ops) {
  return std::make_unique<PlannedLinear>(scheme, rows, cols, ops);
}

}  // namespace conclave
