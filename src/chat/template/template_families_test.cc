// What agents send, on the templates of testdata/templates/: nothing is refused, nothing is lost,
// and a turn's prompt is how the next turn's begins.

#include <gtest/gtest.h>

#include "chat/spans/prompt_text.h"
#include "testing/base/golden_file.h"
#include "testing/chat/family_templates.h"
#include "testing/chat/test_templates.h"

namespace cairn::template_families_test {
namespace {

using namespace test;  // NOLINT: the conversations read better

Message WithId(Message message, const std::string& id) {
  if (!message.tool_calls.empty()) message.tool_calls[0].id = id;
  if (!message.tool_call_id.empty()) message.tool_call_id = id;
  return message;
}

// As Claude Code sends it: a system message behind the first question and behind a tool's result.
std::vector<Message> LateSystemTalk() {
  return {System("s0 Be brief."),
          User("u1 Hi"),
          System("l2 Be rude."),
          Assistant("a3 Ho"),
          System("l4 Be kind."),
          User("u5 Look."),
          WithId(Call("weather", R"({"city":"c6 Bonn"})"), "toolu_012345678901"),
          WithId(ToolAnswer("t7 warm"), "toolu_012345678901"),
          System("l8 <total_tokens>9</total_tokens>"),
          Assistant("a9 Warm."),
          User("u10 Bye")};
}

Conversation Front(const std::vector<Message>& messages, size_t count) {
  return {.messages = {messages.begin(), messages.begin() + static_cast<std::ptrdiff_t>(count)},
          .tools = Tools::Parse(kWeatherTool).value(),
          .now_unix_s = 1'700'049'600};
}

std::vector<Message> WithoutLateSystem(const std::vector<Message>& messages) {
  std::vector<Message> kept = {messages.front()};
  for (const Message& message : messages) {
    if (message.role != Role::kSystem) kept.push_back(message);
  }
  return kept;
}

bool IsPrefixOf(const ChatTemplate& family, const std::vector<Message>& front,
                const std::vector<Message>& whole) {
  const std::string turn = Render(family, Front(front, front.size()), false);
  return Render(family, Front(whole, whole.size()), false).starts_with(turn);
}

TEST(TemplateFamilies, LateSystemMessagesAreShownAndLeaveEarlierTurnsAsTheyWere) {
  for (const std::string& name : FamilyNames()) {
    const auto family = Family(name);
    ASSERT_NE(family, nullptr);
    const std::vector<Message> talk = LateSystemTalk();
    const std::string whole = Render(*family, Front(talk, talk.size()));
    for (const char* text : {"s0", "u1", "l2", "a3", "l4", "u5", "c6", "t7", "l8", "a9", "u10"}) {
      EXPECT_NE(whole.find(text), std::string::npos) << name << " lost " << text << ": " << whole;
    }
    size_t compared = 0;
    for (size_t count = 2; count < talk.size(); ++count) {
      if (talk[count].role != Role::kAssistant) continue;
      const std::vector<Message> front(talk.begin(),
                                       talk.begin() + static_cast<std::ptrdiff_t>(count));
      // A new question takes reasoning out of earlier turns, late system messages or none.
      if (!IsPrefixOf(*family, WithoutLateSystem(front), WithoutLateSystem(talk))) continue;
      ++compared;
      EXPECT_TRUE(IsPrefixOf(*family, front, talk)) << name << ", " << count << " messages\n"
                                                    << whole;
    }
    EXPECT_GE(compared, 1U) << name;
  }
}

// `message` with an image behind its text.
Message WithImage(Message message, const MediumPtr& image, const std::string& behind = "") {
  AppendMarker(image, &message.content, &message.media);
  message.content += behind;
  return message;
}

// A template that escaped, cut or dropped an image's place would take the image out of the prompt.
TEST(TemplateFamilies, EveryImageHasItsPlaceAndNoTextBecomesOne) {
  std::vector<MediumPtr> media;
  for (uint8_t i = 0; i < 4; ++i) media.push_back(MakeMedium(MediumKind::kImage, {i}, ""));
  const std::vector<Message> talk = {
      WithImage(System("s0 "), media[0]),
      WithImage(User(""), media[1]),
      WithId(Call("weather", R"({"city":"c2"})"), "call00001"),
      WithId(WithImage(ToolAnswer("{\"seen\":\"\n"), media[2], "\"}"), "call00001"),
      Assistant("a4 Warm." + MarkerOf(*media[1])),
      WithImage(WithImage(User("\n" + MarkerOf(*media[0])), media[3], " u5"), media[1])};
  const SpecialTexts specials({"<|im_end|>"});
  for (const std::string& name : FamilyNames()) {
    const auto family = Family(name);
    ASSERT_NE(family, nullptr);
    const auto prompt = RenderPrompt(*family, specials, Front(talk, talk.size()));
    ASSERT_TRUE(prompt.has_value()) << name << ": " << prompt.error().message;
    std::vector<MediumPtr> found;
    for (const MarkedMedium& marked : prompt->media) {
      found.push_back(marked.medium);
      EXPECT_EQ(prompt->text.substr(marked.begin, marked.end - marked.begin),
                MarkerOf(*marked.medium));
    }
    const std::vector<MediumPtr> expected = {media[0], media[1], media[2], media[3], media[1]};
    EXPECT_EQ(found, expected) << name << ": " << prompt->text;
  }
}

TEST(TemplateFamilies, SeveralLeadingSystemAndDeveloperMessagesAreAllShownInFront) {
  for (const std::string& name : FamilyNames()) {
    const auto family = Family(name);
    ASSERT_NE(family, nullptr);
    const std::vector<Message> talk = {Developer("d0 One."), Developer("d1 Two."), User("u2 Hi"),
                                       User("u3 Ho"),        Assistant("a4 Hu"),   User("u5 Bye")};
    const std::string whole = Render(*family, Front(talk, talk.size()));
    size_t at = 0;
    for (const char* text : {"d0", "d1", "u2", "u3", "a4", "u5"}) {
      const size_t found = whole.find(text);
      ASSERT_NE(found, std::string::npos) << name << " lost " << text << ": " << whole;
      EXPECT_LT(at, found + 1) << name << " moved " << text << ": " << whole;
      at = found;
    }
  }
}

TEST(TemplateFamilies, SayWhatEachDoesWithLateSystemMessages) {
  std::string table =
      "template          late system   tools calls results developer ids moves-tools\n";
  for (const std::string& name : FamilyNames()) {
    const auto family = Family(name);
    ASSERT_NE(family, nullptr);
    const TemplateCaps& caps = family->caps();
    const auto column = [](std::string text, size_t width) {
      text.resize(std::max(width, text.size() + 1), ' ');
      return text;
    };
    const auto yes = [&](bool is, size_t width) { return column(is ? "yes" : "-", width); };
    std::string line = column(name, 18) + column(LateSystemName(caps.late_system), 14) +
                       yes(caps.tools, 6) + yes(caps.tool_calls, 6) + yes(caps.tool_responses, 8) +
                       yes(caps.developer_role, 10) + (caps.short_call_ids ? "9   " : "any ") +
                       yes(caps.tools_move, 3);
    line.resize(line.find_last_not_of(' ') + 1);
    table += line + "\n";
  }
  ExpectGolden("template_caps_of_families.txt", table);
}

TEST(TemplateFamilies, AnAnswerThatWasCutAnywhereComesBack) {
  const SpecialTexts specials({"<|im_end|>"});
  for (const std::string& name : FamilyNames()) {
    const auto family = Family(name);
    ASSERT_NE(family, nullptr);
    const auto shown = [&](Message cut) {
      const bool calls = !cut.tool_calls.empty();
      Conversation talk = Front({User("u0")}, 1);
      talk.messages.push_back(std::move(cut));
      if (calls) talk.messages.push_back(ToolAnswer("t2 error"));
      talk.messages.push_back(User("u3"));
      const auto prompt = RenderPrompt(*family, specials, talk);
      EXPECT_TRUE(prompt.has_value()) << name << ": " << prompt.error().message;
      const std::string text = prompt ? prompt->text : "";
      EXPECT_NE(text.find("u3"), std::string::npos) << name << ": " << text;
      if (calls) EXPECT_NE(text.find("t2 error"), std::string::npos) << name << ": " << text;
      return text;
    };
    for (const char* arguments : {R"({"city": "c1 Bo)", R"({"city": {"c1 Bo)",
                                  R"({"a": 1, "city": ["c1 Bo)", "c1 Bo", R"(["c1 Bo"])"}) {
      const std::string text = shown(Call("weather", arguments));
      EXPECT_NE(text.find("c1 Bo"), std::string::npos) << name << ": " << text;
    }
    for (const char* arguments : {"", "null", "{", R"({"ci)", R"({"city")", R"({"city":)",
                                  R"({"city": tr)", R"({"city": "\ud83d)"}) {
      shown(Call("weather", arguments));
    }
    shown(Assistant(""));
    shown(Assistant("", "half a thou"));
    shown(Assistant("<think>\nhalf a thou"));
    EXPECT_NE(shown(Assistant("<tool_call>\n{\"name\": \"c1 we")).find("c1 we"), std::string::npos)
        << name;
    shown(Assistant("half a charact\xEF\xBF\xBD"));
  }
}

}  // namespace
}  // namespace cairn::template_families_test
