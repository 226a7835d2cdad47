// Real models' templates against what Jinja2 3.1.6 makes of them, as transformers calls it.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "io/json.h"
#include "tests/text/chat_golden.h"
#include "tests/text/gzip_lines.h"
#include "tests/text/tar.h"

namespace conclave {
namespace {

namespace fs = std::filesystem;

const fs::path kData = fs::path(CONCLAVE_SOURCE_DIR) / "tests" / "data" / "chat";
const fs::path kShared = fs::path(CONCLAVE_SOURCE_DIR) / ".." / "shared" / "chat";

std::set<std::string> templates_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".jinja") names.insert(entry.path().stem().string());
  }
  return names;
}

void check_template(const fs::path& folder, const std::string& name, const std::string& rows) {
  SCOPED_TRACE(name);
  const std::string source = read_gzip(folder / (name + ".jinja"));
  const auto goldens = ordered_lines(rows, name);
  EXPECT_GE(goldens.size(), 60u);
  for (const OrderedJson& row : goldens) expect_row(row, source, chat_variables(row));
}

TEST(ChatTemplateGolden, FreelyLicensedTemplates) {
  const auto names = templates_in(kData / "templates");
  EXPECT_EQ(names.size(), 18u);
  for (const std::string& name : names)
    check_template(kData / "templates", name, read_gzip(kData / "goldens" / (name + ".jsonl.gz")));
}

TEST(ChatTemplateGolden, AllTemplatesBesideTheTree) {
  if (!fs::exists(kShared / "goldens.tar.gz"))
    GTEST_SKIP() << "no ../shared/chat: the templates under community licences are not checked";
  const auto goldens = read_tar(read_gzip(kShared / "goldens.tar.gz"));
  const auto names = templates_in(kShared / "templates");
  EXPECT_EQ(names.size(), 24u);
  for (const std::string& name : names) check_template(kShared / "templates", name, goldens.at(name + ".jsonl"));
}

TEST(ChatTemplateGolden, Snippets) {
  const auto rows = ordered_lines(read_gzip(kData / "micro.jsonl"), "micro.jsonl");
  EXPECT_EQ(rows.size(), 142u);
  for (const OrderedJson& row : rows) expect_row(row, row.at("template").get<std::string>(), row.at("context"));
}

TEST(ChatTemplateGolden, MoreSnippets) {  // made by tests/data/chat/make_micro_extra.py
  auto rows = ordered_lines(read_gzip(kData / "micro_extra.jsonl"), "micro_extra.jsonl");
  ASSERT_GE(rows.size(), 250u);
  const OrderedJson context = rows.front().at("context");
  rows.erase(rows.begin());
  for (const OrderedJson& row : rows) expect_row(row, row.at("template").get<std::string>(), context);
}

}  // namespace
}  // namespace conclave
