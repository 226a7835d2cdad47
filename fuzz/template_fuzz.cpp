// Chat templates from untrusted model folders: parse and render must end in text or in Error{corrupt | bad_input}, within
// their bounds. The source is the input; the variables are a conversation with every kind of value.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "conclave/error.h"
#include "io/json.h"
#include "text/chat_template.h"
#include "text/utf8.h"

namespace {

const conclave::OrderedJson& variables() {
  static const conclave::OrderedJson kVariables = conclave::parse_ordered_json(
      R"({"messages": [{"role": "system", "content": "Sé"}, {"role": "user", "content": [{"type": "text", "text": "hi"}]},
          {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": {"x": 1.5}}}]},
          {"role": "tool", "content": "{}", "tool_call_id": "c1"}],
          "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"x": {"type": "number"}}}}}],
          "add_generation_prompt": true, "bos_token": "<s>", "eos_token": "</s>", "enable_thinking": false, "n": -7})",
      "variables");
  return kVariables;
}

conclave::RenderOptions tight() {
  conclave::RenderOptions options;
  options.now = std::tm{};
  options.now->tm_mday = 1;
  options.max_steps = 20000;
  options.max_held_bytes = std::size_t{4} << 20;
  options.max_output_bytes = std::size_t{1} << 20;
  return options;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::string_view source(reinterpret_cast<const char*>(data), size);
    const std::string text = conclave::ChatTemplate::parse(source).render(variables(), tight());
    if (!conclave::is_valid_utf8(text) || text.size() > (std::size_t{1} << 20)) std::abort();
  } catch (const conclave::Error& error) {
    if (error.code() != conclave::Errc::corrupt && error.code() != conclave::Errc::bad_input) std::abort();
  }
  return 0;
}
