#include "cli/bench_work.h"

#include <cmath>

#include "models/model_files.h"

namespace conclave::cli {

double ModelWork::step_bytes(double tokens) const {
  return dense_bytes + expert_bytes * (1.0 - std::pow(1.0 - top_k / experts, tokens));
}

ModelWork work_of(const ModelConfig& config, const ModelReport& report) {
  const ModelSize& size = report.size;
  ModelWork work;
  double embedding = 0.0;
  for (const auto& [kind, format] : size.formats)
    if (kind.starts_with("embedding") && size.embedding > 0) embedding += static_cast<double>(format.bytes);
  work.expert_bytes = static_cast<double>(size.expert_bytes);
  work.dense_bytes = static_cast<double>(size.weight_bytes) - work.expert_bytes - embedding;
  if (!report.experts.empty()) {  // those of all layers are alike in every architecture that we know
    work.experts = report.experts.front().problem.experts;
    work.top_k = report.experts.front().problem.top_k;
  }
  const double head = static_cast<double>(config.vocab) * config.hidden;
  work.head_operations = 2.0 * head;
  work.token_operations = 2.0 * (static_cast<double>(size.active - size.embedding) - head);
  return work;
}

ModelWork work_of(std::shared_ptr<const FileSet> files) {
  const ModelConfig config = describe_model(*files).config;
  return work_of(config, plan_configuration(std::move(files)));
}

}  // namespace conclave::cli
