#include "engine/chat_prompt.h"

#include <utility>

#include "io/json.h"

namespace conclave {
namespace {

OrderedJson read_object(const FileSet& files, std::string_view name) {
  const auto file = files.find(name);
  if (!file) return OrderedJson::object();
  OrderedJson json = parse_ordered_json(file->text(), name);
  if (!json.is_object()) throw Error(Errc::corrupt, std::string(name) + ": expected an object, found " + json.type_name());
  return json;
}

// A special token is its text, or an object with its text.
const std::string* token_text(const OrderedJson& value) {
  if (value.is_string()) return value.get_ptr<const std::string*>();
  if (!value.is_object()) return nullptr;
  const auto content = value.find("content");
  return content != value.end() ? content->get_ptr<const std::string*>() : nullptr;
}

std::vector<std::pair<std::string, std::string>> special_tokens(const OrderedJson& config) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const char* name : {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}) {
    const auto found = config.find(name);
    if (found == config.end()) continue;
    if (const std::string* text = token_text(*found)) out.emplace_back(name, *text);
  }
  return out;
}

// "chat_template": a text, or a list of {name, template}, of which the one named "default" is meant.
std::string template_of(const OrderedJson& config) {
  const auto found = config.find("chat_template");
  if (found == config.end() || found->is_null()) return {};
  if (found->is_string()) return found->get<std::string>();
  if (found->is_array()) {
    for (const OrderedJson& entry : *found) {
      if (entry.is_object() && entry.value("name", OrderedJson()) == "default" &&
          entry.value("template", OrderedJson()).is_string()) {
        return entry.at("template").get<std::string>();
      }
    }
  }
  throw Error(Errc::corrupt,
              "tokenizer_config.json: chat_template: expected a text, or a list with a {name, template} whose name is \"default\"; "
              "give a template with --chat-template (chat_template) instead");
}

}  // namespace

std::optional<ChatPrompt> ChatPrompt::open(const FileSet& files, std::string_view instead) {
  const OrderedJson config = read_object(files, "tokenizer_config.json");
  std::string source(instead);
  if (source.empty()) {
    const auto file = files.find("chat_template.jinja");
    source = file ? std::string(file->text()) : template_of(config);
  }
  if (source.empty()) return std::nullopt;
  return ChatPrompt(ChatTemplate::parse(source), special_tokens(config));
}

std::string ChatPrompt::render(std::span<const ChatMessage> messages) const {
  OrderedJson list = OrderedJson::array();
  for (const ChatMessage& m : messages) list.push_back({{"role", m.role}, {"content", m.content}});
  OrderedJson given = OrderedJson::object();
  given["messages"] = std::move(list);
  return render_with(given);
}

std::string ChatPrompt::render_json(std::string_view json) const {
  OrderedJson given;
  try {
    given = parse_ordered_json(json, "conversation");
  } catch (const Error& e) {
    throw Error(Errc::bad_input, e.what());  // the caller's text, not a file
  }
  if (!given.is_object() || !given.contains("messages") || !given.at("messages").is_array()) {
    throw Error(Errc::bad_input, "conversation: expected an object with a list \"messages\"");
  }
  return render_with(given);
}

std::string ChatPrompt::render_with(const OrderedJson& given) const {
  OrderedJson all = OrderedJson::object();
  for (const auto& [name, text] : special_tokens_) all[name] = text;
  for (const char* name : {"tools", "documents"}) all[name] = nullptr;  // as transformers passes them when absent
  all["add_generation_prompt"] = true;
  for (const auto& [name, value] : given.items()) all[name] = value;
  return template_.render(all);
}

}  // namespace conclave
