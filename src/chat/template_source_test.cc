#include "chat/template_source.h"

#include <gtest/gtest.h>

#include <string>

namespace cairn {
namespace {

std::string Prepared(const std::string& source) {
  const Result<std::string> out = PrepareTemplateSource(source);
  return out ? *out : "error: " + out.error().message;
}

TEST(TemplateSource, LeavesEverythingButCommentsAsItWas) {
  const std::string source =
      "a {{ '{# no comment #}' + x[0] }}\n{%- if y == \"%}\" -%}b{% endif %} {";
  EXPECT_EQ(Prepared(source), source);
}

TEST(TemplateSource, EmptiesCommentsButKeepsTheirWhiteSpaceMarks) {
  EXPECT_EQ(Prepared("a{# long story #}b{#- x -#}c{#- y #}d{#-#}"), "a{##}b{#--#}c{#-#}d{#-#}");
}

TEST(TemplateSource, PutsBracketsAroundCallsWhoseResultIsLookedInto) {
  EXPECT_EQ(Prepared("{{ f(x).y(z)[0] + g(h(1)[0], ')').k }}"),
            "{{ (f(x)).y(z)[0] + (g((h(1))[0], ')')).k }}");
  for (const char* same :
       {"{{ a.b(x).c(y)[0] }}", "{% if (a).b and not (c)[0] %}{% endif %}",
        "{{ 'f(x).y' + \"\\\"f(x).y\" }}", "f(x).y", "{{ f(x) }}.y", "{{ ).y }}"}) {
    EXPECT_EQ(Prepared(same), same);
  }
}

TEST(TemplateSource, RefusesNestingThatNoRealTemplateHas) {
  EXPECT_NE(Prepared("{{ " + std::string(101, '(')).find("brackets nested"), std::string::npos);
  std::string blocks;
  for (int i = 0; i < 101; ++i) blocks += "{% if x %}";
  EXPECT_NE(Prepared(blocks).find("blocks nested"), std::string::npos);
  std::string flat;
  for (int i = 0; i < 1000; ++i) flat += "{%- if x -%}{{ f(1) }}{%- endif -%}";
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
}  // namespace cairn
