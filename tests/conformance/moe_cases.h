#pragma once
// The problems that every MoE backend is asked: formats, routing methods, activations, shapes off the tile, splits. A backend that
// cannot run one must say why; one that can must agree with the reference.
#include <string>
#include <vector>

#include "moe/problem.h"

namespace conclave::moe {

struct MoeCase {
  std::string name;  // letters, digits and '_'
  MoeProblem problem;
};
std::vector<MoeCase> all_moe_cases();

}  // namespace conclave::moe
