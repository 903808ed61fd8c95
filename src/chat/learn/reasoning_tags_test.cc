#include "chat/learn/reasoning_tags.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "testing/chat/family_templates.h"
#include "testing/chat/test_templates.h"

namespace cairn::reasoning_tags_test {
namespace {

using namespace test;  // NOLINT: the templates read better

ReasoningTags TagsOf(const std::string& source) {
  return Parsed(source)->reasoning_tags();
}

std::string InAnswer(const std::string& open, const std::string& close) {
  return "{%- for message in messages %}{{- '<|' + message.role + '|>' }}"
         "{%- if message.reasoning_content %}{{- '" +
         open + "' + message.reasoning_content + '" + close +
         "' }}{%- endif %}{{- message.content + '<|end_of_turn|>' }}{%- endfor %}";
}

TEST(ReasoningTags, AreThoseOfEveryFamily) {
  const std::map<std::string, std::pair<std::string, std::string>> others = {
      {"cohere2-moe", {"<|START_THINKING|>", "<|END_THINKING|>"}},
      {"command-r7b", {"<|START_THINKING|>", "<|END_THINKING|>"}},
      {"gemma4", {"<|channel>thought", "<channel|>"}},
      {"gpt-oss", {"<|channel|>analysis<|message|>", "<|end|>"}},
      {"kimi-k3", {"<|open|>think<|sep|>", "<|close|>think<|sep|>"}},
      {"minimax-m3", {"<mm:think>", "</mm:think>"}},
      {"seed-oss", {"<seed:think>", "</seed:think>"}},
  };
  const std::vector<std::string> without = {
      "falcon-h1", "gemma2",     "gemma3",        "granite4", "kimi-k2",
      "llama3.1",  "mistral-v3", "mistral-small", "qwen2.5",  "qwen3-coder"};
  for (const std::string& family : FamilyNames()) {
    const ReasoningTags tags = Family(family)->reasoning_tags();
    const auto other = others.find(family);
    const bool reasons = std::find(without.begin(), without.end(), family) == without.end();
    EXPECT_EQ(tags.open, other == others.end() ? "<think>" : other->second.first) << family;
    EXPECT_EQ(tags.close, other == others.end() ? "</think>" : other->second.second) << family;
    EXPECT_EQ(tags.learned, reasons) << family;
  }
}

TEST(ReasoningTags, AreWhateverStandsAroundReasoning) {
  EXPECT_EQ(TagsOf(InAnswer("\\n<muse>\\n", "\\n</muse>\\n\\n")),
            (ReasoningTags{"<muse>", "</muse>", true}));
  EXPECT_EQ(TagsOf(InAnswer("[A]", "[/A] ")), (ReasoningTags{"[A]", "[/A]", true}));
  EXPECT_EQ(TagsOf(InAnswer("◁think▷", "◁/think▷")), (ReasoningTags{"◁think▷", "◁/think▷", true}));
}

TEST(ReasoningTags, OfATemplateThatStripsReasoningAreThoseItNames) {
  const std::string said = "{%- for message in messages %}{{- message.content";
  EXPECT_EQ(TagsOf(said + ".split('[/THINK]')[-1] }}{%- endfor %}"),
            (ReasoningTags{"[THINK]", "[/THINK]", true}));
  EXPECT_EQ(TagsOf(said + " }}{%- endfor %}{{- '<|begin_of_thought|>' }}"
                          "{%- if off %}{{- '<|end_of_thought|>' }}{%- endif %}"),
            (ReasoningTags{"<|begin_of_thought|>", "<|end_of_thought|>", true}));
}

TEST(ReasoningTags, AreAssumedWhereNothingShowsThem) {
  EXPECT_EQ(TagsOf("{%- for message in messages %}{{- message.content }}{%- endfor %}"),
            ReasoningTags());
  // Reasoning without its own tags, and with a text that ends every turn.
  EXPECT_EQ(TagsOf(InAnswer("", "\\n\\n")), ReasoningTags());
  EXPECT_EQ(TagsOf(InAnswer("", "<|end_of_turn|>")), ReasoningTags());
}

TEST(ReasoningTags, MayHaveControlTokensInThem) {
  EXPECT_EQ(ControlTextsOf({"<|channel>thought", "<channel|>", true}),
            (std::vector<std::string>{"<|channel>thought", "<|channel>", "<channel|>"}));
  EXPECT_EQ(ControlTextsOf({"<|open|>think<|sep|>", "<|close|>think<|sep|>", true}),
            (std::vector<std::string>{"<|open|>think<|sep|>", "<|open|>", "<|sep|>",
                                      "<|close|>think<|sep|>", "<|close|>"}));
}

}  // namespace
}  // namespace cairn::reasoning_tags_test
