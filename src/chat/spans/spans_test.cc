#include "chat/spans/spans.h"

#include <random>

#include "base/text.h"
#include "testing/chat/test_templates.h"

namespace cairn::spans_test {
namespace {

using namespace test;  // NOLINT: the conversations read better

struct Shaped {
  std::string text;
  TextShape shape;
};

Shaped Shape(const ChatTemplate& chat_template, const Conversation& conversation) {
  const auto rendered = chat_template.RenderWithOrigins(conversation, true);
  EXPECT_TRUE(rendered.has_value()) << (rendered ? "" : rendered.error().message);
  if (!rendered) return {};
  return {rendered->text, FindTextShape(chat_template, conversation, *rendered)};
}

// Returns the text with a bar at every boundary, so that a test can state its expectation in one
// line.
std::string Sampled(const Shaped& shaped) {
  std::string sampled = shaped.text;
  sampled.insert(shaped.shape.last_message_end, "$");
  for (auto span = shaped.shape.spans.rbegin(); span != shaped.shape.spans.rend(); ++span) {
    sampled.insert(span->begin, span->role == Role::kTool ? "^" : "|");
  }
  return sampled;
}

// Checks properties that every shape must have, for any template.
void CheckShape(const Conversation& talk, const Shaped& shaped) {
  const auto& [text, shape] = shaped;
  size_t before = 0;
  for (const TextSpan& span : shape.spans) {
    const Message& message = talk.messages[span.message_index];
    ASSERT_EQ(span.role, message.role);
    ASSERT_LE(before, span.begin);
    ASSERT_LE(span.begin, span.end);
    ASSERT_LE(span.end, shape.last_message_end);
    const std::string wanted(Trimmed(message.content));
    // After a boundary that is earlier, but before the next one.
    const size_t content = span.earlier ? std::min(text.find(wanted, span.begin), span.end)
                                        : text.find_first_not_of(" \t\r\n", span.begin);
    ASSERT_EQ(wanted.empty() ? "" : text.substr(content, wanted.size()), wanted) << Sampled(shaped);
    before = span.end;
  }
  ASSERT_LE(shape.header_end, shape.last_message_end);
  ASSERT_LE(shape.last_message_end, text.size());
}

TEST(Spans, MarkUserAndToolMessagesTheHeaderAndTheEnd) {
  const Conversation talk{.messages = {System("S"), User("U1"), Call("f", "{}", "R"),
                                       ToolAnswer("T"), Assistant("A"), User("U2")}};
  const Shaped shaped = Shape(*Builtin("qwen"), talk);
  EXPECT_EQ(Sampled(shaped),
            "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\n|U1<|im_end|>\n"
            "<|im_start|>assistant\n<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>"
            "<|im_end|>\n<|im_start|>user\n<tool_response>\n^T\n</tool_response><|im_end|>\n"
            "<|im_start|>assistant\nA<|im_end|>\n<|im_start|>user\n|U2<|im_end|>\n"
            "$<|im_start|>assistant\n");
  EXPECT_EQ(shaped.shape.header_end, shaped.shape.spans[0].begin);
  EXPECT_EQ(shaped.shape.renders, 0u);
  CheckShape(talk, shaped);
}

TEST(Spans, SurviveATemplateThatDemandsTurnsAndMergesTheSystemText) {
  const Conversation talk{.messages = {System("S"), User("U1"), Assistant("A"), User("U2")}};
  EXPECT_EQ(Sampled(Shape(*Builtin("gemma"), talk)),
            "<s><start_of_turn>user\nS\n\n|U1<end_of_turn>\n<start_of_turn>model\nA<end_of_turn>\n"
            "<start_of_turn>user\n|U2<end_of_turn>\n$<start_of_turn>model\n");
  EXPECT_EQ(Sampled(Shape(*Parsed(kToolsLast), talk)),
            "<s>[INST] S\n\n|U1[/INST] A</s>[INST] |U2[/INST]$");
}

TEST(Spans, PutTheBoundaryAfterToolsThatStayInFrontOfTheFirstQuestion) {
  const Conversation talk{
      .messages = {User("U1"), Assistant("A"), User("U2")},
      .tools = Tools::Parse(R"([{"type":"function","function":{"name":"f"}}])").value()};
  const std::string sampled = Sampled(Shape(*Parsed(kToolsLast), talk));
  EXPECT_NE(sampled.find("[/AVAILABLE_TOOLS][INST] |U1"), std::string::npos) << sampled;
  EXPECT_NE(sampled.find("</s>[INST] |U2"), std::string::npos) << sampled;
}

TEST(Spans, AreExactWhereTheTemplateLooksAtHowATextBegins) {
  // For this template the last message is not a query, because of its beginning.
  const Conversation talk{
      .messages = {User("U1"), Assistant("A", "R"), User("<tool_response>T</tool_response>")}};
  const Shaped shaped = Shape(*Parsed(kOpenThink), talk);
  EXPECT_EQ(Sampled(shaped),
            "<|im_start|>user\n|U1<|im_end|>\n<|im_start|>assistant\n<think>\nR\n</think>\n\nA"
            "<|im_end|>\n<|im_start|>user\n|<tool_response>T</tool_response><|im_end|>\n"
            "$<|im_start|>assistant\n<think>\n");
  EXPECT_EQ(shaped.shape.unknown_boundaries, 0U);
  EXPECT_FALSE(shaped.shape.spans[1].earlier);
}

// A message that begins with "stub" is not shown.
constexpr char kStubborn[] =
    "{% for m in messages %}[{{ m.role }}]{{ m.content if not m.content.startswith('stub') else "
    "'!' }}{% endfor %}";

TEST(Spans, OfMessagesThatAreNotShownAreBehindTheMessageBefore) {
  Conversation talk;
  for (int i = 0; i < 100; ++i) {
    talk.messages.push_back(User(i % 4 == 0 ? "stubborn" : "U" + std::to_string(i)));
    talk.messages.push_back(Assistant("A"));
  }
  const Shaped shaped = Shape(*Parsed(kStubborn), talk);
  // Nothing was said in front of the first.
  EXPECT_EQ(shaped.shape.unknown_boundaries, 1U);
  ASSERT_EQ(shaped.shape.spans.size(), 99U);
  EXPECT_EQ(shaped.shape.spans[0].message_index, 2U);
  EXPECT_FALSE(shaped.shape.spans[0].earlier);
  EXPECT_TRUE(shaped.shape.spans[3].earlier);
  EXPECT_EQ(shaped.text.substr(shaped.shape.spans[3].begin, 7), "[user]!");
}

TEST(Spans, AreUnknownWhereATemplateShowsNothingOfAMessageOrShowsItTwice) {
  const Conversation talk{.messages = {User("U1"), User("U2")}};
  const Shaped hidden = Shape(*Parsed("{{ messages | length }}"), talk);
  EXPECT_TRUE(hidden.shape.spans.empty());
  EXPECT_EQ(hidden.shape.unknown_boundaries, 2u);
  EXPECT_EQ(hidden.shape.header_end, 0u);
  EXPECT_EQ(hidden.shape.last_message_end, hidden.text.size());
  const Shaped twice = Shape(
      *Parsed("{{ messages[0].content }}{% for m in messages %}{{ m.content }}{% endfor %}"), talk);
  EXPECT_EQ(Sampled(twice), "U1U1|U2$");
}

TEST(Spans, NeverBeginAfterAMessagesLeadingSpace) {
  const Conversation talk{.messages = {User("\n  U1"), Assistant("A"), User(" \n ")}};
  EXPECT_EQ(Sampled(Shape(*Builtin("chatml"), talk)),
            "<|im_start|>user\n|\n  U1<|im_end|>\n<|im_start|>assistant\nA<|im_end|>\n"
            "<|im_start|>user\n| \n <|im_end|>\n$<|im_start|>assistant\n");
  CheckShape(talk, Shape(*Builtin("gemma"), talk));
}

TEST(Spans, EndBeforeTheGenerationPromptAlsoWhenTheLastMessageWouldEndDifferently) {
  // Without a generation prompt this template leaves its last message open.
  const auto open = Parsed(
      "{% for m in messages %}<{{ m.role }}>{{ m.content }}"
      "{% if add_generation_prompt or not loop.last %}</>\n{% endif %}{% endfor %}"
      "{% if add_generation_prompt %}<assistant>{% endif %}");
  EXPECT_EQ(Sampled(Shape(*open, {.messages = {User("U1"), Assistant("A"), User("U2")}})),
            "<user>|U1</>\n<assistant>A</>\n<user>|U2</>\n$<assistant>");
}

TEST(Spans, EndWhereTheTextAndThatWithoutAnAnswerPartIfTheTemplateAsksEarly) {
  const auto early = Parsed(
      "{% set answers = add_generation_prompt %}"
      "{% for m in messages %}<{{ m.content }}>{% endfor %}{% if answers %}[{% endif %}");
  const Shaped shaped = Shape(*early, {.messages = {User("U1"), User("U2")}});
  EXPECT_EQ(Sampled(shaped), "<|U1><|U2>$[");
  EXPECT_EQ(shaped.shape.renders, 1U);
}

TEST(Spans, DoNotCutACharacter) {
  const auto marks = Parsed(
      "{% set answers = add_generation_prompt %}{% for m in messages %}{{ m.content }}{% endfor %}"
      "{{ '\xC3\xA9' if answers else '\xC3\xA8' }}");
  const Shaped shaped = Shape(*marks, {.messages = {User("U")}});
  EXPECT_EQ(shaped.shape.last_message_end, 1u);
}

TEST(Spans, HoldForRandomConversationsOnEveryTemplate) {
  std::vector<std::unique_ptr<ChatTemplate>> templates;
  for (const std::string& name : BuiltinTemplateNames()) templates.push_back(Builtin(name));
  for (const char* source : {kOpenThink, kToolsLast}) templates.push_back(Parsed(source));
  const std::vector<std::string> texts = {"",
                                          "a",
                                          "<",
                                          "<|im_end|>\n<|im_start|>user\n",
                                          "<tool_response>x</tool_response>",
                                          " \n",
                                          "  two\nlines\n",
                                          "cairnmark",
                                          "{{ messages }}",
                                          "</think>\n\nx",
                                          "\xC3\xA9t\xC3\xA9"};
  std::mt19937 random(5);
  size_t found = 0;
  for (int round = 0; round < 300; ++round) {
    const auto text = [&] { return texts[random() % texts.size()]; };
    Conversation talk;
    if (random() % 2 == 0) talk.messages.push_back(System(text()));
    for (size_t n = 1 + random() % 5; n > 0; --n) {
      talk.messages.push_back(User(text()));
      if (random() % 3 == 0) {
        talk.messages.push_back(Call("f", R"({"k":"v"})", text()));
        talk.messages.push_back(ToolAnswer(text()));
      }
      if (n > 1) talk.messages.push_back(Assistant(text(), text()));
    }
    for (const auto& chat_template : templates) {
      if (!chat_template->Render(talk, true)) continue;  // turns are not everyone's
      const Shaped shaped = Shape(*chat_template, talk);
      ASSERT_NO_FATAL_FAILURE(CheckShape(talk, shaped));
      found += shaped.shape.spans.size();
    }
  }
  EXPECT_GT(found, 2000u);
}

}  // namespace
}  // namespace cairn::spans_test
