#include "text/post_processor.h"

#include <fmt/format.h>

#include "conclave/error.h"
#include "io/json.h"
#include "text/json_fields.h"
#include "text/sequence.h"

namespace conclave {
namespace {

// The ids that `name` stands for: special_tokens[name].ids.
void append_special(std::vector<Token>& out, const std::string& name, const JsonFields& fields, const Vocabulary& vocabulary) {
  const Json& table = fields.need("special_tokens");
  const auto entry = table.is_object() ? table.find(name) : table.end();
  if (entry == table.end()) {
    throw Error(Errc::corrupt, fmt::format("{}: the template uses '{}', which special_tokens lacks", fields.path(), name));
  }
  const JsonFields special(*entry, fmt::format("{}.special_tokens['{}']", fields.path(), name), {"id", "ids", "tokens"});
  for (const Json& id : special.array("ids")) {
    const bool known = id.is_number_unsigned() && id.get<std::uint64_t>() < static_cast<std::uint64_t>(vocabulary.size()) &&
                       vocabulary.has(id.get<Token>());
    if (!known) throw Error(Errc::corrupt, fmt::format("{}: {} is no token of the vocabulary", special.path_of("ids"), id.dump()));
    out.push_back(id.get<Token>());
  }
}

void read_template(PostProcessor& made, const JsonFields& fields, const Vocabulary& vocabulary) {
  bool text_seen = false;
  const Json& single = fields.array("single");
  for (std::size_t i = 0; i < single.size(); ++i) {
    const JsonFields piece(single[i], fmt::format("{}[{}]", fields.path_of("single"), i), {"SpecialToken", "Sequence"});
    if (const Json* special = piece.find("SpecialToken")) {
      const JsonFields name(*special, piece.path_of("SpecialToken"), {"id", "type_id"});
      append_special(text_seen ? made.suffix : made.prefix, name.text("id"), fields, vocabulary);
      continue;
    }
    const JsonFields sequence(piece.need("Sequence"), piece.path_of("Sequence"), {"id", "type_id"});
    if (sequence.text("id") != "A" || text_seen) throw Error(Errc::corrupt, piece.path() + ": expected the one text 'A'");
    text_seen = true;
  }
  if (!text_seen) throw Error(Errc::corrupt, fields.path_of("single") + ": the text 'A' is missing");
}

}  // namespace

PostProcessor PostProcessor::from_json(const Json* json, const Vocabulary& vocabulary, const std::string& path) {
  PostProcessor made;
  if (json == nullptr) return made;
  bool templated = false;
  for_each_component(*json, path, "processors", [&](const Json& part, const std::string& type, const std::string& where) {
    if (type == "ByteLevel") {
      JsonFields(part, where, {"add_prefix_space", "trim_offsets", "use_regex"});
    } else if (type == "TemplateProcessing") {
      if (templated) throw Error(Errc::unsupported, where + ": a second TemplateProcessing");
      templated = true;
      read_template(made, JsonFields(part, where, {"single", "pair", "special_tokens"}), vocabulary);
    } else {
      throw Error(Errc::unsupported, fmt::format("{}: unknown post-processor '{}'", where, type));
    }
  });
  return made;
}

}  // namespace conclave
