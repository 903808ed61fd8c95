#include "chat/text/text_parts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "testing/chat/test_templates.h"

namespace cairn::text_parts_test {
namespace {

using namespace test;  // NOLINT: the conversations read better

Message InParts(Role role, const std::vector<std::string>& parts) {
  Message message{.role = role};
  for (const std::string& part : parts) AppendTextPart(part, &message);
  return message;
}

std::string Joined(const Message& message, const PartSeparators& separators = {}) {
  Conversation talk{.messages = {message}};
  JoinTextParts(separators, &talk);
  EXPECT_TRUE(talk.messages[0].part_begins.empty());
  return talk.messages[0].content;
}

TEST(TextParts, StandOnLinesOfTheirOwnInEveryRole) {
  for (const Role role :
       {Role::kSystem, Role::kDeveloper, Role::kUser, Role::kAssistant, Role::kTool}) {
    EXPECT_EQ(Joined(InParts(role, {"What is", "the best"})), "What is\nthe best");
    EXPECT_EQ(Joined(InParts(role, {"", "a", "", "b"})), "a\n\nb") << "as llama-server joins them";
    EXPECT_EQ(Joined(InParts(role, {"alone"})), "alone");
  }
}

TEST(TextParts, AreJoinedByWhatTheTemplatePutsBetweenThemInTheirRole) {
  const PartSeparators separators{.system = " ", .user = "", .assistant = "\n\n", .tool = "\t"};
  const std::vector<std::string> parts = {"a", "b", "c"};
  EXPECT_EQ(Joined(InParts(Role::kDeveloper, parts), separators), "a b c");
  EXPECT_EQ(Joined(InParts(Role::kUser, parts), separators), "abc");
  EXPECT_EQ(Joined(InParts(Role::kAssistant, parts), separators), "a\n\nb\n\nc");
  EXPECT_EQ(Joined(InParts(Role::kTool, parts), separators), "a\tb\tc");
}

TEST(TextParts, GoOnWhereAMediumIsAndItsPlaceMovesAlong) {
  const MediumPtr image = MakeMedium(MediumKind::kImage, {1}, "");
  Message message = InParts(Role::kUser, {"Here", "it is:"});
  AppendMarker(image, &message.content, &message.media);
  AppendTextPart("Well?", &message);
  AppendTextPart("Say.", &message);
  Conversation talk{.messages = {message}};
  JoinTextParts({.user = ""}, &talk);
  const Message& joined = talk.messages[0];
  EXPECT_EQ(joined.content, "Here\nit is:" + MarkerOf(*image) + "Well?\nSay.");
  ASSERT_EQ(joined.media.size(), 1u);
  EXPECT_EQ(
      joined.content.substr(joined.media[0].begin, joined.media[0].end - joined.media[0].begin),
      MarkerOf(*image));
}

TEST(TextParts, AreJoinedOnce) {
  Conversation talk{.messages = {InParts(Role::kUser, {"a", "b"})}};
  JoinTextParts({}, &talk);
  JoinTextParts({}, &talk);
  EXPECT_EQ(talk.messages[0].content, "a\nb");
}

TEST(TextParts, ATemplateThatTakesPartsSaysWhatStandsBetweenThem) {
  const auto separators = [](const std::string& shown) {
    return Parsed("{% for m in messages %}[{{ m.role }}]" + shown + "{% endfor %}")
        ->caps()
        .part_separators;
  };
  const std::string text = "{% if m.content is string %}{{ m.content }}{% else %}";
  EXPECT_EQ(separators("{{ m.content }}").user, "\n") << "it prints the list";
  EXPECT_EQ(separators("{{ m.content | trim }}").user, "\n") << "it refuses";
  EXPECT_EQ(separators(text + "{{ m.content[0].text }}{% endif %}").user, "\n") << "one is lost";
  EXPECT_EQ(separators(text + "{% for p in m.content %}{{ p.text }}{% endfor %}{% endif %}").user,
            "");
  EXPECT_EQ(
      separators(text + "{% for p in m.content %}<p>{{ p.text }}</p>{% endfor %}{% endif %}").user,
      "\n")
      << "they are two texts";
  const std::string joined =
      text + "{{ m.content | map(attribute='text') | join(' ') }}{% endif %}";
  EXPECT_EQ(separators(joined).user, " ");
  EXPECT_EQ(separators(joined).system, " ");
  EXPECT_EQ(separators(joined).assistant, " ");
  const PartSeparators of_user = separators(
      "{% if m.role == 'user' %}{% for p in m.content %}{{ p.text or p }}{% endfor %}"
      "{% else %}{{ m.content }}{% endif %}");
  EXPECT_EQ(of_user.user, "");
  EXPECT_EQ(of_user.system, "\n");
}

}  // namespace
}  // namespace cairn::text_parts_test
