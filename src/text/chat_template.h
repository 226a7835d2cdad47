#pragma once
// A model's chat template: turns messages into the prompt text. The language is the part of Jinja2 3.1 that chat templates
// use, with the settings and extras of Hugging Face transformers (trim_blocks, lstrip_blocks, break and continue,
// {% generation %}, raise_exception, strftime_now, and a sandbox in which nothing can be changed in place).
#include <memory>
#include <string>
#include <string_view>

#include "io/json_fwd.h"
#include "text/render_options.h"

namespace conclave {

namespace jinja {
struct Template;
}

// Immutable; may be rendered from many threads at once.
class ChatTemplate {
 public:
  // Throws Error{corrupt, "chat template line N: ..."}: a syntax error, a statement outside the subset, not UTF-8, too large.
  static ChatTemplate parse(std::string_view source);

  // `variables` is an object; its members are what the template sees by name (messages, tools, add_generation_prompt,
  // bos_token, ...). A member that is null is defined and None, as transformers passes an absent `tools`.
  // Throws Error{bad_input}: the template's own words where it calls raise_exception, else
  // "chat template line N: ..." for whatever went wrong there, a bound of `options` included.
  std::string render(const OrderedJson& variables, const RenderOptions& options = {}) const;

 private:
  explicit ChatTemplate(std::shared_ptr<const jinja::Template> parsed) : parsed_(std::move(parsed)) {}
  std::shared_ptr<const jinja::Template> parsed_;
};

}  // namespace conclave
