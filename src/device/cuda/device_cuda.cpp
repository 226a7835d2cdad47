// CUDA devices through the runtime API.
#include <cuda_runtime_api.h>
#include <fmt/core.h>

#include "conclave/error.h"
#include "device/cuda/stream_cuda.h"
#include "device/device.h"

namespace conclave {
namespace {

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw Error(Errc::device, fmt::format("{}: {}", what, cudaGetErrorString(status)));
}

void release_cuda(void* data, std::size_t) noexcept { cudaFree(data); }

// Nothing when the driver does not tell.
bool read_caps(int index, DeviceCaps& caps) {
  cudaDeviceProp properties;
  if (cudaGetDeviceProperties(&properties, index) != cudaSuccess) return false;
  caps.name = properties.name;
  caps.cuda = true;
  caps.compute_capability = properties.major * 10 + properties.minor;
  caps.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  return true;
}

class CudaDevice final : public Device {
 public:
  CudaDevice(int index, DeviceCaps caps) : index_(index), caps_(std::move(caps)) {}
  const DeviceCaps& caps() const noexcept override { return caps_; }

  Buffer allocate(std::size_t bytes) override {
    if (bytes == 0) return {};
    check(cudaSetDevice(index_), "choosing the CUDA device");
    void* data = nullptr;  // aligned to 256 bytes by cudaMalloc
    const cudaError_t status = cudaMalloc(&data, bytes);
    if (status == cudaErrorMemoryAllocation)
      throw Error(Errc::out_of_memory,
                  fmt::format("{:.1f} MiB were needed on {} and could not be had; use a smaller model, a shorter context or fewer "
                              "sequences",
                              static_cast<double>(bytes) / 0x1p20, caps_.name));
    check(status, "allocating CUDA memory");
    return {data, bytes, true, release_cuda};
  }

  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    check(cudaSetDevice(index_), "choosing the CUDA device");
    check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "copying to or from a CUDA device");
  }

  std::unique_ptr<Stream> new_stream() override { return std::make_unique<CudaStream>(index_); }

 private:
  int index_;
  DeviceCaps caps_;
};

}  // namespace

CudaStream::CudaStream(int index) : index_(index) {
  check(cudaSetDevice(index_), "choosing the CUDA device");
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a CUDA stream");
}

CudaStream::~CudaStream() { cudaStreamDestroy(stream_); }

void CudaStream::synchronize() { check(cudaStreamSynchronize(stream_), "waiting for a CUDA stream"); }

std::vector<DeviceCaps> find_cuda_devices() noexcept {
  std::vector<DeviceCaps> found;
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) return found;  // no driver, or no device
  for (int i = 0; i < count; ++i) {
    DeviceCaps caps;
    if (!read_caps(i, caps)) break;  // indices must stay the runtime's own
    found.push_back(std::move(caps));
  }
  return found;
}

std::unique_ptr<Device> open_cuda_device(int index) {
  const std::vector<DeviceCaps> devices = find_cuda_devices();
  if (index < 0 || static_cast<std::size_t>(index) >= devices.size())
    throw Error(Errc::not_found, fmt::format("there is no CUDA device {}: {} can be seen", index, devices.size()));
  return std::make_unique<CudaDevice>(index, devices[static_cast<std::size_t>(index)]);
}

}  // namespace conclave
