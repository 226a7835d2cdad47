#include "device/described_device.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "base/in_quotes.h"
#include "base/nearest.h"
#include "conclave/error.h"

namespace conclave {
namespace {

constexpr std::string_view kNames[] = {"scalar", "avx2",   "avx512", "sm_80",  "sm_89",
                                       "sm_90",  "sm_100", "sm_103", "sm_120", "sm_121"};
constexpr std::string_view kGpu = "sm_";

class DescribedDevice final : public Device {
 public:
  explicit DescribedDevice(DeviceCaps caps) : caps_(std::move(caps)) {}
  const DeviceCaps& caps() const noexcept override { return caps_; }
  Buffer allocate(std::size_t) override { return absent<Buffer>(); }
  std::unique_ptr<Stream> new_stream() override { return absent<std::unique_ptr<Stream>>(); }

 private:
  template <class T>
  T absent() const {
    throw Error(Errc::unsupported, fmt::format("{} is not in this machine; it can be planned for only", caps_.name));
  }
  DeviceCaps caps_;
};

DeviceCaps caps_of(std::string_view name) {
  DeviceCaps caps;
  caps.name = name;
  if (name.starts_with(kGpu)) {
    caps.cuda = true;
    std::from_chars(name.data() + kGpu.size(), name.data() + name.size(), caps.compute_capability);
  } else {
    caps.isa = name == "avx512" ? CpuIsa::avx512 : name == "avx2" ? CpuIsa::avx2 : CpuIsa::scalar;
  }
  return caps;
}

}  // namespace

std::span<const std::string_view> describable_devices() { return kNames; }

std::unique_ptr<Device> describe_device(std::string_view name) {
  if (std::ranges::find(kNames, name) == std::end(kNames))
    throw Error(Errc::bad_input, fmt::format("{} is no device that can be planned for{}; known are {}", in_quotes(name),
                                             did_you_mean(name, kNames), fmt::join(kNames, ", ")));
  return std::make_unique<DescribedDevice>(caps_of(name));
}

}  // namespace conclave
