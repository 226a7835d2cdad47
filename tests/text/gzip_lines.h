#pragma once
// Test data in gzip files: read as a whole, or as JSON lines.
#include <zlib.h>

#include <array>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "io/json.h"

namespace conclave {

// Reads plain files too.
inline std::string read_gzip(const std::filesystem::path& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) throw std::runtime_error("cannot open " + path.string());
  std::string text;
  std::vector<char> block(1 << 20);
  int got = 0;
  while ((got = gzread(file.get(), block.data(), static_cast<unsigned>(block.size()))) > 0)
    text.append(block.data(), static_cast<std::size_t>(got));
  if (got < 0) throw std::runtime_error("cannot read " + path.string());
  return text;
}

// One JSON value a line.
inline std::vector<Json> read_gzip_lines(const std::filesystem::path& path) {
  const std::string text = read_gzip(path);
  std::vector<Json> rows;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) rows.push_back(parse_json(std::string_view(text).substr(at, end - at), path.filename().string()));
    at = end + 1;
  }
  return rows;
}

}  // namespace conclave
