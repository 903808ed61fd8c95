// Why a prompt was read again, for each reason there is: two requests, and what is said of the
// second one. The golden file is what people read.

#include "api/record/explanation.h"

#include <chrono>

#include "api/answer/answer_reader.h"
#include "api/record/request_log.h"
#include "testing/api/api_fixture.h"
#include "testing/base/golden_file.h"

namespace cairn::explanation_test {
namespace {

const std::string kLong(300, 'l');

Message System(const std::string& text) {
  return {.role = Role::kSystem, .content = text};
}
Message User(const std::string& text) {
  return {.role = Role::kUser, .content = text};
}
Message Assistant(const std::string& text) {
  return {.role = Role::kAssistant, .content = text};
}

Tools OneTool(const std::string& name) {
  return Tools::Parse(
             R"([{"type":"function","function":{"name":")" + name +
             R"(","description":"Looks something up in a place that is described at some length",)"
             R"("parameters":{"type":"object","properties":{"q":{"type":"string"}}}}}])")
      .value();
}

Conversation Talk() {
  return {.messages = {System("You are a helpful assistant who answers in short sentences."),
                       User("What is 17 times 23? " + kLong), Assistant("391. " + kLong),
                       User("And the square root of that, please?")}};
}

class ExplanationTest : public ApiTest {
 protected:
  using ApiTest::ApiTest;

  Json Ask(const Conversation& conversation, NamespaceId name_space = 0, bool reuse = true) {
    ChatRequest request;
    request.conversation = conversation;
    request.params.tokens_max = 4;
    request.reuse = reuse;
    auto chat = service_.Start(std::move(request), name_space);
    EXPECT_TRUE(chat.has_value());
    auto record = log_.Begin({std::to_string(++asked_), "/test", name_space, 0},
                             std::move(chat->explained), &engine_);
    Watch(record, chat->generation.get());
    EXPECT_TRUE(CollectAnswer(std::move(*chat), [] { return false; }).has_value());
    return record->Told();
  }
  // What is said of `second` after `first`.
  Json After(const Conversation& first, const Conversation& second) {
    Ask(first);
    return Ask(second)["explanation"];
  }

  RequestLog log_;
  int asked_ = 0;
};

TEST_F(ExplanationTest, NamesTheMessageAndTheCharacterThatChanged) {
  Conversation changed = Talk();
  changed.messages[2].content[1] = '8';
  const Json told = After(Talk(), changed);
  EXPECT_EQ(told["reason"], "diverged");
  EXPECT_EQ(told["place"]["message"], 2);
  EXPECT_EQ(told["place"]["role"], "assistant");
  EXPECT_EQ(told["place"]["part"], "content");
  EXPECT_EQ(told["place"]["character"], 1);
  EXPECT_TRUE(told["prompt_excerpt"].get<std::string>().starts_with("81. "));
  EXPECT_TRUE(told["stored_excerpt"].get<std::string>().starts_with("91. "));
}

TEST_F(ExplanationTest, CountsCharactersAndNotBytes) {
  Conversation first = Talk();
  first.messages[1].content = "Grüße, wie heißt die Straße? " + kLong;
  Conversation changed = first;
  changed.messages[1].content = "Grüße, wie heißt die Strasse? " + kLong;
  const Json told = After(first, changed);
  EXPECT_EQ(told["place"]["message"], 1);
  EXPECT_EQ(told["place"]["character"], 25);
  EXPECT_TRUE(told["stored_excerpt"].get<std::string>().starts_with("ße?"));
}

TEST_F(ExplanationTest, SaysWhatItSaysForEveryReason) {
  std::string told;
  const auto add = [&](const std::string& what, const Json& explanation) {
    told += "# " + what + "\n" + explanation.dump(2) + "\n\n";
  };
  Conversation changed = Talk();
  changed.messages[1].content[8] = '9';
  add("a user's message was edited", After(Talk(), changed));

  Conversation dated = Talk();
  dated.messages[0].content = "Today is 2026-11-22. You are a helpful assistant, as you know.";
  Conversation later = dated;
  later.messages[0].content = "Today is 2026-11-23. You are a helpful assistant, as you know.";
  add("a date in the system prompt", After(dated, later));

  Conversation stamped = Talk();
  stamped.messages[1].content = "[2026-11-22T10:00:07] What is 17 times 23? " + kLong;
  Conversation stamped_anew = stamped;
  stamped_anew.messages[1].content = "[2026-11-22T10:00:31] What is 17 times 23? " + kLong;
  add("a time in a user's message", After(stamped, stamped_anew));

  Conversation billed = Talk();
  billed.messages[0].content = "9f31: the rest of the system prompt stays as it was, always.";
  Conversation billed_anew = billed;
  billed_anew.messages[0].content = "07c2: the rest of the system prompt stays as it was, always.";
  add("a system prompt that begins with what changes", After(billed, billed_anew));

  Conversation header = Talk();
  header.messages[0].content = "You are a careful assistant who answers in whole sentences.";
  Conversation other_header = header;
  other_header.messages[0].content = "You are a careful assistant who answers in rhymes.";
  add("another system prompt", After(header, other_header));

  Conversation tools = Talk();
  tools.messages[0].content = "You have tools.";
  tools.tools = OneTool("search");
  Conversation other_tools = tools;
  other_tools.tools = OneTool("lookup");
  add("other tools", After(tools, other_tools));

  Conversation another = header;
  another.messages = {
      header.messages[0],
      User("Name three rivers of the north, and the towns where they meet the sea.")};
  add("a new conversation with a known system prompt", After(header, another));

  Conversation forked = Talk();
  forked.messages.back().content = "Or its cube root?";
  add("another last message", After(Talk(), forked));

  Conversation went_on = Talk();
  went_on.messages.push_back(Assistant("19.77"));
  went_on.messages.push_back(User("Thank you."));
  add("the answer came back otherwise", After(Talk(), went_on));

  add("the same again", After(Talk(), Talk()));
  add("nothing like it",
      Ask({.messages = {
               User("Completely different from all that was asked before it.")}})["explanation"]);
  add("cache_prompt was false", Ask(Talk(), 0, false)["explanation"]);
  ExpectGolden("explanations.txt", told);
}

TEST_F(ExplanationTest, TellsThatAPromptWasScored) {
  ReuseReport report;
  report.prompt_tokens = report.shared_tokens = 600;
  report.scores_prompt = true;
  const Explanation told = Explain(report, {}, engine_);
  EXPECT_EQ(told.why, Explanation::Why::kNotAllowed);
  EXPECT_NE(told.sentence.find("log-probabilities of its prompt"), std::string::npos);
  EXPECT_EQ(told.advice, "");
}

TEST_F(ExplanationTest, TellsTextThatIsKnownFromStatesThatAreGone) {
  ReuseReport report;
  report.prompt_tokens = 6000;
  report.shared_tokens = 5000;
  report.reused_tokens = 1024;
  const Explanation told = Explain(report, {}, engine_);
  EXPECT_EQ(told.why, Explanation::Why::kNoCheckpoint);
  EXPECT_EQ(told.sentence,
            "The prompt is cached up to token 5,000, but the last usable checkpoint of the model's "
            "state is at token 1,024.");
  EXPECT_NE(told.advice.find("--cache-ram"), std::string::npos);
}

TEST_F(ExplanationTest, TellsNobodyOfAnothersTexts) {
  Ask(Talk(), 1);
  Conversation changed = Talk();
  changed.messages[2].content[1] = '8';
  const Json told = Ask(changed, 2);
  EXPECT_EQ(told["shared_tokens"], 0);
  EXPECT_EQ(told["explanation"]["reason"], "new_prompt");
  EXPECT_FALSE(told["explanation"].contains("stored_excerpt"));
  EXPECT_EQ(log_.List(1, 100)["requests"].size(), 1u);
  EXPECT_EQ(log_.List(2, 100)["requests"].size(), 1u);
  EXPECT_FALSE(log_.Find("1", 2).has_value());
  EXPECT_TRUE(log_.Find("1", 1).has_value());
}

TEST_F(ExplanationTest, TellsWhereReusedTokensLay) {
  const Json first = Ask(Talk());
  EXPECT_EQ(first["reused_tokens"], 0);
  EXPECT_EQ(first["path"], "none");
  const Json again = Ask(Talk());
  EXPECT_EQ(again["reused_tokens"], again["prompt_tokens"]);
  EXPECT_EQ(again["ram_tokens"], again["prompt_tokens"]);
  EXPECT_EQ(again["checkpoint"]["class"], "end");
  EXPECT_GE(again["checkpoint"]["age_ms"], 0);
  EXPECT_GT(again["restored_bytes"], 0);
}

// FakeEngine's tokens are bytes, but for the special ones of the template.
TEST_F(ExplanationTest, TellsTheTokensOfEveryMessage) {
  const Json told = Ask(Talk());
  const Json& messages = told["messages"];
  ASSERT_EQ(messages.size(), 4u);
  const auto talk = Talk();
  for (size_t i = 0; i < messages.size(); ++i) {
    const Json& message = messages[i];
    EXPECT_EQ(message["index"], i);
    EXPECT_EQ(message["role"], RoleName(talk.messages[i].role));
    EXPECT_EQ(message["begin"], i == 0 ? Json(0) : messages[i - 1]["end"]);
    const size_t tokens = message["end"].get<size_t>() - message["begin"].get<size_t>();
    const size_t size = talk.messages[i].content.size();
    // Of a user's message nothing is the template's.
    EXPECT_TRUE(i % 2 == 0 || tokens == size) << tokens;
    EXPECT_GE(tokens, size);
  }
  EXPECT_LT(messages[3]["end"], told["prompt_tokens"]);
}

TEST_F(ExplanationTest, TellsMessagesTokensOfOneRequestAndNotInLists) {
  Ask(Talk());
  const Json found = Json::parse(*log_.Find("1", 0));
  EXPECT_EQ(found["reuse"]["messages"].size(), 4u);
  const Json list = log_.List(0, 1);
  EXPECT_FALSE(list["requests"][0]["reuse"].contains("messages"));
}

TEST_F(ExplanationTest, NumbersMessagesAsTheyCameWhereSomeWereLeftOut) {
  ExplainedPrompt prompt{.text = "abcd", .tokens = {'a', 'b', 'c', 'd'}};
  prompt.messages = {System("a"), User("b"), Assistant("c"), User("d")};
  prompt.message_ranges = {TextRange{0, 1}, TextRange{1, 2}, std::nullopt, TextRange{3, 4}};
  prompt.dropped_messages = 6;
  const auto messages = Explain(ReuseReport(), prompt, engine_).messages;
  ASSERT_EQ(messages.size(), 4u);
  EXPECT_EQ(messages[0].message, 0u);
  EXPECT_EQ(messages[1].message, 7u);
  EXPECT_EQ(messages[1].tokens, (TokenRange{1, 2}));
  EXPECT_FALSE(messages[2].tokens.has_value());
  EXPECT_EQ(messages[3].message, 9u);
}

class ExplanationOnAttentionTest : public ExplanationTest {
 protected:
  ExplanationOnAttentionTest() : ExplanationTest(MemoryClass::kAttention) {}
};

TEST_F(ExplanationOnAttentionTest, TellsTheTokensOfMessagesAllTheSame) {
  const Json messages = Ask(Talk())["messages"];
  ASSERT_EQ(messages.size(), 4u);
  EXPECT_EQ(messages[3]["end"].get<size_t>() - messages[3]["begin"].get<size_t>(),
            Talk().messages[3].content.size());
}

TEST_F(ExplanationTest, OldRequestsMakeRoomForNewOnes) {
  RequestLog small(2);
  for (const char* id : {"a", "b", "c"}) {
    Generation generation;
    Watch(small.Begin({id, "/test", 0, 0}, {}, &engine_), &generation);
  }
  EXPECT_FALSE(small.Find("a", 0).has_value());
  const Json listed = small.List(0, 100)["requests"];
  ASSERT_EQ(listed.size(), 2u);
  EXPECT_EQ(listed[0]["id"], "c");
  // Nobody took their answers.
  EXPECT_EQ(listed[0]["state"], "cancelled");
}

}  // namespace
}  // namespace cairn::explanation_test
