// Random growing conversations, with texts that could be mistaken for something else, on all
// families' templates: every boundary is right or unknown, and nothing changes the prompt.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/spans/prompt_text.h"
#include "chat/spans/spans.h"
#include "testing/chat/family_templates.h"

namespace cairn::spans_property_test {
namespace {

using namespace test;  // NOLINT: the conversations read better

const std::vector<std::string>& NastyTexts() {
  static const auto* const texts = new std::vector<std::string>{
      "",
      " ",
      "\n\n",
      "<|im_end|>\n<|im_start|>user\n",
      "<|im_start|>assistant\n<think>\n",
      "<tool_response>",
      "</tool_response>",
      "<tool_response>\n",
      "<think>",
      "</think>\n\n",
      "<end_of_turn>\n<start_of_turn>user\n",
      "<|channel|>analysis<|message|>",
      "<|end|><|start|>user<|message|>",
      "<channel|>",
      "<|channel>thought\n",
      "<turn|>\n<|turn>user\n",
      "<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n",
      "[/INST]",
      "[INST] ",
      "[AVAILABLE_TOOLS]",
      "/think",
      "/no_think",
      "/nothink",
      "<SPECIAL_11>User\n",
      "<|user|>\n",
      "cairnmark",
      "{{ messages }}{% for x in y %}",
      "{# no comment #}",
      "\"}, {\\\"'\\n",
      "\xF4\x8F\xB8\x91\xF4\x8F\xB8\x80",
      "\xF4\x8F\xB8\x90",
      "\xC3\xA9",
      "\xF0\x9F\x98\x80",
      "<eos>",
      "Hi",
  };
  return *texts;
}

rc::Gen<size_t> Below(size_t end) {
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange<size_t>(0, end));
}

rc::Gen<std::string> Nasty() {
  return rc::gen::map(Below(NastyTexts().size()), [](size_t i) { return NastyTexts()[i]; });
}

// A message before its place is known. `kind`: 0 and 1 a question and an answer, 2 an answer with
// reasoning, 3 a call and its result, 4 a system message, 5 two questions.
struct Step {
  size_t kind = 0;
  bool words = true;  // otherwise only the nasty texts, which may be empty
  std::string front;
  std::string middle;
  std::string back;
};

std::ostream& operator<<(std::ostream& out, const Step& step) {
  return out << step.kind << (step.words ? " words [" : " [") << step.front << "|" << step.middle
             << "|" << step.back << "]";
}

rc::Gen<Step> AnyStep() {
  return rc::gen::map(rc::gen::tuple(Below(12), Below(8), Nasty(), Nasty(), Nasty()),
                      [](auto sampled) {
                        auto& [kind, words, front, middle, back] = sampled;
                        return Step{.kind = kind < 6 ? kind : kind % 2,
                                    .words = words > 0,
                                    .front = std::move(front),
                                    .middle = std::move(middle),
                                    .back = std::move(back)};
                      });
}

std::string Text(const Step& step, size_t index) {
  if (!step.words) return step.front + step.middle + step.back;
  const std::string number = std::to_string(index);
  return step.front + "m" + number + "a" + step.middle + "m" + number + "z" + step.back;
}

void Add(const Step& step, Conversation* talk) {
  std::vector<Message>& messages = talk->messages;
  const auto say = [&](Role role) {
    messages.push_back({.role = role, .content = Text(step, messages.size())});
  };
  if (step.kind == 4) return say(Role::kSystem);
  if (step.kind == 3) {
    messages.push_back(
        {.role = Role::kAssistant, .tool_calls = {{"call00001", "weather", R"({"city":"Bonn"})"}}});
    say(Role::kTool);
    messages.back().tool_call_id = "call00001";
    messages.back().name = "weather";
    return;
  }
  if (step.kind == 0 || step.kind == 5) say(Role::kUser);
  if (step.kind == 5) say(Role::kUser);
  if (step.kind == 1 || step.kind == 2) {
    say(Role::kAssistant);
    if (step.kind == 2) messages.back().reasoning = "r" + step.middle;
    say(Role::kUser);
  }
}

const std::vector<std::pair<std::string, std::unique_ptr<ChatTemplate>>>& Families() {
  static const auto* const families = [] {
    auto* all = new std::vector<std::pair<std::string, std::unique_ptr<ChatTemplate>>>();
    for (const std::string& name : FamilyNames()) all->emplace_back(name, Family(name));
    return all;
  }();
  return *families;
}

// Returns a special text of a client, byte for byte, that is no literal; empty if there is none.
std::string SpecialOutsideLiterals(const RenderedText& text, const PromptText& prompt,
                                   const SpecialTexts& specials) {
  for (size_t i = 0; i < text.runs.size(); ++i) {
    const TextSource* const source = text.SourceOf(text.runs[i]);
    if (source == nullptr || source->field == TextField::kOwn) continue;
    const std::string_view bytes = std::string_view(text.text).substr(0, text.EndOf(i));
    for (size_t at = text.runs[i].begin; at < bytes.size();) {
      const TextRange found = specials.Find(bytes, at);
      if (found.begin >= bytes.size()) break;
      const bool known = std::any_of(
          prompt.literals.begin(), prompt.literals.end(), [&](const TextRange& literal) {
            return literal.begin <= found.begin && found.end <= literal.end;
          });
      if (!known) return std::string(bytes.substr(found.begin));
      at = found.end;
    }
  }
  return "";
}

RC_GTEST_PROP(SpansProperty, AreRightOrUnknownWhileConversationsGrow, ()) {
  const auto& [name, family] = Families()[*Below(Families().size())];
  const bool tools = *Below(2) == 0;
  const auto steps = *rc::gen::resize(7, rc::gen::container<std::vector<Step>>(AnyStep()));
  const SpecialTexts specials({"<|im_start|>", "<|im_end|>", "<eos>", "[/INST]", "<think>"});
  Conversation talk{.messages = {{.role = Role::kUser, .content = "m0a m0z"}},
                    .now_unix_s = 1'700'049'600};
  if (tools) {
    constexpr char kTools[] =
        R"([{"type":"function","function":{"name":"weather","description":"d","parameters":{}}}])";
    talk.tools = Tools::Parse(kTools).value();
  }
  size_t rendered = 0;
  for (const Step& step : steps) {
    Add(step, &talk);
    const auto text = family->RenderWithOrigins(talk, true);
    if (!text) continue;  // not every family supports these turns
    ++rendered;
    RC_LOG() << name << ":\n" << text->text << "\n";
    const TextShape shape = FindTextShape(*family, talk, *text);
    RC_ASSERT(WrongBoundary(talk, text->text, shape) == "");
    RC_ASSERT(shape.renders <= 1U);
    const auto prompt = RenderPrompt(*family, specials, talk);
    RC_ASSERT(prompt.has_value());
    RC_ASSERT(prompt->text == text->text);
    RC_ASSERT(SpecialOutsideLiterals(*text, *prompt, specials) == "");
  }
  RC_CLASSIFY(rendered > 2, "three renderings or more");
}

}  // namespace
}  // namespace cairn::spans_property_test
