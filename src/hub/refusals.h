#pragma once
// What a server's "no" means for a user, in words: gated, private, unknown model, revision or file, refused token.
#include <string>

#include "conclave/error.h"
#include "hub/http.h"
#include "hub/model_id.h"
#include "hub/options.h"

namespace conclave {

// `file`: empty when the model itself was asked for.
Error refusal_of(const HttpReply&, const ModelId&, const std::string& file, const HubOptions&);

}  // namespace conclave
