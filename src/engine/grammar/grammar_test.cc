#include "engine/grammar/grammar.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

std::shared_ptr<const Grammar> Parsed(std::string_view text) {
  const auto grammar = Grammar::Parse(text);
  EXPECT_TRUE(grammar.has_value()) << text << ": " << grammar.error().message;
  return grammar.value_or(nullptr);
}

// Whether all of `text`, passed byte by byte, matches the grammar.
bool Matches(std::string_view grammar, std::string_view text) {
  GrammarMatcher matcher(Parsed(grammar));
  for (const char byte : text) {
    const std::string_view one(&byte, 1);
    if (!matcher.Allows(one)) return false;
    matcher.Accept(one);
  }
  return matcher.MayEnd();
}

void ExpectRefused(std::string_view text, std::string_view why) {
  const auto grammar = Grammar::Parse(text);
  ASSERT_FALSE(grammar.has_value()) << text;
  EXPECT_NE(grammar.error().message.find(why), std::string::npos) << grammar.error().message;
}

std::string Repeated(std::string_view text, size_t times) {
  std::string all;
  for (size_t i = 0; i < times; ++i) all += text;
  return all;
}

// A line break stands after the text, and would be counted if it were read.
TEST(Grammar, NothingBehindItsTextIsRead) {
  for (const std::string_view text : {"root ::= \"\\\n", "root ::= [b-\n", "root ::= \"a\\\n"}) {
    const auto grammar = Grammar::Parse(text.substr(0, text.size() - 1));
    ASSERT_FALSE(grammar.has_value()) << text;
    EXPECT_NE(grammar.error().message.find("line 1:"), std::string::npos)
        << grammar.error().message;
  }
}

TEST(Grammar, MatchesLiteralsClassesAndRules) {
  const std::string list =
      "root ::= \"[\" number (\",\" number)* \"]\" # a list\n"
      "\n"
      "number ::= [0-9]{1,3} |\n  \"none\"";
  EXPECT_TRUE(Matches(list, "[1,22,333,none]"));
  EXPECT_FALSE(Matches(list, "[1,2222]"));
  EXPECT_FALSE(Matches(list, "[]"));
  EXPECT_FALSE(Matches(list, "[1"));
  EXPECT_FALSE(Matches(list, "[1]]"));
}

TEST(Grammar, CountsRepetitions) {
  EXPECT_TRUE(Matches("root ::= \"ab\"{2}", "abab"));
  EXPECT_FALSE(Matches("root ::= \"ab\"{2}", "ab"));
  EXPECT_FALSE(Matches("root ::= \"ab\"{2}", "ababab"));
  EXPECT_TRUE(Matches("root ::= \"a\"{2,}", "aaaaa"));
  EXPECT_FALSE(Matches("root ::= \"a\"{2,}", "a"));
  EXPECT_TRUE(Matches("root ::= \"a\"{0,2} \"b\"?", ""));
  EXPECT_FALSE(Matches("root ::= \"a\"{0,2} \"b\"?", "aaa"));
  EXPECT_TRUE(Matches("root ::= \"a\"+ \"b\"?", "aaab"));
  EXPECT_TRUE(Matches("root ::= \"a\"{5000}", Repeated("a", 5000)));
}

TEST(Grammar, TakesCharactersOfSeveralBytes) {
  const std::string word = "root ::= [^\"\\\\\\x00-\\x1F]+ \"\\u00e9\"";
  EXPECT_TRUE(Matches(word, "süß 語 🙂é"));
  EXPECT_FALSE(Matches(word, "s\xFF"));
  EXPECT_FALSE(Matches(word,
                       "s\xC0\xAF"
                       "é"));
  EXPECT_FALSE(Matches(word, "s\né"));
  EXPECT_TRUE(Matches("root ::= [ä-ö]", "ö"));
  EXPECT_FALSE(Matches("root ::= [ä-ö]", "o"));
}

TEST(Grammar, RefusesTheBeginningOfACharacterThatCannotFollow) {
  GrammarMatcher matcher(Parsed("root ::= \"é\""));
  EXPECT_TRUE(matcher.Allows("\xC3"));
  EXPECT_FALSE(matcher.Allows("\xC4"));
  EXPECT_FALSE(matcher.Allows("\xE2"));
  matcher.Accept("\xC3");
  EXPECT_FALSE(matcher.MayEnd());
  EXPECT_TRUE(matcher.Allows("\xA9"));
  EXPECT_FALSE(matcher.Allows("\xA8"));
  EXPECT_FALSE(matcher.Allows(""));
}

TEST(Grammar, RefusesBytesThatAreNoCharacter) {
  for (const char* bytes :
       {"\xF4\x90", "\xF5", "\xED\xA0", "\xE0\x80", "\xF0\x80", "\xC1", "\x80"}) {
    EXPECT_FALSE(GrammarMatcher(Parsed("root ::= .")).Allows(bytes));
  }
  EXPECT_TRUE(GrammarMatcher(Parsed("root ::= .")).Allows("\xF4\x8F\xBF\xBF"));
}

TEST(Grammar, FollowsRecursion) {
  const std::string value = "root ::= \"(\" root* \")\" | \"x\"";
  EXPECT_TRUE(Matches(value, "(x(x)())"));
  EXPECT_FALSE(Matches(value, "(x(x)()"));
  EXPECT_TRUE(Matches(value, Repeated("(", 20000) + Repeated(")", 20000)));
}

TEST(Grammar, SaysWhatIsWrongAndInWhichLine) {
  ExpectRefused("", "no rule 'root'");
  ExpectRefused("rot ::= \"a\"", "no rule 'root'");
  ExpectRefused("root ::= a", "'a' is used and not there");
  ExpectRefused("root ::= \"a\"\nroot ::= \"b\"", "line 2: the rule 'root' is there twice");
  ExpectRefused("root = \"a\"", "'::=' was expected");
  ExpectRefused("root ::= \"a", "a literal is not closed");
  ExpectRefused("root ::= [a", "a class is not closed");
  ExpectRefused("root ::= [b-a]", "ends before it begins");
  ExpectRefused("root ::= (\"a\"", "')' was expected");
  ExpectRefused("root ::= \"a\")", "a new line was expected");
  ExpectRefused("root ::= *", "nothing to repeat");
  ExpectRefused("root ::= \"a\"{2", "'}' was expected");
  ExpectRefused("root ::= \"a\"{x}", "a number was expected");
  ExpectRefused("root ::= \"\\q\"", "an unknown escape");
  ExpectRefused("root ::= \"\\u12\"", "4 hexadecimal digits");
  ExpectRefused("root ::= \"\xC3\"", "not UTF-8");
  ExpectRefused("root ::= <think>", "angle brackets");
}

TEST(Grammar, AnOddFormIsAllowed) {
  EXPECT_TRUE(Matches("root ::= \"1\" (~\".0\" | ~[eE] \"1\")?", "1.0"));
  EXPECT_TRUE(Matches("root ::= \"1\" (~\".0\" | ~[eE] \"1\")?", "1e1"));
  for (const std::string_view text : {"root ::= ~", "root ::= ~a\na ::= \"b\"", "root ::= ~\"\""}) {
    ExpectRefused(text, "a literal or a class was expected after '~'");
  }
}

// libllama's own sampler hangs or overflows its stack on several of these.
TEST(Grammar, RefusesWhatWouldNeverEnd) {
  ExpectRefused("root ::= \"a\"{3,1}", "a most below its least");
  ExpectRefused("root ::= root \"a\" | \"b\"", "begins with itself");
  ExpectRefused("root ::= a root \"x\" | \"y\"\na ::= b\nb ::= \"\"", "begins with itself");
  ExpectRefused("root ::= " + Repeated("(", 100000), "groups in each other");
  ExpectRefused("root ::= \"a\"{100000}{100000}", "too");
  ExpectRefused("root ::= \"a\"{99999999999999999999}", "too");
  ExpectRefused(std::string(Grammar::kTextBytesMax + 1, ' '), "bytes");
  std::string doubling = "root ::= r0\n";
  for (int i = 0; i < 60; ++i) {
    const std::string next = "r" + std::to_string(i + 1);
    doubling += "r" + std::to_string(i) + " ::= " + next + " \"x\" | " + next + " \"y\"\n";
  }
  ExpectRefused(doubling + "r60 ::= \"z\"", "too many ways");
}

TEST(Grammar, GivesUpOnATextWithTooManyWaysInsteadOfFillingMemory) {
  GrammarMatcher matcher(Parsed("root ::= \"a\" root \"b\" | \"a\" root \"c\" | \"d\""));
  EXPECT_TRUE(matcher.Allows("aaaaaaaa"));
  EXPECT_FALSE(matcher.Allows(Repeated("a", 100)));
}

// As many as a schema's union of objects comes to, where they cannot share their beginnings.
TEST(Grammar, FollowsThousandsOfWaysAtOnce) {
  std::string rules = "root ::= \"a\" \"b\" [0] \"!\"";
  for (int i = 1; i < 4000; ++i) rules += " | \"a\" \"b\" \"" + std::to_string(i) + "!\"";
  EXPECT_TRUE(Matches(rules, "ab3999!"));
  EXPECT_TRUE(Matches(rules, "ab0!"));
  EXPECT_FALSE(Matches(rules, "ab4000!"));
}

TEST(Grammar, RefusesWhatTakesTooMuchWorkToRead) {
  // Each of many elements leads to each of many alternatives, none of which takes a character.
  const std::string empty = "\ne ::= (" + Repeated("|", 50000) + "\"y\")";
  ExpectRefused("root ::= " + Repeated("e ", 10000) + empty, "steps");
  std::string users;
  for (int i = 0; i < 1000; ++i) users += "u" + std::to_string(i) + " ::= e e e\n";
  ExpectRefused(users + "root ::= u0" + empty, "steps");
}

TEST(Grammar, ClassesHoldTheSameInWhateverOrderTheyAreWritten) {
  const std::string_view texts[] = {"[a-cb-dx]", "[xdcba]", "[b-dax-x]",
                                    "[^e-wy\\x00-`z-\\U0010FFFF]"};
  for (const std::string_view text : texts) {
    const auto grammar = Parsed("root ::= " + std::string(text));
    for (char c = '!'; c <= '~'; ++c) {
      const bool held = (c >= 'a' && c <= 'd') || c == 'x';
      EXPECT_EQ(GrammarMatcher(grammar).Allows(std::string(1, c)), held) << text << " and " << c;
    }
    EXPECT_FALSE(GrammarMatcher(grammar).Allows("\xE4"));
  }
}

TEST(Grammar, KeepsItsPlaceWhenItForgetsWhatItSaw) {
  // Every nesting is a stack of its own, so many are made.
  GrammarMatcher matcher(Parsed("root ::= [a-z] root [A-Z] | \"-\""));
  const size_t depth = 150000;
  for (size_t i = 0; i < depth; ++i) {
    ASSERT_TRUE(matcher.Allows("q"));
    matcher.Accept("q");
  }
  ASSERT_TRUE(matcher.Allows("-Q"));
  matcher.Accept("-Q");
  for (size_t i = 1; i < depth; ++i) {
    ASSERT_TRUE(matcher.Allows("Q"));
    matcher.Accept("Q");
  }
  EXPECT_TRUE(matcher.MayEnd());
  EXPECT_FALSE(matcher.Allows("Q"));
}

TEST(Grammar, TakesBackACharacterThatWasCut) {
  GrammarMatcher matcher(Parsed("root ::= [^<]* \"<\" [0-9]"));
  matcher.Accept("a\xE2\x82");
  EXPECT_FALSE(matcher.Allows("<"));
  EXPECT_FALSE(matcher.AcceptAfterCut("<x"));
  EXPECT_TRUE(matcher.Allows("\xAC"));
  EXPECT_TRUE(matcher.AcceptAfterCut("<"));
  EXPECT_FALSE(matcher.AcceptAfterCut("a"));
  EXPECT_TRUE(matcher.AcceptAfterCut("7"));
  EXPECT_TRUE(matcher.MayEnd());
}

TEST(Grammar, LoopsOverWhatMayBeEmptyEnd) {
  EXPECT_TRUE(Matches("root ::= ws* \"a\" ws*\nws ::= [ ]*", "  a  "));
  EXPECT_TRUE(Matches("root ::= (\"a\"? \"b\"?)*", "abba"));
}

}  // namespace
}  // namespace cairn
