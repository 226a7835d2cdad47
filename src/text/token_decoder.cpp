#include "text/token_decoder.h"

#include "conclave/error.h"
#include "io/json.h"
#include "text/decode_steps.h"
#include "text/sequence.h"

namespace conclave {

TokenDecoder TokenDecoder::from_json(const Json* json, const std::string& path) {
  TokenDecoder made;
  if (json == nullptr) {
    made.steps_.push_back(make_join_by_spaces());
    return made;
  }
  bool parted = false;
  for_each_component(*json, path, "decoders", [&](const Json& part, const std::string& type, const std::string& where) {
    auto step = make_decode_step(part, type, where);
    if (parted && step->needs_whole_tokens()) {
      throw Error(Errc::unsupported, where + ": '" + type + "' behind a step that joins tokens or gives them out in parts");
    }
    parted = parted || step->parts_tokens();
    made.steps_.push_back(std::move(step));
  });
  return made;
}

std::string TokenDecoder::bytes_of(std::string_view token) const {
  std::string bytes(token);
  for (const auto& step : steps_) {
    if (step->spell(bytes)) break;
  }
  return bytes;
}

struct TokenDecoder::Stream::Sink final : DecodeStage {
  void push(const DecodedPart& part) override { out->append(part.text); }
  void finish() override {}
  std::string* out = nullptr;
};

TokenDecoder::Stream::Stream(const TokenDecoder& decoder, ByteRuns byte_runs) : sink_(std::make_unique<Sink>()) {
  DecodeStage* next = sink_.get();
  for (auto step = decoder.steps_.rbegin(); step != decoder.steps_.rend(); ++step) {
    stages_.push_back((*step)->start(*next, byte_runs));
    next = stages_.back().get();
  }
}

TokenDecoder::Stream::~Stream() = default;
TokenDecoder::Stream::Stream(Stream&&) noexcept = default;
TokenDecoder::Stream& TokenDecoder::Stream::operator=(Stream&&) noexcept = default;

void TokenDecoder::Stream::push(std::string_view token, std::string& out) {
  sink_->out = &out;
  DecodeStage& first = stages_.empty() ? static_cast<DecodeStage&>(*sink_) : *stages_.back();
  first.push({token, true, true});
}

void TokenDecoder::Stream::finish(std::string& out) {
  sink_->out = &out;
  if (!stages_.empty()) stages_.back()->finish();
}

}  // namespace conclave
