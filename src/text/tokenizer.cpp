#include "text/tokenizer.h"

#include <fmt/format.h>

#include <utility>

#include "conclave/error.h"
#include "io/json.h"
#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/json_fields.h"
#include "text/normalizer.h"
#include "text/post_processor.h"
#include "text/pretokenizer.h"
#include "text/text_size.h"
#include "text/token_decoder.h"
#include "text/tokenizer_config.h"
#include "text/utf8.h"

namespace conclave {
namespace {

constexpr const char* kFile = "tokenizer.json";

std::string path_of(const char* field) { return fmt::format("{}: {}", kFile, field); }

Vocabulary make_vocabulary(const Json& model, const std::vector<AddedToken>& added) {
  std::vector<Vocabulary::Entry> entries = Bpe::vocabulary_entries(model, path_of("model"));
  entries.reserve(entries.size() + added.size());
  for (const AddedToken& token : added) entries.push_back({token.content, token.id, false});
  try {
    return Vocabulary(entries);
  } catch (const Error& error) {
    throw error.with_context(kFile);
  }
}

}  // namespace

struct Tokenizer::Parts {
  Parts(const JsonFields& file, std::vector<AddedToken> added, const TokenizerConfig& given)
      : vocabulary(make_vocabulary(file.need("model"), added)),
        normalizer(Normalizer::from_json(file.find("normalizer"), path_of("normalizer"))),
        added_tokens(std::move(added), normalizer),
        pretokenizer(PreTokenizer::from_json(file.find("pre_tokenizer"), path_of("pre_tokenizer"))),
        bpe(file.need("model"), path_of("model"), vocabulary),
        post_processor(PostProcessor::from_json(file.find("post_processor"), vocabulary, path_of("post_processor"))),
        decoder(TokenDecoder::from_json(file.find("decoder"), path_of("decoder"))),
        config(given),
        special(static_cast<std::size_t>(vocabulary.size())) {
    for (const AddedToken& token : added_tokens.list()) {
      if (token.special) special[static_cast<std::size_t>(token.id)] = true;
    }
  }

  void encode_stretch(std::string_view raw, bool opens_text, BpeWorkspace&, std::vector<Token>& out) const;
  void encode_pieces(std::string_view normalized, bool opens_text, BpeWorkspace&, std::vector<Token>& out) const;
  std::optional<Token> named(std::optional<std::string_view> name) const;

  Vocabulary vocabulary;
  Normalizer normalizer;
  AddedTokens added_tokens;
  PreTokenizer pretokenizer;
  Bpe bpe;
  PostProcessor post_processor;
  TokenDecoder decoder;
  TokenizerConfig config;
  std::vector<bool> special;  // by id
};

// A stretch of the text between added tokens.
void Tokenizer::Parts::encode_stretch(std::string_view raw, bool opens_text, BpeWorkspace& space, std::vector<Token>& out) const {
  const std::string normalized = normalizer.apply(std::string(raw));
  for (const TokenFinder::Section& section : added_tokens.in_normalized_text().split(normalized)) {
    if (section.token != kNoToken) {
      out.push_back(section.token);
    } else {
      const auto text = std::string_view(normalized).substr(section.begin, section.end - section.begin);
      encode_pieces(text, opens_text && section.begin == 0, space, out);
    }
  }
}

void Tokenizer::Parts::encode_pieces(std::string_view normalized, bool opens_text, BpeWorkspace& space,
                                     std::vector<Token>& out) const {
  const Pieces pieces = pretokenizer.apply(std::string(normalized), opens_text);
  for (const Pieces::Span& span : pieces.spans) bpe.encode(pieces.view(span), space, out);
}

std::optional<Token> Tokenizer::Parts::named(std::optional<std::string_view> name) const {
  const Token id = name ? vocabulary.find(*name) : kNoToken;
  return id == kNoToken ? std::nullopt : std::optional(id);
}

Tokenizer::Tokenizer(std::unique_ptr<const Parts> parts) : parts_(std::move(parts)) {}
Tokenizer::~Tokenizer() = default;

std::unique_ptr<const Tokenizer> Tokenizer::from_json(std::string_view tokenizer_json, std::string_view tokenizer_config_json) {
  constexpr std::size_t kMostBytes = std::size_t{256} << 20;  // the largest known have 30 MB
  const Json json = parse_json(tokenizer_json, kFile, {.max_bytes = kMostBytes, .max_depth = 64, .allow_non_finite = false});
  const JsonFields file(
      json, kFile,
      {"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder", "model"});
  auto added = AddedTokens::read(file.find("added_tokens"), path_of("added_tokens"));
  const auto config = TokenizerConfig::from_json(tokenizer_config_json);
  return std::unique_ptr<const Tokenizer>(new Tokenizer(std::make_unique<const Parts>(file, std::move(added), config)));
}

std::vector<Token> Tokenizer::encode(std::string_view text, bool add_special_tokens) const {
  check_text_size(text.size());
  std::string repaired;
  if (!is_valid_utf8(text)) {
    repaired = repair_utf8(text);
    text = repaired;
  }
  std::vector<Token> out;
  if (add_special_tokens) out = special_prefix();
  BpeWorkspace space;
  for (const TokenFinder::Section& section : parts_->added_tokens.in_raw_text().split(text)) {
    if (section.token != kNoToken) {
      out.push_back(section.token);
    } else {
      parts_->encode_stretch(text.substr(section.begin, section.end - section.begin), section.begin == 0, space, out);
    }
  }
  if (add_special_tokens) out.insert(out.end(), special_suffix().begin(), special_suffix().end());
  return out;
}

std::string Tokenizer::decode(std::span<const Token> tokens, bool skip_special_tokens) const {
  std::string out;
  TokenDecoder::Stream stream(parts_->decoder, ByteRuns::whole);
  for (const Token token : tokens) {
    if (!has(token) || (skip_special_tokens && is_special(token))) continue;
    stream.push(text_of(token), out);
  }
  stream.finish(out);
  return out;
}

Token Tokenizer::vocab_size() const { return parts_->vocabulary.size(); }
bool Tokenizer::has(Token id) const { return parts_->vocabulary.has(id); }
std::optional<Token> Tokenizer::id_of(std::string_view token) const { return parts_->named(token); }
std::string_view Tokenizer::text_of(Token id) const { return parts_->vocabulary.text_of(id); }
bool Tokenizer::is_special(Token id) const { return has(id) && parts_->special[static_cast<std::size_t>(id)]; }
std::string Tokenizer::bytes_of(Token id) const { return has(id) ? parts_->decoder.bytes_of(text_of(id)) : std::string(); }

const std::vector<Token>& Tokenizer::special_prefix() const { return parts_->post_processor.prefix; }
const std::vector<Token>& Tokenizer::special_suffix() const { return parts_->post_processor.suffix; }

std::optional<Token> Tokenizer::bos() const { return parts_->named(parts_->config.bos); }
std::optional<Token> Tokenizer::eos() const { return parts_->named(parts_->config.eos); }
std::optional<Token> Tokenizer::pad() const { return parts_->named(parts_->config.pad); }
std::optional<bool> Tokenizer::add_bos() const { return parts_->config.add_bos; }
std::optional<bool> Tokenizer::add_eos() const { return parts_->config.add_eos; }
const TokenDecoder& Tokenizer::decoder() const { return parts_->decoder; }

}  // namespace conclave
