#include "hub/refusals.h"

#include <fmt/core.h>

#include "base/in_quotes.h"
#include "hub/shown.h"

namespace conclave {
namespace {

std::string said_by(const HttpReply& reply) {
  if (reply.error_message.empty()) return {};
  return fmt::format(" (the server says {})", in_quotes(reply.error_message, 300));
}

Error gated(const ModelId& id, const HubOptions& options, const HttpReply& reply) {
  const std::string address = shown_address(options.endpoint) + "/" + id.name;
  if (options.token.empty())
    return {Errc::bad_input,
            fmt::format("model '{}' is gated: accept its licence at {}, then set HF_TOKEN to a token of that account{}", id.name,
                        address, said_by(reply))};
  return {
      Errc::bad_input,
      fmt::format("model '{}' is gated, and the account of the token in use may not read it: accept its licence at {} with that "
                  "account, or set HF_TOKEN to a token of an account that has{}",
                  id.name, address, said_by(reply))};
}

Error unknown_model(const ModelId& id, const HubOptions& options, const HttpReply& reply) {
  return {Errc::not_found,
          fmt::format("{} has no model '{}', or it is private: check the spelling (org/name, as in its address){}{}",
                      shown_address(options.endpoint), id.name,
                      options.token.empty() ? ", or set HF_TOKEN to a token of an account that may read it"
                                            : "; the account of the token in use may not see it",
                      said_by(reply))};
}

Error unauthorized(const ModelId& id, const HubOptions& options, const HttpReply& reply) {
  if (reply.error_code == "GatedRepo") return gated(id, options, reply);
  // The hub answers 401 for a name it does not know, so as not to tell which private models exist.
  if (reply.status == 401 && (options.token.empty() || reply.error_code == "RepoNotFound"))
    return unknown_model(id, options, reply);
  if (reply.status == 401)
    return {Errc::bad_input,
            fmt::format("{} refuses the token in use (status 401): is the one in HF_TOKEN, or in the token file, still "
                        "valid?{}",
                        shown_address(options.endpoint), said_by(reply))};
  return {
      Errc::bad_input,
      fmt::format("{} forbids reading model '{}' (status 403): if it is gated, accept its licence at {}/{} and set HF_TOKEN to a "
                  "token of that account that may read it{}",
                  shown_address(options.endpoint), id.name, shown_address(options.endpoint), id.name, said_by(reply))};
}

Error absent(const ModelId& id, const std::string& file, const HubOptions& options, const HttpReply& reply) {
  if (reply.error_code == "RepoNotFound") return unknown_model(id, options, reply);
  if (!file.empty() && reply.error_code != "RevisionNotFound")
    return {Errc::not_found, fmt::format("model '{}' has no file {} at revision '{}', although the list of its files names it{}",
                                         id.name, in_quotes(file), id.revision, said_by(reply))};
  if (reply.error_code == "RevisionNotFound")
    return {Errc::not_found, fmt::format("model '{}' has no revision '{}': expected a branch, a tag or a commit of {}/{}{}",
                                         id.name, id.revision, shown_address(options.endpoint), id.name, said_by(reply))};
  return {Errc::not_found,
          fmt::format("{} has no model '{}' with a revision '{}': check the spelling (org/name@revision, as in its "
                      "address){}",
                      shown_address(options.endpoint), id.name, id.revision, said_by(reply))};
}

}  // namespace

Error refusal_of(const HttpReply& reply, const ModelId& id, const std::string& file, const HubOptions& options) {
  if (!reply.failure.empty()) return {Errc::device, fmt::format("cannot reach {}: {}", shown_address(reply.url), reply.failure)};
  if (reply.status == 401 || reply.status == 403) return unauthorized(id, options, reply);
  if (reply.status == 404) return absent(id, file, options, reply);
  return {Errc::device, fmt::format("{} answers status {}, which is not expected here; is HF_ENDPOINT the address of a hub?{}",
                                    shown_address(reply.url), reply.status, said_by(reply))};
}

}  // namespace conclave
