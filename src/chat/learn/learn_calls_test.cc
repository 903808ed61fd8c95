// Tests what is learned from the families' templates, and what is not.

#include "chat/learn/learn_calls.h"

#include <gtest/gtest.h>

#include "chat/parse/answer_parser.h"
#include "testing/base/golden_file.h"
#include "testing/chat/family_templates.h"
#include "testing/chat/test_templates.h"

namespace cairn::learn_calls_test {
namespace {

std::string Learned(const std::string& source) {
  const auto chat_template = test::Parsed(source);
  const auto& learned = chat_template->learned_calls();
  return learned ? DescribeCalls(*learned) : "nothing\n";
}

// Returns a template that writes an answer's text, followed by `calls`.
std::string Template(const std::string& calls) {
  return "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}"
         "{% if m.tool_calls %}" +
         calls + "{% endif %}<|end|>{% endfor %}";
}

TEST(LearnCalls, KnowsTheSyntaxOfEveryFamily) {
  std::string text;
  for (const std::string& name : test::FamilyNames()) {
    const auto chat_template = test::Family(name);
    const auto& learned = chat_template->learned_calls();
    text += "== " + name + "\n" + (learned ? DescribeCalls(*learned) : "nothing\n");
    const CallFormat format = CallFormatOf(*chat_template);
    if (format != CallFormat::kLearned) {
      text += format == CallFormat::kNone ? "no calls are read\n" : "read by hand-written code\n";
    }
    text += "\n";
  }
  ExpectGolden("call_syntax_of_families.txt", text);
}

TEST(LearnCalls, TagsKeepTheirEnds) {
  // Byte by byte, the two openings have the suffix "in><call>" in common, and the two ends the
  // prefix "</call".
  EXPECT_EQ(Learned(Template("<calls_begin>{% for c in m.tool_calls %}<call_begin>"
                             "{{ c.function.name }}<sep>{{ c.function.arguments }}<call_end>"
                             "{% endfor %}<calls_end>")),
            "block_open      \"<calls_begin>\"\n"
            "call_open       \"<call_begin>\"\n"
            "name_end        \"<sep>\"\n"
            "arguments       a JSON object\n"
            "call_close      \"<call_end>\"\n"
            "between         \"\"\n"
            "block_close     \"<calls_end>\"\n"
            "several         yes\n");
}

TEST(LearnCalls, NothingIsLearnedOfWhatIsNotCertain) {
  // No mark distinguishes a call from text.
  EXPECT_EQ(Learned(Template("{% for c in m.tool_calls %}{{ c.function.name }}: "
                             "{{ c.function.arguments }}{% endfor %}")),
            "nothing\n");
  // The name is missing.
  EXPECT_EQ(Learned(Template("<call>{{ m.tool_calls[0].function.arguments }}</call>")),
            "nothing\n");
  // The arguments are missing.
  EXPECT_EQ(Learned(Template("<call>{{ m.tool_calls[0].function.name }}</call>")), "nothing\n");
  EXPECT_EQ(Learned("{{ messages }}"), "nothing\n");
}

}  // namespace
}  // namespace cairn::learn_calls_test
