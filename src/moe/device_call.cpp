#include "moe/device_call.h"

#include <vector>

#include "base/check.h"

namespace conclave::moe {

DeviceCall::DeviceCall(const MoeCall& host, Device& device) : device_(device) {
  call_.hidden = copied(host.hidden, hidden_);
  call_.router_logits = copied(host.router_logits, logits_);
  if (host.selection_bias) call_.selection_bias = copied(host.selection_bias, bias_);
  const auto bytes = static_cast<std::size_t>(host.out.bytes());
  out_ = device.allocate(bytes + 1);  // never empty
  const std::vector<std::byte> poison(bytes, std::byte{0xff});
  device.copy(out_.data(), poison.data(), bytes);
  call_.out = TensorView(out_.data(), host.out.dtype, host.out.shape, out_.on_device());
}

void DeviceCall::fetch(TensorView out) const {
  CONCLAVE_CHECK(out.contiguous() && out.shape == call_.out.shape);
  device_.copy(out.data, call_.out.data, static_cast<std::size_t>(out.bytes()));
}

ConstTensorView DeviceCall::copied(const ConstTensorView& from, Buffer& to) {
  CONCLAVE_CHECK(from.contiguous());
  const auto bytes = static_cast<std::size_t>(from.bytes());
  to = device_.allocate(bytes + 1);
  device_.copy(to.data(), from.data, bytes);
  return {to.data(), from.dtype, from.shape, to.on_device()};
}

}  // namespace conclave::moe
