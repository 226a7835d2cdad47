#pragma once
// What the hub says about a model: the commit of a revision, the files there, and for each file its blob.
#include <cstdint>
#include <string>
#include <vector>

#include "hub/http.h"
#include "hub/model_id.h"
#include "hub/options.h"
#include "hub/stop.h"

namespace conclave {

struct Listing {
  std::string commit;
  std::vector<std::string> files;  // untrusted names, with folders
};

struct RemoteFile {
  std::string name;  // a plain file name
  std::string etag;  // of the blob; a plain file name of letters, digits and '-'
  std::int64_t size = 0;
};

// Those files that a model is loaded from: configuration, tokenizer, template, safetensors; not those in folders, nor other
// formats, nor a second copy of the weights ("consolidated*"), nor any weights and their index when there is no need of them. Names
// that could leave their folder are left out.
std::vector<std::string> wanted_files(const std::vector<std::string>& listed, bool weights);

// All throw Error, see refusals.h and patience.h; corrupt for an answer that cannot be used.
Listing fetch_listing(HttpClient&, const ModelId&, const HubOptions&, const StopFlag&);
RemoteFile fetch_description(HttpClient&, const ModelId&, const std::string& commit, const std::string& file, const HubOptions&,
                             const StopFlag&);

// The address that leads to the bytes.
std::string address_of(const ModelId&, const std::string& commit, const std::string& file, const HubOptions&);

}  // namespace conclave
