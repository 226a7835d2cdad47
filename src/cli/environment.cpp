#include "cli/environment.h"

#include <unistd.h>

#include <string>
#include <string_view>

#include "base/nearest.h"
#include "conclave/error.h"

namespace conclave::cli {
namespace {

constexpr std::string_view kPrefix = "CONCLAVE_";
constexpr std::string_view kKnown[] = {"CONCLAVE_ISA", "CONCLAVE_LOG_LEVEL", "CONCLAVE_MOE_BACKEND", "CONCLAVE_THREADS"};

}  // namespace

void check_environment() {
  std::string problems;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (name.substr(0, kPrefix.size()) != kPrefix) continue;
    bool known = false;
    for (std::string_view k : kKnown) known = known || k == name;
    if (!known)
      problems +=
          (problems.empty() ? "" : "; ") + ("unknown environment variable " + std::string(name)) + did_you_mean(name, kKnown);
  }
  if (!problems.empty()) throw Error(Errc::bad_input, problems);
}

}  // namespace conclave::cli
