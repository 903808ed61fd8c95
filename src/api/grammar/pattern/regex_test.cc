#include "api/grammar/pattern/regex.h"

#include <gtest/gtest.h>

#include <random>
#include <regex>
#include <string>
#include <vector>

#include "testing/base/played_share.h"

namespace cairn::regex_test {
namespace {

std::optional<Dfa> Read(const std::string& pattern) {
  WorkBudget budget(5000000);
  return DfaOfPattern(pattern, &budget);
}

void Expect(const std::string& pattern, const std::vector<std::string>& fitting,
            const std::vector<std::string>& others) {
  const auto texts = Read(pattern);
  ASSERT_TRUE(texts.has_value()) << pattern;
  for (const std::string& text : fitting)
    EXPECT_TRUE(texts->Matches(text)) << pattern << " " << text;
  for (const std::string& text : others)
    EXPECT_FALSE(texts->Matches(text)) << pattern << " " << text;
}

TEST(Regex, IsSearchedUnlessItIsAnchored) {
  Expect("b+", {"b", "abc", "xxbb"}, {"", "ac"});
  Expect("^b", {"b", "bc"}, {"ab"});
  Expect("b$", {"b", "ab"}, {"ba"});
  Expect("^a|b$", {"ax", "xb"}, {"xa", "bx"});
  Expect("", {"", "x"}, {});
  Expect("^$", {""}, {"x"});
  Expect("(^a)+b?$", {"a", "ab"}, {"aa", "ba"});
}

TEST(Regex, HasClassesGroupsAndRepetitions) {
  Expect("^[^\\s@]+@[^\\s@]+$", {"a@b", "é@ö"}, {"a b@c", "@b", "a@b@c"});
  Expect("^\\S+$", {"abc"}, {"", "a b", "\xC2\xA0"});
  Expect("^(?:ab|c{2,3})?$", {"", "ab", "cc", "ccc"}, {"c", "cccc"});
  Expect("^[\\w.-]{2}$", {"a_", ".-"}, {"a", "a "});
  Expect("^\\d{2}:\\d{2}$", {"12:30"}, {"1:30"});
  Expect("^\\p{L}+$", {"aÄ語"}, {"1", "a1"});
  Expect("^\\P{L}\\p{Lu}$", {"1A"}, {"aA", "1a"});
  Expect("^[\\p{N}x]$", {"1", "x", "٣"}, {"y"});
  Expect("^\\u0041\\x42\\/\\t$", {"AB/\t"}, {"AB"});
  Expect("^.$", {"a", "語"}, {"\n", "ab"});
  Expect("^a{,3}$", {"a{,3}"}, {"aaa"});
  Expect("^(?<name>a)$", {"a"}, {"b"});
  Expect("^a*?b+?$", {"aab", "bb"}, {"a"});
  Expect("^[a-]$", {"a", "-"}, {"b"});
}

TEST(Regex, LooksAheadAtAnyPlace) {
  Expect("^(?!.*\\.\\.)[a-z.]+$", {"a.b"}, {"a..b", ""});
  Expect("^(?=.*\\d).{3}$", {"a1b"}, {"abc", "1"});
  Expect("a(?=b)", {"ab", "xaby"}, {"a", "aa", "ba"});
  Expect("^(?!a)b|c$", {"b", "bx", "ac"}, {"ab", "cb"});
  Expect("^(?:(?!bb)[ab])*$", {"", "abab"}, {"abba"});
  Expect("^a(?!$)", {"ab"}, {"a"});
  Expect("^(?=(?!ab)a)", {"aa"}, {"ab", "b"});
  // pydantic's decimals and zod's durations.
  Expect("^(?!^[-+.]*$)[+-]?0*\\d*\\.?\\d*$", {"-1.5", "+.5", "7"}, {"", "-", "+.", "1.5.1"});
  Expect("^P(?:(\\d+W)|(?!.*W)(?=\\d|T\\d)(\\d+Y)?(\\d+D)?(T(?=\\d)(\\d+H)?(\\d+S)?)?)$",
         {"P1W", "P1YT2H", "P2D", "PT5S"}, {"P", "PT", "P1WT2H", "P1DT"});
}

TEST(Regex, RefusesWhatNoAutomatonHolds) {
  for (const char* pattern : {"(?=a)*b", "(a)\\1", "\\bword\\b", "(?i)a", "[[:alpha:]]", "(", "a)",
                              "[a", "*a", "\\p{Greek}", "(?<=a)b", "a{5,2}", "(a{1000}){1000}"}) {
    EXPECT_FALSE(Read(pattern).has_value()) << pattern;
  }
  EXPECT_FALSE(Read("(a|b)*a" + std::string(30, '.')).has_value());
}

// std::regex has the same grammar, so it is the oracle of random patterns.
TEST(Regex, AgreesWithAnotherEngine) {
  std::mt19937 random(11);
  const auto pick = [&](const char* letters) {
    return letters[random() % std::string(letters).size()];
  };
  std::vector<std::string> texts = {""};
  for (size_t i = 0; i < texts.size() && texts.size() < 300; ++i) {
    for (const char c : {'a', 'b', '-'}) texts.push_back(texts[i] + c);
  }
  for (size_t i = 0; i < test::Played(150); ++i) {
    std::string pattern = random() % 2 == 0 ? "^" : "";
    size_t open = 0;
    for (size_t j = 1 + random() % 6; j > 0; --j) {
      switch (random() % 8) {
        case 0:
          pattern += "(";
          ++open;
          pattern += pick("ab");
          break;
        case 3:
          pattern += random() % 2 == 0 ? "(?=" : "(?!";
          pattern += pick("ab.");
          pattern += pick("ab-");
          pattern += ")";
          pattern += pick("ab.");
          break;
        case 1:
          pattern += open > 0 ? "|" : "a";
          pattern += pick("ab");
          break;
        case 2:
          pattern += random() % 2 == 0 ? "[^a]" : "[a-b]";
          break;
        default:
          pattern += pick("ab.-");
      }
      if (random() % 3 == 0) pattern += pick("*+?");
      if (open > 0 && random() % 2 == 0) {
        pattern += ")";
        --open;
      }
    }
    pattern += std::string(open, ')') + (random() % 2 == 0 ? "$" : "");
    const auto read = Read(pattern);
    ASSERT_TRUE(read.has_value()) << pattern;
    const std::regex other(pattern);
    for (const std::string& text : texts) {
      EXPECT_EQ(read->Matches(text), std::regex_search(text, other)) << pattern << " on " << text;
    }
  }
}

}  // namespace
}  // namespace cairn::regex_test
