#include "chat/spans/mark_places.h"

#include "testing/chat/test_templates.h"

namespace cairn::mark_places_test {
namespace {

using namespace test;  // NOLINT: the conversations read better

constexpr CacheMark kInside = {.inside = true};

Conversation Talk() {
  Conversation talk;
  talk.messages = {{.role = Role::kSystem, .content = "Be brief."},
                   {.role = Role::kUser, .content = "First."},
                   {.role = Role::kAssistant, .content = "Yes."},
                   {.role = Role::kUser, .content = "Second."}};
  return talk;
}

// Returns the prompt with a bar at every place.
std::string Sampled(const std::string& source, const Conversation& talk) {
  const auto chat_template = ChatTemplate::Parse(source, "", "<|im_end|>");
  EXPECT_TRUE(chat_template.has_value());
  const auto prompt = RenderPrompt(**chat_template, SpecialTexts({"<|im_start|>"}), talk);
  EXPECT_TRUE(prompt.has_value());
  std::string sampled = prompt->text;
  const std::vector<MarkPlace> places = FindMarkPlaces(**chat_template, talk, *prompt);
  for (auto place = places.rbegin(); place != places.rend(); ++place) {
    sampled.insert(place->offset, place->ttl_s == 300 ? "|" : "$");
  }
  return sampled;
}

// chatml, with one message per line.
const std::string kPlain =
    "{%- for m in messages %}{{ '<|im_start|>' + m.role + ' ' + m.content + '<|im_end|>' }}"
    "{%- endfor %}{%- if add_generation_prompt %}{{ '<|im_start|>assistant ' }}{%- endif %}";

TEST(MarkPlaces, AreTheEndsOfMarkedMessages) {
  Conversation talk = Talk();
  talk.messages[0].marks = {{}};
  talk.messages[3].marks = {{}};
  EXPECT_EQ(Sampled(kPlain, talk),
            "<|im_start|>system Be brief.<|im_end|><|im_start|>user |First.<|im_end|>"
            "<|im_start|>assistant Yes.<|im_end|><|im_start|>user Second.<|im_end|>|"
            "<|im_start|>assistant ");
}

TEST(MarkPlaces, OfAMessageBeforeAnAnswerIsFoundByRenderingUpToIt) {
  Conversation talk = Talk();
  talk.messages[1].marks = {{}};
  EXPECT_EQ(Sampled(kPlain, talk),
            "<|im_start|>system Be brief.<|im_end|><|im_start|>user First.<|im_end|>|"
            "<|im_start|>assistant Yes.<|im_end|><|im_start|>user Second.<|im_end|>"
            "<|im_start|>assistant ");
}

TEST(MarkPlaces, OfToolsAreTheHeadersEnd) {
  Conversation talk = Talk();
  talk.tools_marks = {{.ttl_s = 3600}};
  talk.messages[0].marks = {{}};
  // Both marks are at one place: the one with the longer lifetime counts.
  EXPECT_EQ(Sampled(kPlain, talk),
            "<|im_start|>system Be brief.<|im_end|><|im_start|>user $First.<|im_end|>"
            "<|im_start|>assistant Yes.<|im_end|><|im_start|>user Second.<|im_end|>"
            "<|im_start|>assistant ");
}

TEST(MarkPlaces, InsideAMessageMoveToTheLastKnownBoundary) {
  Conversation talk = Talk();
  talk.messages[0].marks = {kInside};
  talk.messages[3].marks = {kInside};
  EXPECT_EQ(Sampled(kPlain, talk),
            "<|im_start|>system Be brief.<|im_end|><|im_start|>user First.<|im_end|>"
            "<|im_start|>assistant Yes.<|im_end|><|im_start|>user |Second.<|im_end|>"
            "<|im_start|>assistant ");
}

TEST(MarkPlaces, OfAMessageThatLooksOtherwiseAloneMoveToo) {
  const std::string counts = "{{ messages | length }} " + kPlain;
  Conversation talk = Talk();
  talk.messages[1].marks = {{}};
  EXPECT_EQ(Sampled(counts, talk),
            "4<|im_start|>system Be brief.<|im_end|><|im_start|>user |First.<|im_end|>"
            "<|im_start|>assistant Yes.<|im_end|><|im_start|>user Second.<|im_end|>"
            "<|im_start|>assistant ");
}

TEST(MarkPlaces, AreNoneWithoutMarks) {
  const auto chat_template = ChatTemplate::Parse(kPlain, "", "");
  const auto prompt = RenderPrompt(**chat_template, SpecialTexts({"<|im_start|>"}), Talk());
  EXPECT_TRUE(FindMarkPlaces(**chat_template, Talk(), *prompt).empty());
}

}  // namespace
}  // namespace cairn::mark_places_test
