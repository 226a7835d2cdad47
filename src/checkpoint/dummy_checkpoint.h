#pragma once
// A model without weights: whatever a binder says that it needs is there, in the type and shape that it asks for. So an
// architecture that can load a checkpoint can also say what one would hold, and run without one.
#include <memory>

#include "checkpoint/checkpoint.h"

namespace conclave {

enum class DummyValues : std::uint8_t {
  none,    // a table of names, types and shapes: has_values() is false, and whatever reads a view is wrong
  random,  // the same values for the same name in every run, in memory of their own, made when they are first asked for
};

// `files` has config.json and need have no weights. Tensors appear as a model is bound, which one thread does; names() and the like
// tell of those so far.
std::unique_ptr<Checkpoint> open_dummy_checkpoint(std::shared_ptr<const FileSet> files, DummyValues);

}  // namespace conclave
