#pragma once
// What `check` says of the files that no weight depends on: tokenizer, chat template, generation_config.json.
#include <string>
#include <vector>

#include "io/file_set.h"
#include "models/config.h"

namespace conclave::cli {

struct Findings {
  std::vector<std::string> problems;
  std::vector<std::string> notes;  // what is not there, and what follows from it
};

// By the parsers that an engine uses. `model`: null where config.json cannot be read.
void check_text(const FileSet&, const ModelConfig* model, Findings&);

}  // namespace conclave::cli
