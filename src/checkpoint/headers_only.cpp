#include "checkpoint/headers_only.h"

namespace conclave {
namespace {

class HeadersOnly final : public Checkpoint {
 public:
  explicit HeadersOnly(const Checkpoint& all) : all_(all) {}
  std::optional<ConstTensorView> find(std::string_view name) const override { return all_.find(name); }
  std::optional<ConstTensorView> provide(std::string_view name, const TensorNeed& need) const override {
    return all_.provide(name, need);
  }
  bool has_values() const override { return false; }
  std::span<const std::string> names() const override { return all_.names(); }
  std::optional<TensorInfo> info(std::string_view name) const override { return all_.info(name); }
  std::vector<std::string_view> unused() const override { return all_.unused(); }
  std::uint64_t total_bytes() const override { return all_.total_bytes(); }
  const FileSet& files() const override { return all_.files(); }

 private:
  const Checkpoint& all_;
};

}  // namespace

std::unique_ptr<Checkpoint> headers_only(const Checkpoint& all) { return std::make_unique<HeadersOnly>(all); }

}  // namespace conclave
