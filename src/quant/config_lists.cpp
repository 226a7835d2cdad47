// The parts that announcements of several methods share.
#include <fmt/format.h>

#include "io/json.h"
#include "quant/config_readers.h"

namespace conclave {
namespace {

// Python class names begin with a capital letter, modules of published models do not.
bool is_class_name(std::string_view entry) {
  return !entry.empty() && entry[0] >= 'A' && entry[0] <= 'Z' && entry.find('.') == entry.npos;
}

}  // namespace

void read_exclusions(ConfigFields& fields, std::string_view key, QuantRules& rules) {
  for (const std::string& entry : fields.texts(key))
    if (const std::string bad = rules.excluded.add(entry); !bad.empty()) fields.problem(key, bad);
}

void read_targets(ConfigFields& fields, QuantRule& rule) {
  for (const std::string& entry : fields.texts("targets")) {
    if (entry == "Linear") {
      rule.every_linear = true;
    } else if (is_class_name(entry)) {
      fields.problem("targets",
                     fmt::format("the class name '{}' cannot be matched with modules; supported: \"Linear\", module paths, "
                                 "globs and \"re:\" patterns",
                                 entry));
    } else if (const std::string bad = rule.modules.add(entry); !bad.empty()) {
      fields.problem("targets", bad);
    }
  }
}

bool read_kv_cache_scheme(ConfigFields& fields) {
  const Json* value = fields.find("kv_cache_scheme");
  if (value == nullptr) return false;
  ConfigFields scheme(*value, fields.path() + ".kv_cache_scheme", fields.problems());
  scheme.only("num_bits", {8});
  scheme.only("type", {"float"});
  scheme.only("dynamic", {false}, "scales of the KV cache are read from the checkpoint, not computed");
  scheme.only("strategy", {"tensor"}, "one scale for keys and one for values is supported");
  scheme.only("symmetric", {true});
  scheme.ignore({"observer", "observer_kwargs", "scale_dtype", "zp_dtype"});
  scheme.refuse_the_rest();
  return true;
}

}  // namespace conclave
