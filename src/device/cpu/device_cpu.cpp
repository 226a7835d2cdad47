// The host's processor as a device.
#include "device/cpu_features.h"
#include "device/device.h"
#include "device/memory.h"

namespace conclave {
namespace {

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(int threads) : pool_(threads) {
    caps_.name = cpu_model_name();
    if (caps_.name.empty()) caps_.name = "CPU";
    caps_.isa = detect_cpu_isa();
    caps_.threads = pool_.size();
    caps_.memory_bytes = usable_memory();
  }
  const DeviceCaps& caps() const noexcept override { return caps_; }
  Buffer allocate(std::size_t bytes) override { return allocate_host(bytes); }
  std::unique_ptr<Stream> new_stream() override { return std::make_unique<CpuStream>(pool_); }

 private:
  ThreadPool pool_;
  DeviceCaps caps_;
};

}  // namespace

std::unique_ptr<Device> open_cpu_device(int threads) { return std::make_unique<CpuDevice>(threads); }

}  // namespace conclave
