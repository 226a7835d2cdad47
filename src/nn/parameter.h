#pragma once
// A small float32 vector on the model's device: norm weights, biases of the router's choice, sinks.
#include "device/buffer.h"
#include "tensor/view.h"

namespace conclave {

struct Parameter {
  Buffer buffer;
  ConstTensorView view;  // [n] or another shape, f32; empty when the layer has none
};

}  // namespace conclave
