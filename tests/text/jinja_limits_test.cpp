// Templates are not trusted: each of these asks for too much and must end soon, with words.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "conclave/error.h"
#include "io/json.h"
#include "text/chat_template.h"

namespace conclave {
namespace {

std::string repeated(std::string_view text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

// What the failure says; empty when there is none.
std::string failure(const std::string& source, const RenderOptions& options = {}) {
  try {
    ChatTemplate::parse(source).render(OrderedJson::object(), options);
  } catch (const Error& error) {
    EXPECT_TRUE(error.code() == Errc::bad_input || error.code() == Errc::corrupt) << error.what();
    return error.what();
  }
  return "";
}

void expect_failure(const std::string& source, std::string_view words) {
  RenderOptions options;
  options.max_steps = 500'000;
  options.max_held_bytes = std::size_t{32} << 20;
  options.max_output_bytes = std::size_t{4} << 20;
  const std::string said = failure(source, options);
  EXPECT_NE(said.find(words), std::string::npos) << "said: " << said << "\nby: " << source.substr(0, 200);
  EXPECT_TRUE(said.starts_with("chat template line ")) << said;
}

TEST(JinjaLimits, Steps) {
  expect_failure("{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}", "steps");
  expect_failure("{% for a in range(100000) %}{{ 'x'.replace('x', 'xx') * 10000 == 'y' }}{% endfor %}", "steps");
  expect_failure("{% set s = 'x' * 1000000 %}{% for a in range(10000) %}{% if 'y' in s %}{% endif %}{% endfor %}", "steps");
  expect_failure("{% set l = [1] * 100000 %}{% for a in range(1000) %}{% set b = l|sort|list == l %}{% endfor %}", "steps");
}

TEST(JinjaLimits, StepsOverSharedValues) {  // 2^100 items to compare, hash, or look through
  const std::string twice =
      "{% set n = namespace(a=[1], b=[1]) %}{% for i in range(100) %}{% set n.a = [n.a, n.a] %}{% set n.b = [n.b, n.b] %}{% endfor "
      "%}";
  expect_failure(twice + "{{ n.a == n.b }}", "steps");
  expect_failure(twice + "{{ n.a < n.b }}", "steps");
  expect_failure(twice + "{{ n.a }}", "");
  expect_failure(twice + "{{ n.a|tojson }}", "");
  const std::string tuples = "{% set n = namespace(a=(1,)) %}{% for i in range(100) %}{% set n.a = (n.a, n.a) %}{% endfor %}";
  expect_failure(tuples + "{{ {n.a: 1} }}", "steps");
}

TEST(JinjaLimits, Text) {
  for (const char* source : {
           "{{ 'x' * 10**9 }}",
           "{{ 'x' * 10**30 }}",
           "{{ 10**9 * 'x' }}",
           "{{ 'a'.center(10**9) }}",
           "{{ 'a'.ljust(10**10) }}",
           "{{ 'a'.zfill(10**10) }}",
           "{{ '%1000000000d' % 1 }}",
           "{{ '%*d' % (10**9, 1) }}",
           "{{ '{:1000000000}'.format(1) }}",
           "{{ '%.1000000000f' % 1.5 }}",
           "{{ '{:.99999999f}'.format(1.5) }}",
           "{{ 'a\tb'.expandtabs(10**9) }}",
           "{{ [1]|tojson(indent=10**9) }}",
           "{{ 'a'|indent(10**9, true) }}",
           "{{ 'a'|center(10**9) }}",
           "{% set s = 'x' * 10**6 %}{{ s.replace('', s) }}",
           "{% set s = 'x' * 10**6 %}{{ s.join(s) }}",
           "{% set s = 'x' * 10**6 %}{{ s|join(s) }}",
           "{% set n = namespace(s='xx') %}{% for i in range(100) %}{% set n.s = n.s ~ n.s %}{% endfor %}",
           "{% set n = namespace(s='xx') %}{% for i in range(100) %}{% set n.s = n.s + n.s %}{% endfor %}",
           "{% for i in range(100000) %}{{ 'x' * 100000 }}{% endfor %}",
           "{{ '{:{w}}'.format(1, w=10**9) }}",
           "{{ 'x'|tojson(indent='y' * 10**7)|length }}{{ [[1]]|tojson(indent='y' * 10**7) }}",
       }) {
    expect_failure(source, "");
  }
}

TEST(JinjaLimits, Values) {
  expect_failure("{{ range(10**9) }}", "Range too big");
  expect_failure("{{ range(-10**30, 10**30) }}", "");
  expect_failure("{{ [1] * 10**12 }}", "memory");
  expect_failure("{{ ([1] * 10**5) * 10**5 }}", "memory");
  expect_failure("{{ [1]|batch(10**12, 'x')|list }}", "");
  expect_failure("{{ [1]|slice(10**12)|list }}", "memory");
  expect_failure("{% set n = namespace(l=[0]) %}{% for i in range(100) %}{% set n.l = n.l + n.l %}{% endfor %}", "memory");
  expect_failure("{% set n = namespace(l=[]) %}{% for i in range(100000) %}{% set n.l = [n.l] %}{% endfor %}", "nested more than");
  expect_failure("{% set n = namespace(l='a') %}{% for i in range(100000) %}{% set n.l = n.l|map('upper') %}{% endfor %}",
                 "nested more than");
  expect_failure("{% set n = namespace(l={}) %}{% for i in range(100000) %}{% set n.l = {1: n.l}.get %}{% endfor %}",
                 "nested more than");
  expect_failure("{{ 10**40 }}", "127 bits");
  expect_failure("{{ -(2**126) * 2 - 2**126 }}", "127 bits");
  expect_failure("{{ 2**126 + 2**126 }}", "127 bits");
  expect_failure("{{ 3 ** 99999999999 }}", "127 bits");
  expect_failure("{{ 123456789012345678901234567890123456789012345678901234567890 }}", "127 bits");
}

TEST(JinjaLimits, Nesting) {
  constexpr std::size_t kMany = 20000;
  expect_failure("{{ " + repeated("(", kMany) + "1" + repeated(")", kMany) + " }}", "nested too deep");
  expect_failure("{{ " + repeated("[", kMany) + repeated("]", kMany) + " }}", "nested too deep");
  expect_failure("{{ " + repeated("{1:", kMany) + "1" + repeated("}", kMany) + " }}", "nested too deep");
  expect_failure("{{ " + repeated("not ", kMany) + "1 }}", "nested too deep");
  expect_failure("{{ " + repeated("- ", kMany) + "1 }}", "nested too deep");
  expect_failure("{{ 1 " + repeated("if 1 else 1 ", kMany) + " }}", "nested too deep");
  expect_failure("{{ 1 " + repeated("if 1 ", kMany) + " }}", "nested more than");
  expect_failure("{{ x" + repeated(".y", kMany) + " }}", "nested more than");
  expect_failure("{{ x" + repeated("[0]", kMany) + " }}", "nested more than");
  expect_failure("{{ x" + repeated("()", kMany) + " }}", "nested more than");
  expect_failure("{{ x" + repeated("|list", kMany) + " }}", "nested more than");
  expect_failure("{{ x" + repeated(" is string", kMany) + " }}", "");
  expect_failure("{{ x is " + repeated("in [x is ", kMany) + repeated("]", kMany) + " }}", "nested too deep");
  expect_failure("{{ x is in " + repeated("(", kMany) + repeated(")", kMany) + " }}", "nested too deep");
  expect_failure(repeated("{% if 1 %}", kMany), "nested too deep");
  expect_failure(repeated("{% for a in b %}", kMany), "nested too deep");
  expect_failure(repeated("{% macro a() %}", kMany), "nested too deep");
  expect_failure("{% set " + repeated("(", kMany) + "a" + repeated(")", kMany) + " = 1 %}", "nested too deep");
  expect_failure("{% for " + repeated("(", kMany) + "a" + repeated(")", kMany) + " in b %}", "nested too deep");
}

TEST(JinjaLimits, LongButFlat) {  // what real templates do is no nesting
  constexpr std::size_t kMany = 20000;
  const auto render = [](const std::string& source) { return ChatTemplate::parse(source).render(OrderedJson::object()); };
  EXPECT_EQ(render("{{ 'a'" + repeated(" + 'a'", kMany) + " }}").size(), kMany + 1);
  EXPECT_EQ(render("{{ 'a'" + repeated(" ~ 'a'", kMany) + " }}").size(), kMany + 1);
  EXPECT_EQ(render("{{ 0" + repeated(" or 0", kMany) + " }}"), "0");
  EXPECT_EQ(render("{{ 1" + repeated(" == 1", kMany) + " }}"), "True");
  EXPECT_EQ(render("{% if 0 %}" + repeated("{% elif 0 %}", kMany) + "{% else %}x{% endif %}"), "x");
}

TEST(JinjaLimits, Recursion) {
  expect_failure("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "deep");
  expect_failure("{% macro m(a) %}{{ [[[[m([a, [1, 2, 3]|map('upper')|list])]]]] }}{% endmacro %}{{ m(1) }}", "deep");
  expect_failure(
      "{% macro a() %}{% for i in [1] %}{% if i %}{% call b() %}{% endcall %}{% endif %}{% endfor %}{% endmacro %}"
      "{% macro b() %}{{ caller() }}{{ a() }}{% endmacro %}{{ a() }}",
      "deep");
  expect_failure("{% for a in [1] recursive %}{{ loop([1]) }}{% endfor %}", "deep");
  EXPECT_EQ(failure("{% set n = namespace() %}{% set n.n = n %}{% macro m() %}{% endmacro %}{% set n.m = m %}ok"), "");
}

TEST(JinjaLimits, OutputIsBounded) {
  RenderOptions options;
  options.max_output_bytes = 10;
  const ChatTemplate ten = ChatTemplate::parse("{{ '1234567890' }}"), eleven = ChatTemplate::parse("{{ '12345678901' }}");
  EXPECT_EQ(ten.render(OrderedJson::object(), options).size(), 10u);
  EXPECT_THROW(eleven.render(OrderedJson::object(), options), Error);
}

TEST(JinjaErrors, SayTheLineAndTheProblem) {
  EXPECT_EQ(failure("a\n\n{{ x.y }}"), "chat template line 3: 'x' is undefined");
  EXPECT_EQ(failure("a\r\n{% if %}"), "chat template line 2: expected an expression, found '%}'");
  EXPECT_EQ(failure("\n{{ 1 + 'a' }}"), "chat template line 2: unsupported operand type(s) for +: 'int' and 'str'");
  EXPECT_EQ(failure("{% include 'x' %}"),
            "chat template line 1: the statement 'include' is outside the subset of Jinja that chat templates use");
  EXPECT_EQ(failure("{{ raise_exception('No\nway') }}"), "No\nway");
  EXPECT_EQ(failure("\xFF"), "chat template line 1: is not UTF-8");
}

TEST(JinjaErrors, BadVariables) {
  const ChatTemplate plain = ChatTemplate::parse("{{ a }}");
  EXPECT_THROW(plain.render(OrderedJson::array()), Error);
  EXPECT_THROW(plain.render({{"a", "\xC3("}}), Error);
  OrderedJson deep = 1;
  for (int i = 0; i < 5000; ++i) deep = OrderedJson::array({std::move(deep)});
  EXPECT_THROW(plain.render({{"a", std::move(deep)}}), Error);
  EXPECT_EQ(plain.render({{"a", {{"b", {1, 2.5, nullptr, true, "x", 18446744073709551615u}}}}}),
            "{'b': [1, 2.5, None, True, 'x', 18446744073709551615]}");
}

TEST(ChatTemplateThreads, OneTemplateManyRenders) {
  const ChatTemplate shared =
      ChatTemplate::parse("{% set n = namespace(s='') %}{% for i in range(50) %}{% set n.s = n.s ~ who %}{% endfor %}{{ n.s }}");
  std::vector<std::string> results(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < results.size(); ++i) {
    threads.emplace_back([&, i] { results[i] = shared.render({{"who", std::to_string(i)}}); });
  }
  for (auto& thread : threads) thread.join();
  for (std::size_t i = 0; i < results.size(); ++i) EXPECT_EQ(results[i], repeated(std::to_string(i), 50));
}

TEST(ChatTemplateThreads, ClockOfTheMachine) {
  const std::string year = ChatTemplate::parse("{{ strftime_now('%Y') }}").render(OrderedJson::object());
  EXPECT_EQ(year.size(), 4u);
  EXPECT_GE(std::stoi(year), 2025);
}

}  // namespace
}  // namespace conclave
