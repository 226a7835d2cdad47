#pragma once
// Brings the files of one commit into the cache.

#include "hub/cache.h"
#include "hub/model_id.h"
#include "hub/options.h"
#include "hub/repository.h"

namespace conclave {

// What the hub says about the model now. Throws Error.
Listing look_up(const ModelId&, const HubOptions&);

// Fetches what the snapshot of the listing's commit lacks. Throws Error: not_found (no model in there that we could load, or as the
// hub says), device (no space, ...), busy, corrupt, cancelled. What has been fetched stays for the next start.
void fetch_snapshot(const ModelId&, const Listing&, const ModelCache&, const HubOptions&);

}  // namespace conclave
