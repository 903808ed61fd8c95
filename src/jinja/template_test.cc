#include "jinja/template.h"

#include <gtest/gtest.h>

#include <string>

#include "testing/jinja/test_render.h"

namespace cairn::jinja::template_test {
namespace {

using test::Shown;

TEST(JinjaTemplate, CountsAsPythonDoes) {
  EXPECT_EQ(
      Shown("{{ -7 % 3 }} {{ 7 % -3 }} {{ -7 // 2 }} {{ 3 / 2 }} {{ 4 / 2 }} {{ 2 ** 3 ** 2 }}"),
      "2 -2 -4 1.5 2.0 64");
  EXPECT_EQ(
      Shown("{{ 1e16 }} {{ 1e15 }} {{ 0.0001 }} {{ 1e-5 }} {{ 0.1 + 0.2 }} {{ 2.5 | round }}"),
      "1e+16 1000000000000000.0 0.0001 1e-05 0.30000000000000004 2.0");
  EXPECT_EQ(Shown("{{ 12345678901234567890123 + 1 }}"), "12345678901234567890124");
}

TEST(JinjaTemplate, FindsTheNearestFloatOfLargeIntegersAndRoundedFloats) {
  EXPECT_EQ(Shown("{{ 10 ** 30 / 10 ** 29 }} {{ 1 / 10 ** 30 }} {{ -(10 ** 30) / 7 }} "
                  "{{ (2 ** 54 + 3) / 2 }} {{ 0 / 10 ** 30 }}"),
            "10.0 1e-30 -1.4285714285714285e+29 9007199254740994.0 0.0");
  EXPECT_EQ(
      Shown("{{ 1.3229623227897202e23|round(-5) }} {{ 25.0|round(-1) }} {{ 35.0|round(-1) }} "
            "{{ 5.0|round(-1) }} {{ -5.1|round(-1) }} {{ 4.9|round(-1) }} {{ 7.0|round(-2) }}"),
      "1.3229623227897202e+23 20.0 40.0 0.0 -10.0 0.0 0.0");
}

TEST(JinjaTemplate, FormatsNumbersAsPythonsSpecificationSays) {
  EXPECT_EQ(
      Shown("{{ '{:=05}|{:^05}|{:>05}|{:*<05}|{:5c}|{:_.0g}'.format(-1, 2, 3, 4, 65, 9e20) }}"),
      "-0001|00200|00003|4****|    A|9e+20");
  EXPECT_EQ(Shown("{{ '{:.0} {:.3} {:.4} {:.2} {:#.1} {:#.0%}'.format(2.675, 123.4, 123.4, 0.5, "
                  "100.0, 3) }}"),
            "3e+00 1.23e+02 123.4 0.5 1.e+02 300.%");
  for (const char* const spec : {"{:,x}", "{:,_}", "{:_c}", "{:.2c}", "{:+c}", "{:,n}"}) {
    EXPECT_EQ(Shown("{{ '" + std::string(spec) + "'.format(65) }}").substr(0, 6), "error:") << spec;
  }
}

TEST(JinjaTemplate, WritesFileSizesInFull) {
  EXPECT_EQ(Shown("{{ 1e90|filesizeformat }}").size(), 71u);
}

TEST(JinjaTemplate, KnowsTheCaseOfLettersThatHaveNoOther) {
  EXPECT_EQ(Shown("{{ 'ĸ'.islower() }}{{ 'ℂ'.isupper() }}{{ '𝐀' is upper }}{{ 'ʰ' is lower }}"
                  "{{ 'ᾈ'.istitle() }}{{ 'ᾈ'.isupper() }}"),
            "TrueTrueTrueTrueTrueFalse");
  EXPECT_EQ(Shown("{{ 'ẞıꭰᎠ'.casefold() }} {{ 'აბ'.title() }}"), "ssıᎠᎠ აბ");
}

TEST(JinjaTemplate, CountsCharactersAndNotBytes) {
  EXPECT_EQ(
      Shown("{{ '日本'|length }}{{ '日本語'[1:] }}{{ '日本語'[::-1] }}{{ '日本'.find('本') }}"),
      "2本語語本日1");
}

TEST(JinjaTemplate, ReturnsOperandsOfAndAndOr) {
  EXPECT_EQ(Shown("{{ 'a' and 'b' }} {{ '' or 'x' }} {{ [] or {} }} {{ none and 1 }}"),
            "b x {} None");
}

TEST(JinjaTemplate, WritesValuesAsPythonDoes) {
  EXPECT_EQ(Shown("{{ [none, true, 1.0, 'it\\'s', (1,), {'a': 'é\\n'}] }}"),
            R"([None, True, 1.0, "it's", (1,), {'a': 'é\n'}])");
}

TEST(JinjaTemplate, GivesEveryTurnOfALoopAScopeOfItsOwn) {
  EXPECT_EQ(
      Shown("{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = i + 5 %}{{ x }} {% endfor %}"
            "{{ x }}"),
      "16 17 1");
  EXPECT_EQ(Shown("{% set ns = namespace(n=0) %}{% for i in [1, 2] %}{% set ns.n = ns.n + i %}"
                  "{% endfor %}{{ ns.n }}"),
            "3");
}

TEST(JinjaTemplate, AsksALoopsTestWhenItsTurnComes) {
  EXPECT_EQ(Shown("{% set ns = namespace(f=false) %}{% for x in [1, 2] if not ns.f %}{{ x }}"
                  "{% set ns.f = true %}{% endfor %}"),
            "1");
}

TEST(JinjaTemplate, KnowsMacrosCallersAndRecursiveLoops) {
  EXPECT_EQ(Shown("{% macro m(a, b=a + 1) %}{{ a }}{{ b }}{{ caller() if caller }}{% endmacro %}"
                  "{{ m(1) }} {{ m(b=5, a=4) }} {% call m(7) %}!{% endcall %}"),
            "12 45 78!");
  EXPECT_EQ(Shown("{% for i in [{'n': 1, 'c': [{'n': 2}]}] recursive %}{{ i.n }}{{ loop.depth }}"
                  "{{ loop(i.c) if i.c }}{% endfor %}"),
            "1122");
  EXPECT_EQ(Shown("{% filter upper %}a{% generation %}b{% endgeneration %}{% endfilter %}"), "AB");
}

TEST(JinjaTemplate, TrimsBlocksAndKeepsWhiteSpaceBeforeWhatIsPrinted) {
  EXPECT_EQ(Shown("a\n  {% if true %}\n  b\n  {% endif %}\nc\n  {{ 1 }}\n"), "a\n  b\nc\n  1");
  EXPECT_EQ(Shown("x {%- raw -%}  {{ y }}  {%- endraw -%} z"), "x{{ y }}z");
}

TEST(JinjaTemplate, WritesJsonAsApplyChatTemplateDoes) {
  EXPECT_EQ(Shown("{{ x|tojson }} {{ x|tojson(indent=1) }}", R"({"x":{"b":["é",1.0],"a":{}}})"),
            "{\"b\": [\"é\", 1.0], \"a\": {}} {\n \"b\": [\n  \"é\",\n  1.0\n ],\n \"a\": {}\n}");
}

TEST(JinjaTemplate, EscapesAllButPrintableAsciiInJsonOnRequest) {
  EXPECT_EQ(Shown("{{ '~\\x7f\\x80é😀'|tojson(ensure_ascii=true) }}"),
            R"("~\u007f\u0080\u00e9\ud83d\ude00")");
}

TEST(JinjaTemplate, TellsAMissingValueFromNone) {
  EXPECT_EQ(
      Shown("{{ x }}|{{ d.x }}|{{ none }}|{{ x is defined }}|{{ d.x is none }}", R"({"d":{}})"),
      "||None|False|False");
  EXPECT_EQ(Shown("{{ d.x.y }}", R"({"d":{}})"),
            "error: 'dict object' has no attribute 'x' at row 1, column 7 in {{ d.x.y }}");
}

TEST(JinjaTemplate, ForbidsWhatTheSandboxDoes) {
  EXPECT_NE(Shown("{{ x.append(1) }}", R"({"x":[]})").find("unsafe"), std::string::npos);
  EXPECT_NE(Shown("{{ ''.__class__.x }}").find("unsafe"), std::string::npos);
}

TEST(JinjaTemplate, SaysRowColumnAndTagOfAnError) {
  EXPECT_EQ(Shown("a\n {% if x %}b{{ 1 // y }}{% endif %}", R"({"x":1,"y":0})"),
            "error: integer division or modulo by zero at row 2, column 18 in {{ 1 // y }}");
  EXPECT_EQ(Shown("line\n{% if x %}never closed"),
            "error: Unexpected end of template. 'endif' is missing for the block 'if' at row 2, "
            "column 23 in {% if x %}");
  EXPECT_EQ(Shown("{{ x|nope }}"),
            "error: No filter named 'nope'. at row 1, column 6 in {{ x|nope }}");
  EXPECT_EQ(Shown("{% if y %}{{ x|nope }}{% endif %}ok"), "ok");
}

TEST(JinjaTemplate, AppendsToListsWhereThatIsAllowed) {
  Limits limits;
  limits.append_to_lists = true;
  EXPECT_EQ(Shown("{% set x = [1] %}{% set _ = x.append(2) %}{{ x }}{{ x.append }}"
                  "{% for i in x %}{% set _ = x.append(i) %}{% endfor %}{{ x|length }}",
                  "{}", limits)
                .substr(0, 6),
            "[1, 2]");
  EXPECT_NE(Shown("{% set x = [] %}{% set _ = x.append(x) %}{{ x }}", "{}", limits)
                .find("nested too deep"),
            std::string::npos);
}

// Small ones, so that a test is quick.
constexpr Limits kTestLimits = {.steps_max = 300'000, .memory_bytes_max = size_t{64} << 20};

// --- Bounds
// -----------------------------------------------------------------------------------------

TEST(JinjaBounds, NoArithmeticEndsTheProcess) {
  for (const char* source : {"{{ 1 // 0 }}", "{{ 1 % 0 }}", "{{ 1 / 0 }}", "{{ 2 ** 200 }}",
                             "{{ 0 ** -1 }}", "{{ (-2) ** 0.5 }}", "{{ (1e300 * 1e300)|int }}",
                             "{{ 99999999999999999999999999999999999999999 }}",
                             "{{ (-2 ** 127) // -1 }}", "{{ -(-2 ** 127) }}"}) {
    EXPECT_EQ(Shown(source).substr(0, 6), "error:") << source;
  }
}

TEST(JinjaBounds, NothingRunsWithoutEnd) {
  const std::string blocks =
      "{% macro a() %}{{ caller() }}{% endmacro %}"
      "{% macro b() %}{% call a() %}{{ b() }}{% endcall %}{% endmacro %}{{ b() }}";
  for (const char* source :
       {blocks.c_str(), "{% macro m(x) %}{{ m(x) }}{% endmacro %}{{ m(1) }}",
        "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
        "{% for a in range(99999) %}{% for b in range(99999) %}{{ a }}{% endfor %}{% endfor %}",
        "{{ 'a' * 99999999999 }}", "{{ [0] * 99999999999 }}", "{{ 'a'|center(99999999999) }}",
        "{{ '%99999999999d' % 1 }}", "{{ '{:99999999}'.format(1) }}", "{{ 'a'.ljust(10 ** 12) }}",
        "{{ [1]|batch(10 ** 12, 0)|list }}", "{{ [1]|slice(10 ** 12)|list }}",
        "{{ 'a'|indent(10 ** 12, true) }}", "{{ 'a\\tb'.expandtabs(10 ** 12) }}",
        "{%set ns=namespace(x='a')%}{%for i in range(99)%}{%set ns.x=ns.x~ns.x%}{%endfor%}",
        "{%set ns=namespace(x=[])%}{%for i in range(9999)%}{%set ns.x=[ns.x]%}{%endfor%}{{ns.x}}",
        "{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}"}) {
    const std::string shown = Shown(source, "{}", kTestLimits);
    EXPECT_EQ(shown.substr(0, 6), "error:") << source << ": " << shown.substr(0, 100);
    EXPECT_NE(shown.find(" at row 1, column "), std::string::npos) << shown;
  }
}

TEST(JinjaBounds, ValuesThatHoldOthersManyTimesCostTheWorkTheyMake) {
  const std::string grow =
      "{% set ns = namespace(a=(), b=()) %}{% for i in range(60) %}"
      "{% set ns.a = (ns.a, ns.a) %}{% set ns.b = (ns.b, ns.b) %}{% endfor %}";
  for (const char* use :
       {"{{ ns.a == ns.b }}", "{{ ns.a < ns.b }}", "{{ {ns.a: 1} }}", "{{ ns.a }}",
        "{{ ns.a|tojson }}", "{{ ns.a in [ns.b] }}", "{{ {}[ns.a] }}", "{{ [ns.a]|unique|list }}",
        "{{ [ns.a, ns.b]|sort }}", "{{ ns.a|pprint }}", "{{ ns.a is eq ns.b }}",
        "{{ [ns.a].index(ns.b) }}", "{{ ns.a|string }}"}) {
    const std::string shown = Shown(grow + use, "{}", kTestLimits);
    EXPECT_NE(shown.find("too many steps"), std::string::npos) << use << shown.substr(0, 100);
  }
}

TEST(JinjaBounds, ManyVariablesCostTheirSearch) {
  std::string source;
  for (int i = 0; i < 20'000; ++i) source += "{%set a" + std::to_string(i) + "=1%}";
  source += "{% for i in range(9999) %}{{ a19999 }}{{ b }}{% endfor %}";
  EXPECT_NE(Shown(source, "{}", {.steps_max = 10'000'000}).find("too many steps"),
            std::string::npos);
}

TEST(JinjaBounds, SearchesTakeLinearTime) {
  const std::string haystack = "('a' * 400000)";
  const std::string needle = "('a' * 200000 ~ 'b')";
  EXPECT_EQ(Shown("{{ " + needle + " in " + haystack + " }}{{ " + haystack + ".rfind('b' ~ " +
                  "'a' * 200000) }}{{ " + haystack + ".find(" + needle + ") }}{{ " + haystack +
                  ".rsplit(" + needle + ")|length }}"),
            "False-1-11");
}

TEST(JinjaBounds, DeepSourcesAreRefusedAndLongOnesAreNot) {
  const auto nested = [](const std::string& open, const std::string& close, size_t times) {
    std::string source;
    for (size_t i = 0; i < times; ++i) source += open;
    source += "1";
    for (size_t i = 0; i < times; ++i) source += close;
    return source;
  };
  EXPECT_EQ(Shown("{{ " + nested("(", ")", 30) + " }}"), "1");
  for (const auto& [open, close] : {std::pair("(", ")"),
                                    {"[", "]"},
                                    {"not ", ""},
                                    {"-", ""},
                                    {"1 if 1 else ", ""},
                                    {"{1: ", "}"},
                                    {"x[", "]"},
                                    {"x(", ")"}}) {
    EXPECT_NE(Shown("{{ " + nested(open, close, 100'000 / std::string(open).size()) + " }}")
                  .find("nested more than"),
              std::string::npos)
        << open;
  }
  EXPECT_NE(Shown(nested("{% if 1 %}", "{% endif %}", 5000)).find("nested more than"),
            std::string::npos);
  std::string flat = "{{ 1";
  for (int i = 0; i < 300; ++i) flat += " + 1";
  EXPECT_EQ(Shown(flat + " }}"), "301");
  for (int i = 0; i < 50'000; ++i) flat += " + 1";
  EXPECT_NE(Shown(flat + " }}").find("nested too deep"), std::string::npos);
  EXPECT_NE(Shown(std::string(600'000, 'x')).find("600000 bytes long"), std::string::npos);
}

TEST(JinjaBounds, MemoryAndOutputHaveLimits) {
  Limits limits;
  limits.output_bytes_max = 100;
  EXPECT_EQ(Shown("{% for i in range(20) %}abcde{% endfor %}", "{}", limits).size(), 100u);
  EXPECT_NE(Shown("{% for i in range(21) %}abcde{% endfor %}", "{}", limits).find("too long"),
            std::string::npos);
  limits = {};
  limits.memory_bytes_max = 100'000;
  EXPECT_NE(Shown("{% for i in range(9999) %}{% set x = [i] %}{% endfor %}", "{}", limits)
                .find("too much memory"),
            std::string::npos);
  limits = {};
  limits.steps_max = 1000;
  EXPECT_NE(
      Shown("{% for i in range(999) %}{{ i }}{% endfor %}", "{}", limits).find("too many steps"),
      std::string::npos);
}

TEST(JinjaBounds, ATextThatCollectsItselfTakesNoMoreMemoryThanItsEnd) {
  Limits limits;
  limits.memory_bytes_max = 4'000'000;
  EXPECT_EQ(Shown("{% set ns = namespace(t='') %}{% for i in range(2000) %}"
                  "{% set ns.t = ns.t ~ 'twenty characters...' %}{% endfor %}{{ ns.t|length }}",
                  "{}", limits),
            "40000");
}

TEST(JinjaBounds, BytesThatAreNoUtf8StayAsTheyAre) {
  auto parsed = Template::Parse("{{ x[0] }}{{ x|length }}{{ x|upper }}{{ x|tojson }}\xFF");
  ASSERT_TRUE(parsed.has_value());
  const auto rendered = (*parsed)->Render([](Input* input) {
    input->Define("x", MakeText(input->heap(),
                                "\xFF"
                                "a\xE6\x97"));
  });
  ASSERT_TRUE(rendered.has_value());
  EXPECT_EQ(rendered->text,
            "\xFF"
            "4"
            "\xFF"
            "A\xE6\x97"
            "\"\xFF"
            "a\xE6\x97\"\xFF");
}

}  // namespace
}  // namespace cairn::jinja::template_test
