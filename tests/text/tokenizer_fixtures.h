#pragma once
// Tokenizers for tests: the real ones of tests/data, and small ones built from a few lines of JSON.
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "io/json.h"
#include "tests/text/gzip_lines.h"
#include "text/tokenizer.h"

namespace conclave {

// tests/data/tokenizers/<model>, loaded once.
inline const Tokenizer& tokenizer_in_tree(const std::string& model) {
  static std::map<std::string, std::unique_ptr<const Tokenizer>> all;
  auto& one = all[model];
  if (!one) {
    const auto folder = std::filesystem::path(CONCLAVE_SOURCE_DIR) / "tests" / "data" / "tokenizers" / model;
    one = Tokenizer::from_json(read_gzip(folder / "tokenizer.json.gz"), read_gzip(folder / "tokenizer_config.json"));
  }
  return *one;
}

// A valid tokenizer.json with the tokens a, b, c, ab, abc, the merges a+b and ab+c, and the added token <s>; tests change it.
inline Json small_tokenizer_json() {
  return Json::parse(R"({
    "version": "1.0", "truncation": null, "padding": null,
    "added_tokens": [{"id": 5, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}],
    "normalizer": null, "pre_tokenizer": null, "post_processor": null, "decoder": {"type": "Fuse"},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4}, "merges": ["a b", "ab c"]}
  })");
}

}  // namespace conclave
