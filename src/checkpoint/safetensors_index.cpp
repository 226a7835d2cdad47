#include "checkpoint/safetensors_index.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/in_quotes.h"
#include "io/file_set.h"
#include "io/json.h"

namespace conclave {

SafetensorsIndex parse_safetensors_index(std::string_view text, std::string_view file_name) {
  const OrderedJson json = parse_ordered_json(text, file_name, {.max_depth = 16});
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  if (map == json.end() || !map->is_object())
    throw Error(Errc::corrupt, fmt::format("{}: expected an object 'weight_map' of tensor names to file names", file_name));

  SafetensorsIndex index;
  Problems problems;
  for (const auto& [tensor, shard] : map->items()) {
    if (shard.is_string() && is_plain_file_name(shard.get_ref<const std::string&>()))
      index[shard.get_ref<const std::string&>()].push_back(tensor);
    else
      problems.add(fmt::format("tensor {}: expected the name of a file in the same folder, found {}", in_quotes(tensor),
                               shard.is_string() ? in_quotes(shard.get_ref<const std::string&>()) : shard.type_name()));
  }
  if (map->empty()) problems.add("'weight_map' is empty");
  problems.throw_if_any(Errc::corrupt, file_name);
  for (auto& [shard, tensors] : index) std::sort(tensors.begin(), tensors.end());
  return index;
}

void compare_with_index(std::string_view shard, const std::vector<std::string>& expected, std::span<const SafetensorsTensor> found,
                        Problems& problems) {
  auto wanted = expected.begin();
  auto there = found.begin();
  while (wanted != expected.end() || there != found.end()) {
    const int order = wanted == expected.end() ? 1 : there == found.end() ? -1 : wanted->compare(there->name);
    if (order < 0)
      problems.add(fmt::format("tensor {} is not in {}, where the index has it", in_quotes(*wanted), in_quotes(shard)));
    if (order > 0)
      problems.add(fmt::format("tensor {} is in {}, where the index does not have it", in_quotes(there->name), in_quotes(shard)));
    if (order <= 0) ++wanted;
    if (order >= 0) ++there;
  }
}

}  // namespace conclave
