#pragma once
// Rows of rendered chats, and how they are compared: the text, or the failure.
#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "conclave/error.h"
#include "io/json.h"
#include "text/chat_template.h"

namespace conclave {

inline RenderOptions golden_options() {
  RenderOptions options;
  std::tm now{};  // Friday, 2025-03-14 15:09:26: the goldens' clock
  now.tm_year = 125, now.tm_mon = 2, now.tm_mday = 14, now.tm_hour = 15, now.tm_min = 9, now.tm_sec = 26;
  now.tm_wday = 5, now.tm_yday = 72, now.tm_isdst = -1;
  options.now = now;
  return options;
}

inline std::vector<OrderedJson> ordered_lines(std::string_view text, const std::string& what) {
  std::vector<OrderedJson> rows;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) rows.push_back(parse_ordered_json(text.substr(at, end - at), what));
    at = end + 1;
  }
  return rows;
}

// `row` has "text", or "error" with its kind and message. The words must be the same where the template raised them.
inline void expect_row(const OrderedJson& row, std::string_view source, const OrderedJson& variables) {
  SCOPED_TRACE(row.at("id").get<std::string>());
  const bool fails = row.contains("error");
  try {
    const std::string text = ChatTemplate::parse(source).render(variables, golden_options());
    if (fails) {
      ADD_FAILURE() << "rendered " << text << "\nexpected " << row.at("error").dump() << "\n" << source;
    } else {
      EXPECT_EQ(text, row.at("text").get<std::string>()) << source;
    }
  } catch (const Error& error) {
    if (!fails) {
      ADD_FAILURE() << error.what() << "\nexpected " << row.at("text").dump() << "\n" << source;
      return;
    }
    const bool raised = row.at("error").at("kind") == "raise_exception";
    EXPECT_EQ(raised, error.code() == Errc::bad_input && !std::string_view(error.what()).starts_with("chat template line "))
        << error.what();
    if (raised) {
      EXPECT_EQ(error.what(), row.at("error").at("message").get<std::string>());
    }
  }
}

// What transformers hands to a template: tools and documents are defined, if only as None.
inline OrderedJson chat_variables(const OrderedJson& row) {
  OrderedJson variables = {{"messages", row.at("messages")}, {"tools", row.at("tools")}, {"documents", nullptr}};
  variables["add_generation_prompt"] = row.at("add_generation_prompt");
  for (const char* more : {"special_tokens", "kwargs"}) {
    for (const auto& [name, value] : row.at(more).items()) variables[name] = value;
  }
  return variables;
}

}  // namespace conclave
