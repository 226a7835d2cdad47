#pragma once
// From a request to a sequence that the engine can run, or every reason why not.
#include <cstdint>
#include <memory>
#include <variant>

#include "conclave/request.h"
#include "engine/loaded_model.h"
#include "engine/sampling_params.h"
#include "engine/sequence.h"

namespace conclave {

// What all requests of an engine have in common.
struct AdmissionRules {
  const LoadedModel& loaded;
  const SamplingDefaults& defaults;
  std::int32_t max_model_len = 0;
  std::int32_t max_logprobs = 0;
  std::int32_t page_tokens = 0;
};

// Throws Error{unsupported} when there is no tokenizer.
const Tokenizer& tokenizer_of(const LoadedModel&);
// Throws Error{unsupported} when there is no chat template.
const ChatPrompt& chat_prompt_of(const LoadedModel&);

// `seed` serves requests that name none. Never throws Error: it returns it.
std::variant<std::unique_ptr<Sequence>, Error> make_sequence(Request, const AdmissionRules&, std::uint64_t seed,
                                                             std::shared_ptr<OutputQueue>);

}  // namespace conclave
