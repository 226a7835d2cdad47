#pragma once
// One layer's part of the recurrent states, all of it float32.
#include "tensor/view.h"

namespace conclave {

struct RecurrentState {
  TensorView history;  // [slots, W - 1, C], as Ops::causal_conv wants it
  TensorView state;    // [slots, heads, head_dim, state size], as Ops::selective_scan wants it
};

}  // namespace conclave
