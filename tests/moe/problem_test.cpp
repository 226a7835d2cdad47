// What a problem is called, which problems mean nothing, and what activations compute.
#include "moe/problem.h"

#include <gtest/gtest.h>

#include "conclave/error.h"
#include "moe/activation.h"
#include "tests/moe/random_experts.h"

namespace conclave::moe {
namespace {

TEST(Problem, SaysWhatItIs) {
  MoeProblem p = small_problem();
  EXPECT_EQ(to_string(p), "8 experts, top 2, H 64, I 48, bf16, gated silu, softmax renormalised");
  p.weights = kNvfp4;
  p.activations = kNvfp4Activation;
  p.activation = {Activation::swiglu_oai, true, 1.702f, 1.0f, 7.0f};
  p.expert_bias = p.deterministic = true;
  p.local_first = 4;
  p.local_count = 2;
  p.router_logits = DType::bf16;
  EXPECT_EQ(
      to_string(p),
      "8 experts, top 2, H 64, I 48, nvfp4 x nvfp4, gated swiglu_oai alpha 1.702 beta 1 limit 7, softmax renormalised, biases, "
      "experts 4 to 5 here, bf16 logits, deterministic");
}

struct Wrong {
  Why why;
  void (*change)(MoeProblem&);
};
const Wrong kWrong[] = {
    {Why::shape, [](MoeProblem& p) { p.experts = p.local_count = p.top_k = 0; }},
    {Why::shape, [](MoeProblem& p) { p.experts = 5000; }},
    {Why::shape, [](MoeProblem& p) { p.hidden = 0; }},
    {Why::shape, [](MoeProblem& p) { p.inter = -1; }},
    {Why::shape, [](MoeProblem& p) { p.weights = kNvfp4, p.hidden = 2888; }},
    {Why::shape, [](MoeProblem& p) { p.weights = kMxfp4, p.inter = 48; }},
    {Why::shape, [](MoeProblem& p) { p.weights = kInt4Group128, p.inter = 100; }},
    {Why::routing, [](MoeProblem& p) { p.top_k = 0; }},
    {Why::routing, [](MoeProblem& p) { p.top_k = 9; }},
    {Why::routing, [](MoeProblem& p) { p.routing.groups = 3; }},
    {Why::routing, [](MoeProblem& p) { p.routing.groups = 0; }},
    {Why::routing, [](MoeProblem& p) { p.routing.groups = 4, p.routing.top_groups = 5; }},
    {Why::routing, [](MoeProblem& p) { p.routing.groups = 8, p.routing.top_groups = 1; }},
    {Why::routing, [](MoeProblem& p) { p.routing.weight_on_input = true; }},
    {Why::routing, [](MoeProblem& p) { p.routing.scale = std::numeric_limits<float>::infinity(); }},
    {Why::activation, [](MoeProblem& p) { p.activation.kind = Activation::swiglu_oai, p.activation.gated = false; }},
    {Why::activation, [](MoeProblem& p) { p.activation.limit = -1.0f; }},
    {Why::activation, [](MoeProblem& p) { p.activation.kind = Activation::gelu, p.activation.limit = 7.0f; }},
    {Why::parallel, [](MoeProblem& p) { p.local_first = 1; }},
    {Why::parallel, [](MoeProblem& p) { p.local_count = -1; }},
    {Why::tokens, [](MoeProblem& p) { p.max_tokens = 2000000000; }},
};

TEST(Problem, WhatMeansNothingIsRefusedWithWords) {
  EXPECT_TRUE(well_formed(small_problem()));
  for (const Wrong& wrong : kWrong) {
    MoeProblem p = small_problem();
    wrong.change(p);
    const Support support = well_formed(p);
    ASSERT_FALSE(support) << to_string(p);
    bool said = false;
    for (const Reason& r : support.reasons()) said = said || (r.why == wrong.why && !r.text.empty());
    EXPECT_TRUE(said) << to_string(p) << ": " << support.reasons().front().text;
  }
}

TEST(Problem, AllReasonsAreGivenAtOnce) {
  MoeProblem p = small_problem();
  p.hidden = 0;
  p.top_k = 99;
  p.activation.limit = -1.0f;
  EXPECT_GE(well_formed(p).reasons().size(), 3u);
}

// Expected values: Python's math module, from the formulas as published.
TEST(Activations, EqualTheirFormulas) {
  struct Case {
    Activation kind;
    float limit;
    double at[4];  // of (g, u) below
  };
  constexpr double kPoints[4][2] = {{1.5, -0.75}, {-2.0, 3.0}, {9.0, 8.5}, {0.0, 1.0}};
  const Case cases[] = {
      {Activation::silu, 0.0f, {-0.919771285717849, -0.7152175321327052, 76.49056031493706, 0.0}},
      {Activation::silu, 7.0f, {-0.919771285717849, -0.7152175321327052, 48.95535849147437, 0.0}},
      {Activation::gelu, 0.0f, {-1.0498418985725348, -0.13650079168907525, 76.5, 0.0}},
      {Activation::gelu_tanh, 0.0f, {-1.0496786827351747, -0.13620691773667482, 76.5, 0.0}},
      {Activation::relu2, 0.0f, {-1.6875, 0.0, 688.5, 0.0}},
      {Activation::swiglu_oai, 7.0f, {0.3479155496117691, -0.25736550742316744, 55.99962502642654, 0.0}},
      {Activation::identity, 0.0f, {-1.125, -6.0, 76.5, 0.0}},
  };
  for (const Case& c : cases) {
    ActivationSpec spec;
    spec.kind = c.kind;
    spec.limit = c.limit;
    spec.alpha = c.kind == Activation::swiglu_oai ? 1.702f : 1.0f;
    for (int i = 0; i < 4; ++i)
      EXPECT_NEAR(activate(spec, kPoints[i][0], kPoints[i][1]), c.at[i], 1e-6 * (1 + std::abs(c.at[i])))
          << to_string(spec) << " " << i;
  }
  ActivationSpec plain;
  plain.kind = Activation::relu2;
  plain.gated = false;
  EXPECT_EQ(activate(plain, 3.0), 9.0);
  EXPECT_EQ(activate(plain, -3.0), 0.0);
}

TEST(Weights, B003_ExpertsWithoutTheInputScaleTheyNeedAreNamed) {
  MoeProblem p = small_problem();
  p.weights = kNvfp4;
  RandomExperts experts(p);
  experts.weights().experts[5].up.input_scale = 0.0f;
  experts.weights().experts[7].down.input_scale = 0.0f;
  check_weights(p, experts.weights());  // weight-only does not need them
  p.activations = kNvfp4Activation;
  try {
    check_weights(p, experts.weights());
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::unsupported);
    EXPECT_NE(std::string(error.what()).find("expert 5, 7"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace conclave::moe
