#pragma once
// From what a user calls a model to its files: a local folder, or a model of the Hugging Face hub, in the cache that other programs
// share or downloaded into it.
#include <memory>
#include <string_view>

#include "hub/options.h"
#include "io/file_set.h"

namespace conclave {

// `spec`: a folder; or "org/name" or "org/name@revision", with or without "hf://" before it (a folder of that name goes first
// without it). A branch or tag is looked up at the hub; a commit that is complete in the cache is not, nor anything when offline.
// Without options.weights only configuration, tokenizer and template are fetched.
// When the hub cannot be asked and the cache is complete, that is used, with a warning. Throws Error: bad_input, not_found, device,
// busy, corrupt, cancelled.
std::unique_ptr<FileSet> resolve_model(std::string_view spec, const HubOptions&);

}  // namespace conclave
