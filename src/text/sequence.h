#pragma once
// Components of tokenizer.json that are a "Sequence" of others: visited one after the other, nested ones in place.
#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "conclave/error.h"
#include "text/json_fields.h"

namespace conclave {

// Calls visit(component, type, path) for the component, or for each of those in a sequence; `list` is the name of the
// array in a sequence ("decoders"). Throws Error{unsupported} for more than kMostSteps of them.
template <class Visit>
void for_each_component(const Json& component, const std::string& path, std::string_view list, Visit&& visit) {
  constexpr std::size_t kMostSteps = 64;
  struct Waiting {
    const Json* component;
    std::string path;
  };
  std::vector<Waiting> waiting{{&component, path}};
  std::size_t seen = 0;
  while (!waiting.empty()) {
    const Waiting next = std::move(waiting.back());
    waiting.pop_back();
    if (++seen > kMostSteps) throw Error(Errc::unsupported, fmt::format("{}: more than {} components", path, kMostSteps));
    const std::string type = component_type(*next.component, next.path);
    if (type != "Sequence") {
      visit(*next.component, type, next.path);
      continue;
    }
    const JsonFields fields(*next.component, next.path, {list});
    const Json& parts = fields.array(list);
    if (parts.size() > kMostSteps) throw Error(Errc::unsupported, fmt::format("{}: more than {} components", path, kMostSteps));
    for (std::size_t i = parts.size(); i-- > 0;) waiting.push_back({&parts[i], fmt::format("{}[{}]", fields.path_of(list), i)});
  }
}

}  // namespace conclave
