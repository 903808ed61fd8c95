#include "engine/grammar/token_trie.h"

#include <gtest/gtest.h>

#include <random>

#include "engine/grammar/grammar.h"
#include "engine/grammar/grammar_states.h"

namespace cairn {
namespace {

std::shared_ptr<const Grammar> RulesParsed(std::string_view text) {
  const auto grammar = Grammar::Parse(text);
  EXPECT_TRUE(grammar.has_value()) << text << ": " << grammar.error().message;
  return grammar.value_or(nullptr);
}

// Texts of up to six bytes, of pieces that begin and end inside characters too.
std::vector<std::string> RandomTexts(size_t count) {
  const std::vector<std::string> pieces = {"a",    "b",    "\"",   "\\",   ",",    " ",    "{",
                                           "1",    "0",    "é",    "日",   "\xE6", "\x97", "🙂",
                                           "\xF0", "\x9F", "\xC3", "\xFF", "\n",   "e",    "x"};
  std::mt19937 random(1);
  std::vector<std::string> texts = {"", ""};
  while (texts.size() < count) {
    std::string& text = texts.emplace_back();
    for (size_t length = random() % 4; length > 0; --length) {
      text += pieces[random() % pieces.size()];
    }
  }
  return texts;
}

TEST(TokenTrie, HasEachTokenOnceAtTheEndOfItsText) {
  const std::vector<std::string> texts = RandomTexts(3000);
  const TokenTrie trie(texts);
  std::vector<std::string> found(texts.size());
  std::string text;
  for (size_t i = 0; i < trie.nodes().size(); ++i) {
    const TokenTrie::Node& node = trie.nodes()[i];
    text.resize(node.depth - 1);
    text.push_back(static_cast<char>(node.byte));
    EXPECT_GT(node.end, i);
    for (const int32_t token : trie.TokensOf(i)) {
      EXPECT_EQ(found[static_cast<size_t>(token)], "");
      found[static_cast<size_t>(token)] = text;
    }
  }
  EXPECT_EQ(found, texts);
}

TEST(TokenTrie, OfNoTokensHasNoNodes) {
  EXPECT_TRUE(TokenTrie().nodes().empty());
  EXPECT_TRUE(TokenTrie({"", ""}).nodes().empty());
}

// The reference asks for each token on its own, of a matcher that shares nothing.
TEST(TokenTrie, AllowsTheTokensThatAMatcherAllowsOneByOne) {
  const std::vector<std::string> texts = RandomTexts(1500);
  const TokenTrie trie(texts);
  for (const std::string_view rules :
       {"root ::= \"\\\"\" ([^\"\\\\\\x00-\\x1F] | \"\\\\\" [abe])* \"\\\"\"",
        "root ::= [a日🙂]{1,7} | [^a]{3} \"b\"",
        "root ::= (\"ab\" | \"a\" | \"1\" [0-9]* | \"é\")+",
        "root ::= [\\u65E0-\\u65E6]* | [\\U0001F640-\\U0001F650]+ \" \"", "root ::= \"a\""}) {
    const auto grammar = RulesParsed(rules);
    const auto states = std::make_shared<GrammarStates>(grammar);
    std::mt19937 random(2);
    for (int answer = 0; answer < 5; ++answer) {
      GrammarMatcher shared(states);
      GrammarMatcher alone(grammar);
      for (int step = 0; step < 12; ++step) {
        std::vector<bool> allowed(texts.size());
        shared.Allowed(trie, &allowed);
        std::vector<size_t> next;
        for (size_t token = 0; token < texts.size(); ++token) {
          EXPECT_EQ(allowed[token], alone.Allows(texts[token])) << rules << ": " << texts[token];
          if (allowed[token]) next.push_back(token);
        }
        if (next.empty()) break;
        const std::string& text = texts[next[random() % next.size()]];
        shared.Accept(text);
        alone.Accept(text);
        EXPECT_EQ(shared.MayEnd(), alone.MayEnd());
      }
    }
  }
}

// The texts of tokens that may come behind `begun`, plainly or at all.
std::vector<std::string> Next(std::string_view rules, std::string_view begun, bool plainly) {
  const std::vector<std::string> texts = {"1", ".", ",", ".0", "1.", ",\"", "\"b", "é"};
  const TokenTrie trie(texts);
  GrammarMatcher matcher(RulesParsed(rules));
  if (!begun.empty()) matcher.Accept(begun);
  std::vector<bool> allowed(texts.size());
  const bool any =
      plainly ? matcher.AllowedPlainly(trie, &allowed) : matcher.Allowed(trie, &allowed);
  std::vector<std::string> next;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (allowed[i]) next.push_back(texts[i]);
  }
  EXPECT_EQ(any, !next.empty());
  return next;
}

TEST(GrammarMatcher, LeavesOddFormsOutWhereATokenIsChosenAnew) {
  using Texts = std::vector<std::string>;
  constexpr std::string_view kNumber = "root ::= [1-9]+ (~\".\" \"0\"+)? \",\"";
  EXPECT_EQ(Next(kNumber, "1", false), Texts({"1", ".", ",", ".0", "1."}));
  EXPECT_EQ(Next(kNumber, "1", true), Texts({"1", ","}));
  // What a token has begun goes on.
  EXPECT_EQ(Next(kNumber, "1.0", true), Texts({","}));
  EXPECT_EQ(Next("root ::= \"1\" ~[é.] \".\"", "1", true), Texts());
  EXPECT_EQ(Next("root ::= \"1\" ~[é.] \".\"", "1", false), Texts({".", "é"}));
  // All of its characters are odd: what begins as a plain form does goes on as that one.
  EXPECT_EQ(Next("root ::= ~\",.\" | \",1\"", ",", true), Texts({"1"}));
  EXPECT_EQ(Next("root ::= ~\",.\" | \",1\"", ",", false), Texts({"1", "."}));
}

TEST(GrammarStates, AreThoseOfTheLastAnswerInTheSameGrammar) {
  KeptGrammarStates kept;
  const auto grammar = RulesParsed("root ::= \"a\"+");
  const auto states = kept.Of(grammar);
  EXPECT_EQ(kept.Of(grammar), states);
  EXPECT_NE(kept.Of(RulesParsed("root ::= \"a\"+")), states);
  EXPECT_EQ(kept.Of(grammar), states);
  for (size_t i = 0; i < KeptGrammarStates::kGrammarsMax; ++i)
    kept.Of(RulesParsed("root ::= \"b\""));
  EXPECT_NE(kept.Of(grammar), states);
}

TEST(GrammarStates, ThatAreFullAreLeftByEachAnswerAtItsOwnPlace) {
  // Each count of letters is a state of its own.
  const auto grammar = RulesParsed("root ::= [a-c]{0,45000} \"!\" | [d]*");
  KeptGrammarStates kept;
  GrammarMatcher still(kept.Of(grammar));
  still.Accept("ab");
  GrammarMatcher far(kept.Of(grammar));
  for (int i = 0; i < 30000; ++i) {
    ASSERT_TRUE(far.Allows("a"));
    far.Accept("a");
  }
  EXPECT_TRUE(still.Allows("c!"));
  EXPECT_FALSE(still.Allows("d"));
  EXPECT_TRUE(far.Allows("c!"));
  EXPECT_FALSE(far.Allows("d"));
  EXPECT_TRUE(GrammarMatcher(kept.Of(grammar)).Allows("d"));
}

// A search may end for its number of steps, but that says nothing of another answer's.
TEST(GrammarStates, ForgetSearchesThatWereGivenUp) {
  GrammarStates states(RulesParsed("root ::= many \"c\" many\nmany ::= \"a\" | \"b\""));
  for (const std::string_view text : {"a", "ac"}) {
    const auto found = [&](size_t steps) {
      auto ways = states.Root(&steps);
      for (const char c : text) ways = states.Next(ways, static_cast<uint8_t>(c), &steps);
      return ways;
    };
    EXPECT_EQ(found(GrammarStates::kStepsMax), GrammarStates::kNone) << text;
    EXPECT_NE(found(0), GrammarStates::kNone) << text;
  }
}

}  // namespace
}  // namespace cairn
