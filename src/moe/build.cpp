#include "moe/build.h"

#include "base/check.h"
#include "base/log.h"

namespace conclave::moe {

BuiltMoe build_moe_kernel(const MoeProblem& problem, const ExpertWeights& weights, Device& device, std::string_view wanted,
                          bool verify, std::span<const MoeBackend* const> backends) {
  CONCLAVE_CHECK(!weights.experts.empty(), "only a plan has no weights, and it calls a backend itself");
  BuiltMoe built;
  built.selection = select_backend(problem, device.caps(), backends, wanted);
  for (;;) {
    const MoeBackend& chosen = built.selection.chosen_for(problem, device.caps());
    built.kernel = chosen.build(problem, weights, device);
    if (!verify) return built;
    built.verification = verify_kernel(problem, weights, *built.kernel, device);
    if (built.verification->passed) return built;
    built.selection.refuse_chosen(Why::build, built.verification->words);
    log::warning("MoE backend '{}' {}; it is not used for {}", chosen.name(), built.verification->words, to_string(problem));
  }
}

}  // namespace conclave::moe
