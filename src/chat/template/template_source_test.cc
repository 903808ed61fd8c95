#include "chat/template/template_source.h"

#include <gtest/gtest.h>

#include <string>

namespace cairn::template_source_test {
namespace {

std::string Prepared(const std::string& source) {
  const Result<std::string> out = PrepareTemplateSource(source);
  return out ? *out : "error: " + out.error().message;
}

TEST(TemplateSource, LeavesTextsAndTagsThatNeedNothingAsTheyWere) {
  const std::string source =
      "a {#--#}\n{%- if y == \"%}\" -%}b{% endif %} {% for x in y %}{% set z = x %}{% endfor %}{";
  EXPECT_EQ(Prepared(source), source);
}

TEST(TemplateSource, EmptiesCommentsButKeepsTheirWhiteSpaceMarks) {
  EXPECT_EQ(Prepared("a{# long story #}b{#- x -#}c{#- y #}d{#-#}"), "a{##}b{#--#}c{#-#}d{#-#}");
}

TEST(TemplateSource, HasEveryPrintedValueWrittenAsPythonWritesIt) {
  EXPECT_EQ(Prepared("{{- a -}}{{b}}{{ }}"), "{{- cairn_text(a) -}}{{cairn_text(b)}}{{ }}");
}

TEST(TemplateSource, KeepsSpacesInFrontOfWhatIsPrinted) {
  EXPECT_EQ(Prepared("a\n  {{ b }}"), "a\n{{ '  ' }}{{ cairn_text(b) }}");
  EXPECT_EQ(Prepared("\t{{ b }}"), "{{ '\t' }}{{ cairn_text(b) }}");
  EXPECT_EQ(Prepared("{% if a %}\n  {{ b }}{% endif %}"),
            "{% if cairn_truth(a) %}\n{{ '  ' }}{{ cairn_text(b) }}{% endif %}");
  for (const char* same : {"a\n  {% if b == 1 %}{% endif %}", "a\n  {{- 'b' }}", "a  {{ 'b' }}",
                           "{%- endif -%}\n  {{ 'b' }}"}) {
    std::string wanted = same;
    const size_t text = wanted.find("'b'");
    if (text != std::string::npos) wanted.replace(text, 3, "cairn_text('b')");
    EXPECT_EQ(Prepared(same), wanted);
  }
}

TEST(TemplateSource, KeepsATurnOfALoopFromSeeingWhatTheTurnBeforeItSet) {
  EXPECT_EQ(Prepared("{%- for x in y -%}{% if x == 1 %}{% set z = 1 %}{% endif %}{{ z }}"
                     "{%- endfor -%}"),
            "{%- for x in y -%}{%- if loop.first -%}{%- set cairn_outer_z = z -%}{%- else -%}"
            "{%- set z = cairn_outer_z -%}{%- endif -%}{% if x == 1 %}{% set z = 1 %}{% endif %}"
            "{{ cairn_text(z) }}{%- endfor -%}");
  for (const char* same :
       {"{% for x in y %}{% set x = x.z %}{% endfor %}",  // the loop gives x a value each time
        "{% for x in y %}{% set ns.z = ns.z + x %}{% endfor %}",
        "{% for x in y %}{% for a in x %}{% set z = a %}{% endfor %}{% endfor %}",
        "{% for x in y %}{% macro m(z) %}{% set z = z + 1 %}{% endmacro %}{% endfor %}"}) {
    EXPECT_EQ(Prepared(same), same);
  }
}

TEST(TemplateSource, RefusesNestingThatNoRealTemplateHas) {
  EXPECT_NE(Prepared("{{ " + std::string(101, '(')).find("brackets nested"), std::string::npos);
  std::string blocks;
  for (int i = 0; i < 101; ++i) blocks += "{% if x %}";
  EXPECT_NE(Prepared(blocks).find("blocks nested"), std::string::npos);
  std::string flat;
  for (int i = 0; i < 1000; ++i) flat += "{%- if x == 1 -%}{% set y = f(1) %}{%- endif -%}";
  EXPECT_EQ(Prepared(flat), flat);
}

TEST(TemplateSource, RefusesTextsAndTagsThatAreTooLong) {
  EXPECT_NE(Prepared(std::string(600'000, 'x')).find("600000 bytes long"), std::string::npos);
  std::string nots = "{{ ";
  for (int i = 0; i < 5000; ++i) nots += "not ";
  EXPECT_NE(Prepared(nots + "x }}").find("longer than 16384"), std::string::npos);
}

TEST(TemplateSource, ReadsToTheEndOfTagsThatNeverClose) {
  EXPECT_EQ(Prepared("x{{ 'abc\\"), "x{{ 'abc\\");
  EXPECT_EQ(Prepared("x{{"), "x{{");
  EXPECT_EQ(Prepared("x{%"), "x{%");
}

}  // namespace
}  // namespace cairn::template_source_test
