// Tests the spans with the templates of testdata/templates/, and writes two files: the table of
// boundaries, and the prompts, which scripts/templates/ compares with those of another template
// engine.

#include <gtest/gtest.h>

#include <iomanip>
#include <sstream>

#include "base/json.h"
#include "chat/spans/spans.h"
#include "chat/template/template_input.h"
#include "testing/base/golden_file.h"
#include "testing/chat/family_templates.h"

namespace cairn::spans_families_test {
namespace {

using namespace test;  // NOLINT: the conversations read better
struct Row {
  size_t conversations = 0;
  size_t refused = 0;
  size_t messages = 0;
  size_t exact = 0;
  size_t earlier = 0;
  size_t unknown = 0;
  size_t renders = 0;
  std::string notes;
};

void AddTo(const std::string& conversation, const TextShape& shape, Row* row) {
  size_t earlier = 0;
  for (const TextSpan& span : shape.spans) earlier += span.earlier ? 1 : 0;
  ++row->conversations;
  row->messages += shape.spans.size() + shape.unknown_boundaries;
  row->exact += shape.spans.size() - earlier;
  row->earlier += earlier;
  row->unknown += shape.unknown_boundaries;
  row->renders += shape.renders + 1;  // the prompt itself
  if (earlier > 0) row->notes += " " + conversation + ":earlier";
  if (shape.unknown_boundaries > 0) row->notes += " " + conversation + ":unknown";
}

std::string Line(const std::string& name, const Row& row) {
  std::ostringstream line;
  line << std::left << std::setw(18) << name << std::right << std::setw(6) << row.conversations
       << std::setw(8) << row.refused << std::setw(9) << row.messages << std::setw(6) << row.exact
       << std::setw(8) << row.earlier << std::setw(8) << row.unknown << std::setw(8) << row.renders
       << " " << row.notes;
  std::string text = std::move(line).str();
  text.resize(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

// Counts the boundaries of all conversations for all families; "refused" counts conversations that
// the template does not accept.
TEST(SpansOfFamilies, AreRightAndCounted) {
  std::string table =
      "template           talks refused messages exact earlier unknown renders  where\n";
  for (const std::string& name : FamilyNames()) {
    const auto family = Family(name);
    ASSERT_NE(family, nullptr);
    Row row;
    for (const auto& [talk, conversation] : FamilyConversations()) {
      const auto rendered = family->RenderWithOrigins(conversation, true);
      if (!rendered) {
        ++row.refused;
        continue;
      }
      const TextShape shape = FindTextShape(*family, conversation, *rendered);
      EXPECT_EQ(WrongBoundary(conversation, rendered->text, shape), "")
          << name << ", " << talk << ":\n"
          << rendered->text;
      // Where the template does not write its messages otherwise, the rest is the opening of an
      // answer.
      const auto bare = family->Render(conversation, false);
      if (bare && rendered->text.starts_with(*bare)) {
        EXPECT_EQ(shape.last_message_end, bare->size()) << name << ", " << talk;
      }
      AddTo(talk, shape, &row);
    }
    EXPECT_GT(row.conversations, 8U) << name;
    table += Line(name, row);
  }
  ExpectGolden("spans_of_families.txt", table);
}

// Lists all prompts with their inputs; inputs that several templates share are listed once.
TEST(SpansOfFamilies, HavePromptsThatAnotherEngineCanMake) {
  Json file = {{"bos_token", kFamilyBos},
               {"eos_token", kFamilyEos},
               {"inputs", Json::object()},
               {"prompts", Json::object()}};
  for (const std::string& name : FamilyNames()) {
    const auto family = Family(name);
    ASSERT_NE(family, nullptr);
    Json& prompts = file["prompts"][name];
    for (const auto& [talk, conversation] : FamilyConversations()) {
      const auto messages = TemplateMessages(conversation, family->caps());
      const Json tools = conversation.tools.empty() ? Json() : conversation.tools.list();
      const auto kwargs = TemplateKwargs(conversation);
      ASSERT_TRUE(messages && kwargs) << name << ", " << talk;
      Json list = Json::array();
      for (const TemplateMessage& message : *messages) list.push_back(message.json);
      const Json input = {{"messages", list},
                          {"tools", tools},
                          {"kwargs", *kwargs},
                          {"now_unix_s", conversation.now_unix_s}};
      std::string input_name = talk;
      while (file["inputs"].value(input_name, input) != input) input_name += "'";
      file["inputs"][input_name] = input;
      Json prompt = {{"input", input_name}};
      // The prompt is then the rendering without tools, with the block of tools inserted
      // (tools_block.h).
      if (family->caps().tools_move && !tools.is_null()) prompt["tools_inserted"] = true;
      for (const bool generate : {true, false}) {
        const auto text = family->Render(conversation, generate);
        prompt[generate ? "prompt" : "bare"] =
            text ? Json(*text) : Json({{"error", text.error().message}});
      }
      // Usually the prompt is this text and the generation prompt: then its size is enough.
      if (prompt["prompt"].is_string() && prompt["bare"].is_string() &&
          prompt["prompt"].get<std::string>().starts_with(prompt["bare"].get<std::string>())) {
        prompt["bare"] = prompt["bare"].get<std::string>().size();
      }
      prompts[talk] = std::move(prompt);
    }
  }
  ExpectGolden("prompts_of_families.json", file.dump(1) + "\n");
}

}  // namespace
}  // namespace cairn::spans_families_test
