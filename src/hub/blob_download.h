#pragma once
// Fetches one blob into the cache: one process at a time, going on from where an earlier attempt or start ended, checked at the
// end.
#include <atomic>
#include <cstdint>
#include <string>

#include "hub/cache.h"
#include "hub/http.h"
#include "hub/options.h"
#include "hub/repository.h"
#include "hub/stop.h"

namespace conclave {

// `done` follows the bytes of the file that are there. Throws Error: see patience.h, refusals.h, partial_file.h.
void fetch_blob(HttpClient&, const ModelId&, const std::string& commit, const RemoteFile&, const ModelCache&, const HubOptions&,
                const StopFlag&, std::atomic<std::int64_t>& done);

}  // namespace conclave
