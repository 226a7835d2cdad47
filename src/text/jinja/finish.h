#pragma once
// The last step of making an expression: how deep it is follows from its children, and is bounded.
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <memory>

#include "text/jinja/ast.h"
#include "text/jinja/lexer.h"

namespace conclave::jinja {

inline constexpr int kMostDepth = 500;

// Settles how deep `node` is from its children, null ones left out, and makes it final.
template <class Node>
ExpressionPtr finished(std::unique_ptr<Node> node, std::initializer_list<const Expression*> children) {
  for (const Expression* child : children) {
    if (child != nullptr) node->depth = std::max(node->depth, child->depth + 1);
  }
  if (node->depth > kMostDepth) refuse_template(node->line, fmt::format("an expression is nested more than {} deep", kMostDepth));
  return node;
}

template <class Node>
ExpressionPtr finished_list(std::unique_ptr<Node> node, const Expressions& children) {
  for (const auto& child : children) node->depth = std::max(node->depth, child->depth + 1);
  return finished(std::move(node), {});
}

template <class Node>
ExpressionPtr finished_call(std::unique_ptr<Node> node, const Expression* operand, const Arguments& arguments) {
  for (const auto& child : arguments.values) node->depth = std::max(node->depth, child->depth + 1);
  for (const auto& [name, child] : arguments.named) node->depth = std::max(node->depth, child->depth + 1);
  return finished(std::move(node), {operand, arguments.more_values.get(), arguments.more_named.get()});
}

}  // namespace conclave::jinja
