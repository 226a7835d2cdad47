#include "text/decode_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "conclave/error.h"
#include "io/json.h"
#include "text/byte_alphabet.h"
#include "text/byte_run.h"
#include "text/json_fields.h"
#include "text/metaspace.h"
#include "text/replacement.h"
#include "text/utf8.h"

namespace conclave {
namespace {

// A stage of `Step`, with access to its fields.
template <class Step>
class StageOf : public DecodeStage {
 public:
  StageOf(const Step& step, DecodeStage& next) : step_(step), next_(next) {}
  void finish() override { next_.finish(); }

 protected:
  const Step& step_;
  DecodeStage& next_;
};

struct ReplaceStep final : DecodeStep {
  explicit ReplaceStep(Replacement given) : replacement(std::move(given)) {}

  // In a token that comes in parts, the end of a part is held back while it may be the beginning of a match.
  struct Stage final : StageOf<ReplaceStep> {
    using StageOf::StageOf;
    void push(const DecodedPart& part) override {
      if (part.opens) held.clear();
      held += part.text;
      const std::size_t ready = part.closes ? held.size() : held.size() - unsure();
      next_.push({step_.replacement.apply(std::string_view(held).substr(0, ready)), part.opens, part.closes});
      held.erase(0, ready);
    }
    // The length of the longest end of `held` that begins the pattern and belongs to no match.
    std::size_t unsure() const {
      const std::string& pattern = step_.replacement.pattern.literal();
      std::size_t free_from = 0;
      step_.replacement.pattern.for_each_match(held, [&](std::size_t, std::size_t end) { free_from = end; });
      const std::string_view rest = std::string_view(held).substr(free_from);
      std::size_t length = std::min(rest.size(), pattern.size() - 1);
      while (length > 0 && !std::string_view(pattern).starts_with(rest.substr(rest.size() - length))) --length;
      return length;
    }
    std::string held;
  };

  std::unique_ptr<DecodeStage> start(DecodeStage& next, ByteRuns) const override { return std::make_unique<Stage>(*this, next); }
  bool spell(std::string& token) const override {
    token = replacement.apply(token);
    return false;
  }
  bool needs_whole_tokens() const override { return !replacement.pattern.is_literal(); }
  Replacement replacement;
};

struct MetaspaceStep final : DecodeStep {
  explicit MetaspaceStep(MetaspaceScheme given) : scheme(std::move(given)) {}

  struct Stage final : StageOf<MetaspaceStep> {
    using StageOf::StageOf;
    void push(const DecodedPart& part) override {
      if (part.opens) first = !begun;
      begun = true;
      const bool drops = first && step_.scheme.prepend != MetaspaceScheme::Prepend::never;
      next_.push({step_.replaced(part.text, drops ? "" : " "), part.opens, part.closes});
    }
    bool begun = false, first = false;
  };

  std::string replaced(std::string_view text, std::string_view space) const {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t length = utf8_length(text[at]);
      const std::string_view character = text.substr(at, length);
      out += character == scheme.replacement ? space : character;
      at += length;
    }
    return out;
  }
  std::unique_ptr<DecodeStage> start(DecodeStage& next, ByteRuns) const override { return std::make_unique<Stage>(*this, next); }
  bool spell(std::string& token) const override {
    token = replaced(token, " ");
    return false;
  }
  MetaspaceScheme scheme;
};

struct FuseStep final : DecodeStep {
  // All tokens are parts of one.
  struct Stage final : StageOf<FuseStep> {
    using StageOf::StageOf;
    void push(const DecodedPart& part) override {
      next_.push({part.text, !begun, false});
      begun = true;
    }
    void finish() override {
      next_.push({"", !begun, true});
      next_.finish();
    }
    bool begun = false;
  };

  std::unique_ptr<DecodeStage> start(DecodeStage& next, ByteRuns) const override { return std::make_unique<Stage>(*this, next); }
  bool spell(std::string&) const override { return false; }
  bool parts_tokens() const override { return true; }
};

struct StripStep final : DecodeStep {
  StripStep(std::string character, std::size_t from_start, std::size_t from_end)
      : content(std::move(character)), start_count(from_start), stop_count(from_end) {}

  struct Stage final : StageOf<StripStep> {
    using StageOf::StageOf;
    void push(const DecodedPart& part) override {
      if (part.opens) {
        to_cut = step_.start_count;
        held = 0;
      }
      std::string_view text = part.text;
      for (; to_cut > 0 && text.starts_with(step_.content); --to_cut) text.remove_prefix(step_.content.size());
      if (!text.empty()) to_cut = 0;
      std::size_t at_end = 0;  // of those characters that may have to be cut at the token's end
      std::string_view kept = text;
      for (; kept.ends_with(step_.content) && at_end < step_.stop_count; ++at_end) kept.remove_suffix(step_.content.size());
      std::string out;
      const std::size_t behind = kept.empty() ? std::min(held + at_end, step_.stop_count) : at_end;
      for (std::size_t released = kept.empty() ? held + at_end - behind : held; released > 0; --released) out += step_.content;
      out += kept;
      held = behind;
      next_.push({out, part.opens, part.closes});
    }
    std::size_t to_cut = 0, held = 0;
  };

  std::unique_ptr<DecodeStage> start(DecodeStage& next, ByteRuns) const override { return std::make_unique<Stage>(*this, next); }
  bool spell(std::string&) const override { return false; }
  std::string content;
  std::size_t start_count, stop_count;
};

struct ByteFallbackStep final : DecodeStep {
  struct Stage final : StageOf<ByteFallbackStep> {
    Stage(const ByteFallbackStep& step, DecodeStage& next, ByteRuns byte_runs) : StageOf(step, next), run(next, byte_runs) {}
    void push(const DecodedPart& part) override {
      if (const auto byte = byte_of(part.text)) return run.push(*byte);
      run.end();
      next_.push(part);
    }
    void finish() override {
      run.end();
      next_.finish();
    }
    ByteRun run;
  };

  // <0xHH>
  static std::optional<char> byte_of(std::string_view token) {
    unsigned byte = 0;
    if (token.size() != 6 || !token.starts_with("<0x") || !token.ends_with('>')) return std::nullopt;
    const auto [end, fault] = std::from_chars(token.data() + 3, token.data() + 5, byte, 16);
    if (fault != std::errc{} || end != token.data() + 5) return std::nullopt;
    return static_cast<char>(static_cast<unsigned char>(byte));
  }
  std::unique_ptr<DecodeStage> start(DecodeStage& next, ByteRuns byte_runs) const override {
    return std::make_unique<Stage>(*this, next, byte_runs);
  }
  bool spell(std::string& token) const override {
    const auto byte = byte_of(token);
    if (byte) token.assign(1, *byte);
    return byte.has_value();
  }
  bool needs_whole_tokens() const override { return true; }
  bool parts_tokens() const override { return true; }
};

struct ByteLevelStep final : DecodeStep {
  struct Stage final : StageOf<ByteLevelStep> {
    using StageOf::StageOf;
    void push(const DecodedPart& part) override {
      bytes.clear();
      text.clear();
      append_spelled_bytes(bytes, part.text);
      assembler.push(bytes, text);
      next_.push({text, !begun, false});
      begun = true;
    }
    void finish() override {
      text.clear();
      assembler.finish(text);
      next_.push({text, !begun, true});
      next_.finish();
    }
    Utf8Assembler assembler;
    std::string bytes, text;
    bool begun = false;
  };

  std::unique_ptr<DecodeStage> start(DecodeStage& next, ByteRuns) const override { return std::make_unique<Stage>(*this, next); }
  bool spell(std::string& token) const override {
    std::string bytes;
    append_spelled_bytes(bytes, token);
    token = std::move(bytes);
    return true;
  }
  bool needs_whole_tokens() const override { return true; }
  bool parts_tokens() const override { return true; }
};

struct JoinBySpacesStep final : DecodeStep {
  struct Stage final : StageOf<JoinBySpacesStep> {
    using StageOf::StageOf;
    void push(const DecodedPart& part) override {
      if (begun) next_.push({" ", true, true});
      begun = true;
      next_.push(part);
    }
    bool begun = false;
  };

  std::unique_ptr<DecodeStage> start(DecodeStage& next, ByteRuns) const override { return std::make_unique<Stage>(*this, next); }
  bool spell(std::string&) const override { return false; }
};

}  // namespace

std::unique_ptr<const DecodeStep> make_join_by_spaces() { return std::make_unique<JoinBySpacesStep>(); }

std::unique_ptr<const DecodeStep> make_decode_step(const Json& json, const std::string& type, const std::string& path) {
  if (type == "ByteLevel") {
    JsonFields(json, path, {"add_prefix_space", "trim_offsets", "use_regex"});  // about encoding only
    return std::make_unique<ByteLevelStep>();
  }
  if (type == "ByteFallback") {
    JsonFields(json, path, {});
    return std::make_unique<ByteFallbackStep>();
  }
  if (type == "Fuse") {
    JsonFields(json, path, {});
    return std::make_unique<FuseStep>();
  }
  if (type == "Strip") {
    const JsonFields fields(json, path, {"content", "start", "stop"});
    const std::string content = fields.text("content");
    if (content.empty() || utf8_length(content[0]) != content.size()) {
      throw Error(Errc::corrupt, fmt::format("{}: expected one character, found '{}'", fields.path_of("content"), content));
    }
    return std::make_unique<StripStep>(content, fields.count("start", 0), fields.count("stop", 0));
  }
  if (type == "Replace") return std::make_unique<ReplaceStep>(Replacement::from_json(json, path));
  if (type == "Metaspace") {
    const JsonFields fields(json, path, {"replacement", "str_rep", "prepend_scheme", "add_prefix_space", "split"});
    return std::make_unique<MetaspaceStep>(MetaspaceScheme::from_json(fields));
  }
  throw Error(Errc::unsupported, fmt::format("{}: unknown decoder '{}'", path, type));
}

}  // namespace conclave
