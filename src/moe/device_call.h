#pragma once
// A call in host memory, copied to where a device can reach it.
#include "device/device.h"
#include "moe/backend.h"

namespace conclave::moe {

class DeviceCall {
 public:
  // Copies the inputs of a contiguous call in host memory; every bit of the device's output is set, so that what a kernel leaves
  // out shows. Throws Error{out_of_memory, device}.
  DeviceCall(const MoeCall& host, Device& device);

  const MoeCall& call() const { return call_; }
  // The output as it is now, to host memory of the same shape.
  void fetch(TensorView out) const;

 private:
  ConstTensorView copied(const ConstTensorView& from, Buffer& to);

  Device& device_;
  Buffer hidden_, logits_, bias_, out_;
  MoeCall call_;
};

}  // namespace conclave::moe
