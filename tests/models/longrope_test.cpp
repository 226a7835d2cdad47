// A whole model with longrope scaling against transformers (tools/make_fixture.py longrope). transformers takes short factors for a
// prompt within the original context and long ones beyond it; a server must take one set for all, by the longest context it allows.
#include <gtest/gtest.h>

#include "tests/models/fixture.h"

namespace conclave {
namespace {

constexpr const char *kShort = "p1", *kLong = "p2";  // 17 and 70 tokens; the original context has 32

double error_of(const std::string& prompt, std::int32_t max_context, Path path) {
  const std::filesystem::path folder = tree_data() / "longrope";
  const References references(folder / "ref.safetensors");
  const LoadedModel loaded = load_fixture(open_folder(folder), path, max_context);
  const auto run = loaded.run(references.ints(prompt + ".ids"), 0, path == Path::reference ? DType::f32 : DType::bf16);
  const std::vector<float> expected = references.floats("w." + prompt + (prompt == kLong ? ".logits_last8" : ".logits"));
  return compare(std::span(run.logits).last(expected.size()), expected, 128).rms_rel;
}

TEST(LongRope, EqualsTransformersOnBothSidesOfTheOriginalContext) {
  EXPECT_LE(error_of(kShort, 32, Path::reference), 5e-6);
  EXPECT_LE(error_of(kLong, 256, Path::reference), 5e-6);
  EXPECT_LE(error_of(kLong, 0, Path::reference), 5e-6);  // as long as the model knows positions
  EXPECT_LE(error_of(kLong, 256, Path::fast), 2e-2);
}

TEST(LongRope, TheLongestAllowedContextDecidesTheFactors) { EXPECT_GE(error_of(kShort, 256, Path::reference), 1e-2); }

}  // namespace
}  // namespace conclave
