#pragma once
// model.safetensors.index.json: which shard holds which tensor.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/problems.h"
#include "checkpoint/safetensors_header.h"

namespace conclave {

// File names to the tensors that the index expects in them, sorted. metadata.total_size is not looked at: it is wrong in
// public checkpoints, and the shards' headers say the same exactly.
using SafetensorsIndex = std::map<std::string, std::vector<std::string>, std::less<>>;

// Throws Error{corrupt} with all problems: not JSON, no weight_map, an entry that is not a plain file name, no entry at all.
SafetensorsIndex parse_safetensors_index(std::string_view text, std::string_view file_name);

// Adds what one shard and the index say differently. `expected` and `found` are sorted by name.
void compare_with_index(std::string_view shard, const std::vector<std::string>& expected, std::span<const SafetensorsTensor> found,
                        Problems&);

}  // namespace conclave
