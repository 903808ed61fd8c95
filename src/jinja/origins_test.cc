#include <gtest/gtest.h>

#include <string>

#include "testing/jinja/test_render.h"

namespace cairn::jinja::origins_test {
namespace {

using test::Outcome;
using test::RenderWithSources;
using test::WrongOrigin;

// The bytes of each run in brackets, with their source: t, 1, 2, ... or -, and ' where changed.
std::string Told(const std::string& source, const std::string& variables) {
  const Outcome outcome = RenderWithSources(source, Json::parse(variables));
  if (outcome.failed) return "error: " + outcome.text;
  EXPECT_EQ(WrongOrigin(outcome), "") << source;
  std::string told;
  for (size_t i = 0; i < outcome.runs.size(); ++i) {
    const Run& run = outcome.runs[i];
    const size_t end =
        i + 1 < outcome.runs.size() ? outcome.runs[i + 1].begin : outcome.text.size();
    told += run.source == kNoSource         ? "-"
            : run.source == kTemplateSource ? "t"
                                            : std::to_string(run.source);
    if (run.source > 0) told += "@" + std::to_string(run.offset);
    told += (run.changed ? "'[" : "[") + outcome.text.substr(run.begin, end - run.begin) + "]";
  }
  return told;
}

TEST(JinjaOrigins, SurviveWhatKeepsCharacters) {
  const std::string x = R"({"x":"  hello world "})";
  EXPECT_EQ(Told("a{{ x }}b", x), "t[a]1@0[  hello world ]t[b]");
  EXPECT_EQ(Told("{{ x|trim }}", x), "1@2[hello world]");
  EXPECT_EQ(Told("{{ x[4:9] }}", x), "1@4[llo w]");
  EXPECT_EQ(Told("{{ '<' ~ x.strip() + '>' }}", x), "t[<]1@2[hello world]t[>]");
  EXPECT_EQ(Told("{{ x.split()|join('-') }}", x), "1@2[hello]t[-]1@8[world]");
  EXPECT_EQ(Told("{{ x|replace('o', '0') }}", x), "1@0[  hell]t[0]1@7[ w]t[0]1@10[rld ]");
  EXPECT_EQ(Told("{{ x|first ~ x|last ~ x[2] }}", x), "1@0[ ]1@13[ ]1@2[h]");
  EXPECT_EQ(
      Told("{% for c in x.strip() %}{% if loop.index < 3 %}{{ c }}{% endif %}{% endfor %}", x),
      "1@2[he]");
  EXPECT_EQ(Told("{{ '%s|%5s' % (x.strip(), 'a') }}", x), "1@2[hello world]t[|]-[    ]t[a]");
  EXPECT_EQ(Told("{{ 'a{}b'.format(x) }}", x), "t[a]1@0[  hello world ]t[b]");
  EXPECT_EQ(Told("{{ x|trim|reverse|reverse }}", x), "1@2[hello world]");
}

TEST(JinjaOrigins, PassThroughBlocksMacrosAndNamespaces) {
  EXPECT_EQ(Told("{% set y %}[{{ x }}]{% endset %}{{ y[1:] }}", R"({"x":"ab"})"), "1@0[ab]t[]]");
  EXPECT_EQ(Told("{% macro m(a) %}<{{ a }}>{% endmacro %}{{ m(x)|trim }}", R"({"x":"ab"})"),
            "t[<]1@0[ab]t[>]");
  EXPECT_EQ(Told("{% set ns = namespace(t='') %}{% for m in ms %}{% set ns.t = ns.t ~ m %}"
                 "{% endfor %}{{ ns.t }}",
                 R"({"ms":["a","b"]})"),
            "1@0[a]2@0[b]");
}

TEST(JinjaOrigins, StayWithEscapesAndOtherCase) {
  EXPECT_EQ(Told("{{ x|tojson }}", R"({"x":"a\nb"})"), "-[\"]1@0[a]1@1'[\\n]1@2[b]-[\"]");
  EXPECT_EQ(Told("{{ x|upper }}", R"({"x":"ab C"})"), "1@0'[AB]1@2[ C]");
  EXPECT_EQ(Told("{{ x|e }}", R"({"x":"a<b"})"), "1@0[a]1@1'[&lt;]1@2[b]");
  EXPECT_EQ(Told("{{ x }}", R"({"x":["it"]})"), "-[[']1@0[it]-[']]");
  EXPECT_EQ(Told("{{ x|capitalize }}", R"({"x":"ab"})"), "1@0'[A]1@1[b]");
}

TEST(JinjaOrigins, TellWhereAnEmptyTextStands) {
  const std::string x = R"({"x":"","y":"a","z":" \n"})";
  EXPECT_EQ(Told("[{{ x }}]", x), "t[[]1@0[]t[]]");
  EXPECT_EQ(Told("{{ '<' ~ x ~ '|' + x + y + '>' }}", x), "t[<]1@0[]t[|]1@0[]2@0[a]t[>]");
  EXPECT_EQ(Told("{{ x }}{{ y }}{{ x }}", x), "1@0[]2@0[a]1@0[]");
  EXPECT_EQ(Told("<{{ z|trim }}>", x), "t[<]3@2[]t[>]");
  EXPECT_EQ(Told("{% macro m(a) %}{{ a }}{% endmacro %}{% set s %}-{{ m(x) }}{% endset %}"
                 "{{ s }}{{ s[:1] }}{{ s[1:] }}",
                 x),
            "t[-]1@0[]t[-]1@0[]");
  EXPECT_EQ(Told("{{ [x, y, x]|join(',') }}", x), "1@0[]t[,]2@0[a]t[,]1@0[]");
  EXPECT_EQ(Told("{{ x or '' }}|{{ x|default('', true) }}|{{ x or 'y' }}", x),
            "1@0[]t[|]1@0[]t[|]t[y]");
  EXPECT_EQ(Told("{{ x|tojson }}", x), "-[\"]1@0[]-[\"]");
  EXPECT_EQ(Told("{{ z|e|tojson }}", x), "-[\"]3@0[ ]3@1'[\\n]-[\"]");
}

TEST(JinjaOrigins, TellNumbersAndNamesFromFields) {
  EXPECT_EQ(Told("{{ 1 }}{{ d }}", R"({"d":{"k":1}})"), "-[1{'k': 1}]");
}

// The place of a watched variable as a bar in the output, or "?".
std::string Watched(const std::string& source) {
  const auto parsed = Template::Parse(source);
  EXPECT_TRUE(parsed.has_value());
  const auto rendered = (*parsed)->Render([](Input* input) {
    input->Define("go", Value::Bool(true));
    input->Watch("go");
  });
  EXPECT_TRUE(rendered.has_value());
  std::string text = rendered->text;
  return rendered->watched_at ? text.insert(*rendered->watched_at, "|") : text + "?";
}

TEST(JinjaWatch, TellsHowMuchWasPrintedWhenAVariableWasLastRead) {
  EXPECT_EQ(Watched("ab{% if go %}cd{% endif %}"), "ab|cd");
  EXPECT_EQ(Watched("{{ go }}ab{{ 'x' if go }}cd"), "Trueab|xcd");
  EXPECT_EQ(Watched("ab{% if false and go %}{% endif %}"), "ab?");
  EXPECT_EQ(Watched("ab{% set x %}c{{ go }}{% endset %}{{ x }}"), "abcTrue?");
  EXPECT_EQ(Watched("{% set go = 1 %}ab{{ go }}"), "ab1?");
}

}  // namespace
}  // namespace cairn::jinja::origins_test
