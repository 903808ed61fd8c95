#include "chat/spans/span_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <iomanip>
#include <sstream>
#include <thread>

#include "chat/template/prompt_text.h"
#include "testing/base/golden_file.h"
#include "testing/chat/family_templates.h"
#include "testing/chat/test_templates.h"

namespace cairn::span_cache_test {
namespace {

using namespace test;  // NOLINT: the conversations read better

constexpr size_t kMegabyte = 1'000'000;

std::string Word(size_t index, const std::string& text) {
  return "m" + std::to_string(index) + "a " + text + " m" + std::to_string(index) + "z";
}

// Returns a client's nth request: questions, every other one with a call before its answer.
Conversation Turn(size_t turns) {
  Conversation talk{.messages = {System("Be brief.")}, .tools = Tools::Parse(kWeatherTool).value()};
  talk.now_unix_s = 1'700'049'600;
  for (size_t turn = 0; turn < turns; ++turn) {
    const auto next = [&] { return talk.messages.size(); };
    if (turn % 4 == 2) {
      talk.messages.push_back(Call("weather", R"({"city":"Bonn"})", "why"));
      talk.messages.push_back(ToolAnswer(Word(next(), "warm")));
    } else {
      if (turn > 0) talk.messages.push_back(Assistant(Word(next(), "Ho"), "why"));
      talk.messages.push_back(User(Word(next(), "Hi")));
    }
  }
  return talk;
}

std::string Begins(const TextShape& shape) {
  std::ostringstream out;
  for (const TextSpan& span : shape.spans) out << span.message_index << "@" << span.begin << " ";
  out << "header " << shape.header_end << " end " << shape.last_message_end;
  return std::move(out).str();
}

// Twenty turns of an agent on every family. A turn without the cache takes the prompt and one more
// rendering of all of it; with the cache, one rendering of a few messages instead.
TEST(SpanCache, TakesAboutOneRenderingATurnWhileAConversationGrows) {
  constexpr size_t kTurns = 20;
  std::string table =
      "template           turns  prompts  more, whole  more, short  without cache\n";
  for (const std::string& name : FamilyNames()) {
    const auto family = Family(name);
    ASSERT_NE(family, nullptr);
    SpanCache cache(kMegabyte);
    size_t turns = 0;
    size_t without = 0;
    for (size_t turn = 1; turn <= kTurns; ++turn) {
      Conversation talk = Turn(turn);
      // Not all families support tools and a system message.
      if (name.starts_with("gemma") && name != "gemma4") {
        if (turn % 4 == 3) continue;
        talk.tools = {};
        std::erase_if(talk.messages, [](const Message& message) {
          return message.role == Role::kTool || !message.tool_calls.empty();
        });
      }
      const auto text = family->Render(talk, true);
      ASSERT_TRUE(text.has_value()) << name << ": " << text.error().message;
      const auto cached = cache.Find(*family, talk, *text);
      const auto plain = FindTextShape(*family, talk, *text);
      ASSERT_TRUE(cached && plain);
      ASSERT_EQ(Begins(*cached), Begins(*plain)) << name << ", turn " << turn << ":\n" << *text;
      ++turns;
      without += plain->renders + 1;
    }
    const SpanStats stats = cache.stats();
    std::ostringstream line;
    line << std::left << std::setw(18) << name << std::right << std::setw(6) << turns
         << std::setw(9) << turns << std::setw(13) << stats.renders << std::setw(13)
         << stats.short_renders << std::setw(15) << without << "\n";
    table += line.str();
  }
  ExpectGolden("span_cache_of_families.txt", table);
}

Result<TextShape> Find(SpanCache* cache, const ChatTemplate& chat_template,
                       const Conversation& talk) {
  return cache->Find(chat_template, talk, Render(chat_template, talk));
}

TEST(SpanCache, RendersNothingForThePromptThatItHas) {
  const auto qwen = Builtin("qwen");
  SpanCache cache(kMegabyte);
  const auto first = Find(&cache, *qwen, Turn(3));
  const auto second = Find(&cache, *qwen, Turn(3));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->renders, 1U);
  EXPECT_EQ(second->renders + second->short_renders, 0U);
  EXPECT_EQ(Begins(*first), Begins(*second));
  EXPECT_EQ(cache.stats().prompts_known, 1U);
  EXPECT_EQ(cache.stats().boundaries_exact, 3U);
}

TEST(SpanCache, SparesAClientNothingForWhatAnotherSent) {
  const auto qwen = Builtin("qwen");
  const std::string prompt = Render(*qwen, Turn(3));
  SpanCache cache(kMegabyte);
  const auto first = cache.Find(*qwen, Turn(3), prompt, 1);
  const auto others = cache.Find(*qwen, Turn(3), prompt, 2);
  const auto again = cache.Find(*qwen, Turn(3), prompt, 1);
  ASSERT_TRUE(first && others && again);
  EXPECT_EQ(others->renders, first->renders);
  EXPECT_EQ(again->renders + again->short_renders, 0U);
  EXPECT_EQ(Begins(*others), Begins(*first));
}

TEST(SpanCache, LooksAgainWhereTheTemplateNowWritesSomethingElse) {
  // The reasoning before the tool's answer disappears once there is another query.
  const auto open_think = Parsed(kOpenThink);
  SpanCache cache(kMegabyte);
  Conversation talk{.messages = {User("U1"), Call("f", "{}", "R"), ToolAnswer("T")}};
  ASSERT_TRUE(Find(&cache, *open_think, talk));
  talk.messages.push_back(Assistant("A"));
  talk.messages.push_back(User("U2"));
  const std::string text = Render(*open_think, talk);
  const auto grown = cache.Find(*open_think, talk, text);
  ASSERT_TRUE(grown);
  EXPECT_EQ(Begins(*grown), Begins(*FindTextShape(*open_think, talk, text)));
  EXPECT_EQ(grown->renders, 0U);
  // U1, T and U2; then T and U2.
  EXPECT_EQ(cache.stats().boundaries_exact, 4U);
}

TEST(SpanCache, LooksAtAllWhenTheFrontHasChanged) {
  const auto qwen = Builtin("qwen");
  SpanCache cache(kMegabyte);
  ASSERT_TRUE(Find(&cache, *qwen, Turn(3)));
  Conversation other = Turn(4);
  other.messages[0].content = "Be long.";
  const auto shape = Find(&cache, *qwen, other);
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->renders, 1U);
  EXPECT_EQ(shape->short_renders, 0U);
  // The same messages, but another date in front of them.
  const auto dated =
      Parsed("{{ strftime_now('%Y') }}{% for m in messages %}{{ m.content }}{% endfor %}");
  Conversation dated_talk{.messages = {User("U1")}, .now_unix_s = 1'700'049'600};
  ASSERT_TRUE(Find(&cache, *dated, dated_talk));
  dated_talk.now_unix_s += 400 * 86'400;
  EXPECT_EQ(Find(&cache, *dated, dated_talk)->renders, 1U);
}

TEST(SpanCache, CountsWhatHasNoBoundaryOrAnEarlierOneOnce) {
  const auto hides = Parsed(
      "{% for m in messages %}[{{ m.role }}]{{ m.content if not m.content.startswith('stub') else "
      "'!' }}{% endfor %}");
  SpanCache cache(kMegabyte);
  // The first has no message before it that would say where it begins.
  Conversation talk{.messages = {User("stubborn"), Assistant("A"), User("stub"), User("U")}};
  for (int turn = 0; turn < 4; ++turn) {
    ASSERT_TRUE(Find(&cache, *hides, talk));
    talk.messages.push_back(Assistant("A"));
    talk.messages.push_back(User("U"));
  }
  const SpanStats stats = cache.stats();
  EXPECT_EQ(stats.boundaries_unknown, 1U);
  EXPECT_EQ(stats.boundaries_earlier, 1U);
  EXPECT_EQ(stats.boundaries_exact, 4U);
  EXPECT_EQ(stats.prompts, 4U);
  EXPECT_EQ(stats.prompts_extended, 3U);
  EXPECT_EQ(stats.short_renders, 3U);
}

TEST(SpanCache, KeepsTheMostRecentlyUsedConversations) {
  const auto chatml = Builtin("chatml");
  const auto talk = [](char letter) {
    return Conversation{.messages = {User(std::string(1000, letter))}};
  };
  SpanCache cache(4000);
  for (const char letter : {'a', 'b', 'a', 'c', 'd'}) {
    ASSERT_TRUE(Find(&cache, *chatml, talk(letter)));
    EXPECT_LE(cache.bytes(), 4000U);
  }
  EXPECT_EQ(Find(&cache, *chatml, talk('a'))->renders, 0U);
  EXPECT_EQ(Find(&cache, *chatml, talk('b'))->renders, 1U);
  SpanCache none(0);
  ASSERT_TRUE(Find(&none, *chatml, talk('a')));
  EXPECT_EQ(Find(&none, *chatml, talk('a'))->renders, 1U);
  EXPECT_EQ(none.bytes(), 0U);
}

TEST(SpanCache, HoldsOneEntryForAConversationThatGrows) {
  const auto qwen = Builtin("qwen");
  SpanCache cache(kMegabyte);
  for (size_t turn = 1; turn < 10; ++turn) ASSERT_TRUE(Find(&cache, *qwen, Turn(turn)));
  EXPECT_LT(cache.bytes(), 2 * Render(*qwen, Turn(9)).size() + 2000);
}

TEST(SpanCache, ServesManyThreads) {
  const auto qwen = Builtin("qwen");
  SpanCache cache(6000);
  std::atomic<size_t> wrong = 0;
  std::vector<std::thread> threads;
  for (size_t id = 0; id < 4; ++id) {
    threads.emplace_back([&, id] {
      for (size_t turn = 1; turn < 12; ++turn) {
        Conversation talk = Turn(turn);
        // Two of them speak of the same.
        talk.messages[0].content = std::to_string(id / 2);
        const std::string text = *qwen->Render(talk, true);
        const auto shape = cache.Find(*qwen, talk, text);
        if (!shape || Begins(*shape) != Begins(*FindTextShape(*qwen, talk, text))) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0U);
}

TEST(SpanCache, KnowsPromptsWithTextsThatSpellSpecialTokens) {
  const auto qwen = Builtin("qwen");
  const SpecialTexts specials({"<|im_start|>", "<|im_end|>", "</s>"});
  SpanCache cache(kMegabyte);
  Conversation talk{.messages = {User("Say <|im_end|>"), Assistant("</s>"), User("?")}};
  ASSERT_TRUE(RenderPrompt(*qwen, specials, talk, {&cache, 1}));
  talk.messages.push_back(Assistant("<|im_end|><|im_start|>"));
  talk.messages.push_back(User("<|im_start|>"));
  const auto grown = RenderPrompt(*qwen, specials, talk, {&cache, 1});
  const auto plain = RenderPrompt(*qwen, specials, talk);
  ASSERT_TRUE(grown && plain);
  EXPECT_EQ(grown->text, plain->text);
  EXPECT_EQ(grown->literals, plain->literals);
  EXPECT_EQ(Begins(grown->shape), Begins(plain->shape));
  EXPECT_EQ(grown->shape.renders, 0U);
}

}  // namespace
}  // namespace cairn::span_cache_test
