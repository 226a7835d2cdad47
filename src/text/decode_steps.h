#pragma once
// The single steps of a TokenDecoder.
#include <memory>
#include <string>

#include "io/json_fwd.h"
#include "text/token_decoder.h"

namespace conclave {

// Throws Error{corrupt}, and Error{unsupported} for a type that is not known.
std::unique_ptr<const DecodeStep> make_decode_step(const Json&, const std::string& type, const std::string& path);

// What stands for a decoder where the file has none: a space between tokens.
std::unique_ptr<const DecodeStep> make_join_by_spaces();

}  // namespace conclave
