#include "chat/template/template_expression.h"

#include <gtest/gtest.h>

#include <string>

namespace cairn {
namespace {

TEST(TemplateExpression, PutsBracketsAroundCallsWhoseResultIsLookedInto) {
  EXPECT_EQ(RewriteExpression("f(x).y(z)[a] + g(h(1)[b], ')').k"),
            "(f(x)).y(z)[a] + (g((h(1))[b], ')')).k");
  for (const char* same : {"a.b(x).c(y)[z]", "(a).b + (c)[d]", "'f(x).y' + \"\\\"f(x).y\"", "f(x)",
                           ").y", "a | f(b) + c", "a[1:]", "a[b]", "x.y(", "a.", "set ns.a = b"}) {
    EXPECT_EQ(RewriteExpression(same), same);
  }
}

TEST(TemplateExpression, TakesItemsByNumberFromTextsAndFromListsWithoutThem) {
  EXPECT_EQ(RewriteExpression("a[0].b[-1]"), "cairn_item((cairn_item(a, 0)).b, -1)");
  EXPECT_EQ(RewriteExpression("a.0.b"), "(cairn_item(a, 0)).b");
  EXPECT_EQ(RewriteExpression("a + 1.5"), "a + 1.5");
  EXPECT_EQ(RewriteExpression("a[-1:] + b[]"), "a[-1:] + b[]");
}

TEST(TemplateExpression, KnowsWhatIsUndefined) {
  EXPECT_EQ(RewriteExpression("if a is undefined or b is not  undefined"),
            "if a is not defined or b is defined");
  EXPECT_EQ(RewriteExpression("if a is not none"), "if a is not none");
  EXPECT_EQ(RewriteExpression("if a is"), "if a is");
}

TEST(TemplateExpression, AsksWhetherAValueCountsAsTrue) {
  EXPECT_EQ(RewriteExpression("if a.b and not(c) or d == e"),
            "if cairn_truth(a.b) and not cairn_truth((c)) or d == e");
  EXPECT_EQ(RewriteExpression("if a or (b or c)"),
            "if cairn_truth(a) or cairn_truth((cairn_truth(b) or c))");
  EXPECT_EQ(RewriteExpression("set x = a or b"), "set x = cairn_truth(a) or b");
  EXPECT_EQ(RewriteExpression("f(a or {}, k=b)"), "f(cairn_truth(a) or {}, k=b)");
  EXPECT_EQ(RewriteExpression("'x' if a else b"), "'x' if cairn_truth(a) else b");
  EXPECT_EQ(RewriteExpression("for x in y if x.z"), "for x in y if cairn_truth(x.z)");
  for (const char* same : {"if a | length > 0", "a if b == 1 else c", "x in y", "if a not in b",
                           "[a, b]", "{'a': b}", "if a > b"}) {
    EXPECT_EQ(RewriteExpression(same), same);
  }
}

TEST(TemplateExpression, JoinsTexts) {
  EXPECT_EQ(RewriteExpression("a ~ b.c ~ d | f"), "cairn_text(a) ~ cairn_text(b.c) ~ d | f");
}

TEST(TemplateExpression, CallsFunctionsForMethodsThatTheEngineLacks) {
  EXPECT_EQ(RewriteExpression("a.b.split('x', 1)[1]"), "cairn_item(cairn_split(a.b, 'x', 1), 1)");
  EXPECT_EQ(RewriteExpression("', '.join(a.values()).strip()"),
            "(cairn_join(', ', cairn_values(a))).strip()");
  EXPECT_EQ(RewriteExpression("a.split + a.strip()"), "a.split + a.strip()");
}

TEST(TemplateExpression, WritesCharactersThatTextsNameByNumber) {
  EXPECT_EQ(RewriteExpression(R"('\u00e9\x41\u65e5\n' + "\x22\x5c\u27\ud800")"),
            "'\u00e9A\u65e5\\n' + \"\\\"\\\\\\u27\ufffd\"");
}

TEST(TemplateExpression, FindsNames) {
  EXPECT_EQ(NamesIn("if a.b and c[d] not in f(x, 'y')"),
            (std::vector<std::string>{"a", "c", "d", "f", "x"}));
}

}  // namespace
}  // namespace cairn
