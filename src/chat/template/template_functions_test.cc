// Through a template, which is how they are called.

#include "chat/template/template_functions.h"

#include <gtest/gtest.h>

#include <string>

#include "testing/chat/test_templates.h"

namespace cairn::template_functions_test {
namespace {

std::string Shown(const std::string& source) {
  return test::Render(*test::Parsed(source), {.messages = {test::User("Hi")}});
}

TEST(TemplateFunctions, WriteValuesAsPythonDoes) {
  EXPECT_EQ(Shown("{{ [none, true, 0.5, '1e-7' | float, 'a', {'b': \"it's\"}, {}] }}"),
            "[None, True, 0.5, 1e-07, 'a', {'b': \"it's\"}, {}]");
  EXPECT_EQ(Shown(R"({{ ["it's \"so\"\n\t\\"] | string }})"), R"(['it\'s "so"\n\t\\'])");
  EXPECT_EQ(Shown("{{ 0.5 ~ 'x' ~ missing }}{{ missing }}"), "0.5x");
}

TEST(TemplateFunctions, TakeAnEmptyObjectForFalse) {
  EXPECT_EQ(Shown("{% set o = {'p': {}} %}{{ 'a' if o.p else 'b' }}{{ not o }}{{ o.p or 'c' }}"),
            "bFalsec");
  EXPECT_EQ(Shown("{% macro m() %}x{% endmacro %}{% if m %}y{% endif %}"), "y");
}

TEST(TemplateFunctions, TakeItemsFromTextsAndListsThatMayBeShorter) {
  EXPECT_EQ(Shown("{{ 'h\u00e9llo'[1] }}{{ 'abc'[-1] }}{{ messages[7] is defined }}{{ 'a'[3] }}"),
            "\u00e9cFalse");
  EXPECT_EQ(Shown("{{ messages[0].content[0].type is defined }}"), "False");
}

TEST(TemplateFunctions, WriteJsonAsTheTemplateAsksFor) {
  EXPECT_EQ(Shown("{{ {'b': [1, 'é'], 'a': {}} | tojson(separators=(',', ':'), sort_keys=true, "
                  "ensure_ascii=true) }}"),
            R"({"a":{},"b":[1,"\u00e9"]})");
  EXPECT_EQ(Shown("{{ [1, {'a': []}] | tojson(indent=1) }}"), "[\n 1,\n {\n  \"a\": []\n }\n]");
  EXPECT_EQ(Shown("{{ ('{\"a\": [1]}' | from_json).a }}"), "[1]");
}

TEST(TemplateFunctions, ChangeTextsOfAnyKindOfValue) {
  EXPECT_EQ(Shown("{{ ['a', none] | upper }} {{ 'MAX' | capitalize }} {{ missing | lower }}"),
            "['A', NONE] Max ");
  EXPECT_EQ(Shown("{{ ' a ' | trim }}{{ missing | trim }}{{ 'xax' | trim('x') }}"), "aa");
}

TEST(TemplateFunctions, SortWithoutRegardToCase) {
  EXPECT_EQ(
      Shown("{% for k, v in {'b': 1, 'C': 2, 'a': 3} | dictsort %}{{ k }}{{ v }}{% endfor %}"),
      "a3b1C2");
  EXPECT_EQ(Shown("{{ ['b', 'C', 'a'] | sort(reverse=true) }}{{ [1, 2] | reverse }}"),
            "['C', 'b', 'a'][2, 1]");
}

TEST(TemplateFunctions, StandForMethodsThatTheEngineLacks) {
  EXPECT_EQ(Shown("{{ 'a-b-c'.split('-', 1) }}{{ 'a-b-c'.rsplit('-', 1) }}{{ ' a  b '.split() }}"),
            "['a', 'b-c']['a-b', 'c']['a', 'b']");
  EXPECT_EQ(Shown("{{ ' a b  c '.split(none, 1) }}{{ ' a b  c '.rsplit(maxsplit=1) }}"),
            "['a', 'b  c']['a b', 'c']");
  EXPECT_EQ(Shown("{{ 'a\\nb\\r\\n\\nc\\n'.splitlines() }}"), "['a', 'b', '', 'c']");
  EXPECT_EQ(Shown("{{ ','.join(['a', 'b']) }}{{ {'a': 1, 'b': none}.values() }}"), "a,b[1, None]");
  EXPECT_EQ(Shown("{{ '{} {{x}} {1} {k}'.format(1, 0.5, k=none) }}"), "1 {x} 0.5 None");
  EXPECT_EQ(Shown("{{ 'abc'.find('c') }}{{ 'abc'.find('d') }}"), "2-1");
  EXPECT_EQ(Shown("{{ 'aXbXc'.replace('X', '--') }}{{ 'aXbXc'.replace('X', '', 1) }}"),
            "a--b--cabXc");
  EXPECT_EQ(Shown("{{ 'aab'.replace('a', 'aa').replace('b', '') }}{{ 'ab'.replace('', 'x') }}"),
            "aaaaab");
  EXPECT_EQ(Shown("{{ 'abc'.removeprefix('a') }}{{ 'abc'.removesuffix('c') }}"), "bcab");
}

TEST(TemplateFunctions, FailWithASentence) {
  for (const char* source :
       {"{{ 'a'.split('') }}", "{{ tools.split('a') }}", "{{ '{2}'.format(1) }}",
        "{{ '{99999999999999999999}'.format(1) }}", "{{ '}'.format() }}", "{{ '{'.format() }}",
        "{{ 'x' | from_json }}", "{{ [1, 'a'] | sort }}", "{{ {}.values(1) }}", "{{ none[0] }}"}) {
    EXPECT_NE(Shown(source).find("cannot render this conversation"), std::string::npos) << source;
  }
  EXPECT_NE(Shown("{% set a = [] %}{% set b = a.append(a) %}{{ a }}").find("100 levels"),
            std::string::npos);
}

}  // namespace
}  // namespace cairn::template_functions_test
