#include "cli/decisions.h"

#include <fmt/format.h>

#include <sstream>
#include <vector>

#include "io/json.h"

namespace conclave::cli {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(std::move(line));
  return lines;
}

}  // namespace

std::string text_of(std::span<const ModelReport::Line> decisions) {
  std::string text;
  for (const auto& [where, what, reasons] : decisions) {
    text += fmt::format("  {}: {}\n", where, what);
    for (const std::string& reason : lines_of(reasons)) text += fmt::format("    {}\n", reason);
  }
  return text;
}

Json json_of(std::span<const ModelReport::Line> decisions) {
  Json out = Json::array();
  for (const auto& [where, what, reasons] : decisions)
    out.push_back({{"where", where}, {"what", what}, {"reasons", lines_of(reasons)}});
  return out;
}

}  // namespace conclave::cli
