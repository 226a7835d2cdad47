#include "models/single_sequence.h"

#include <limits>
#include <numeric>

#include "base/check.h"
#include "base/math.h"

namespace conclave {
namespace {

KvSpec spec_of(const Model& model, DType dtype) {
  KvSpec spec = model.kv_spec();
  spec.dtype = dtype;
  return spec;
}

}  // namespace

SingleSequence::SingleSequence(const Model& model, Device& device, const Ops& ops, std::int32_t max_context, std::int32_t max_rows,
                               DType kv_dtype)
    : model_(model),
      ops_(ops),
      stream_(device.new_stream()),
      cache_(device, spec_of(model, kv_dtype), ceil_div(max_context, model.kv_spec().page_tokens), 1),
      workspace_(device.allocate(model.workspace_bytes(max_rows, max_rows, max_context))),
      pages_(static_cast<std::size_t>(cache_.pages())),
      logits_(static_cast<std::size_t>(max_rows) * static_cast<std::size_t>(model.config().vocab)),
      max_rows_(max_rows) {
  std::iota(pages_.begin(), pages_.end(), 0);
}

std::span<const float> SingleSequence::append(std::span<const std::int32_t> tokens) {
  const auto rows = static_cast<std::int32_t>(tokens.size());
  CONCLAVE_CHECK(rows <= max_rows_ && length_ + rows <= cache_.pages() * cache_.spec().page_tokens);
  std::vector<std::int32_t> positions(tokens.size()), all_rows(tokens.size());
  std::iota(positions.begin(), positions.end(), length_);
  std::iota(all_rows.begin(), all_rows.end(), 0);
  length_ += rows;
  const SequenceRows sequence{0, rows, length_, pages_};
  const std::int64_t vocab = model_.config().vocab;
  const TensorView out(reinterpret_cast<std::byte*>(logits_.data()), DType::f32, {rows, vocab});
  model_.forward({tokens, positions, {&sequence, 1}, all_rows}, cache_, {ops_, *stream_, workspace_}, out);
  stream_->synchronize();
  return {logits_.data(), static_cast<std::size_t>(rows * vocab)};
}

Argmax argmax(std::span<const float> logits) {
  Argmax best;
  float first = -std::numeric_limits<float>::infinity(), second = first;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] > first) {
      second = first;
      first = logits[i];
      best.id = static_cast<std::int32_t>(i);
    } else if (logits[i] > second) {
      second = logits[i];
    }
  }
  best.margin = first - second;
  return best;
}

}  // namespace conclave
