// Prompts of made-up conversations in the built-in templates: messages begin at the reported
// positions, and a client's text never becomes a control token.

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "chat/spans/prompt_text.h"
#include "chat/spans/spans.h"
#include "chat/template/builtin_templates.h"
#include "fuzz/input.h"

namespace cairn {
namespace {

constexpr char kTools[] =
    R"([{"type":"function","function":{"name":"weather","description":"d","parameters":{}}}])";

const std::vector<std::string>& SpecialWords() {
  static const auto* const words = new std::vector<std::string>{
      "<|im_start|>",      "<|im_end|>", "<eos>",    "<start_of_turn>",     "<end_of_turn>",
      "<|eot_id|>",        "<think>",    "</think>", "<|start_header_id|>", "<|end_header_id|>",
      "<|begin_of_text|>", "<bos>"};
  return *words;
}

struct Family {
  std::string name;
  std::unique_ptr<ChatTemplate> chat_template;
};

const std::vector<Family>& Families() {
  static const auto* const families = [] {
    auto* all = new std::vector<Family>();
    for (const std::string& name : BuiltinTemplateNames()) {
      auto parsed = ChatTemplate::Parse(std::string(*BuiltinTemplate(name)), "<bos>", "<eos>");
      CHECK(parsed.has_value());
      all->push_back({name, *std::move(parsed)});
    }
    return all;
  }();
  return *families;
}

// Returns a word that only this message has, at its front or its end.
std::string Word(size_t index, char end) {
  return "m" + std::to_string(index) + end + "m";
}

// A line per message: its first byte selects the role and the wording, the rest is its text.
Conversation MakeConversation(fuzz::FuzzInput* input) {
  Conversation talk;
  talk.now_unix_s = 1'700'049'600;
  if (input->Flag()) talk.tools = Tools::Parse(kTools).value();
  while (!input->empty() && talk.messages.size() < 8) {
    const uint8_t kind = input->Byte();
    constexpr std::array<Role, 6> kRoles = {Role::kUser,      Role::kAssistant, Role::kUser,
                                            Role::kAssistant, Role::kSystem,    Role::kTool};
    Message message;
    message.role = kRoles[kind % kRoles.size()];
    message.content = input->ClientText();
    if ((kind & 0x40U) == 0) {
      const size_t index = talk.messages.size();
      message.content = Word(index, 'a') + message.content + Word(index, 'z');
    }
    if (message.role == Role::kAssistant && (kind & 0x20U) != 0) {
      message.reasoning = input->ClientText();
    }
    if (message.role == Role::kTool) {
      talk.messages.push_back(
          {.role = Role::kAssistant, .tool_calls = {{"call00001", "weather", "{\"city\":\"B\"}"}}});
      message.tool_call_id = "call00001";
      message.name = "weather";
    }
    talk.messages.push_back(std::move(message));
  }
  return talk;
}

// Returns the position of `word`; npos if it is missing or occurs more than once.
size_t OnlyPlace(std::string_view text, std::string_view word) {
  const size_t at = text.find(word);
  return at != std::string_view::npos && text.find(word, at + 1) == std::string_view::npos
             ? at
             : std::string_view::npos;
}

void CheckShape(const Conversation& talk, const std::string& text, const TextShape& shape) {
  CHECK(shape.header_end <= shape.last_message_end);
  CHECK(shape.last_message_end <= text.size());
  CHECK(shape.renders <= 1);
  size_t at = 0;
  size_t next_message = 0;
  for (const TextSpan& span : shape.spans) {
    CHECK(span.begin >= at && span.begin <= span.end && span.end <= text.size());
    CHECK(span.message_index >= next_message && span.message_index < talk.messages.size());
    const Message& message = talk.messages[span.message_index];
    CHECK(span.role == message.role);
    at = span.begin;
    next_message = span.message_index + 1;
    const TextRange& said = shape.said[span.message_index];
    CHECK(said.begin == said.end || (said.begin >= span.begin && said.end <= span.end));
    for (const char end : {'a', 'z'}) {
      const size_t place = OnlyPlace(text, Word(span.message_index, end));
      if (message.content.find(Word(span.message_index, end)) == std::string::npos) continue;
      if (place == std::string_view::npos) continue;
      CHECK(place >= span.begin && place < span.end);
    }
  }
}

// Returns the ranges of a prompt that a tokenizer turns into control tokens.
std::vector<TextRange> ControlTokens(const PromptText& prompt, const SpecialTexts& specials) {
  std::vector<TextRange> found;
  size_t at = 0;
  for (const PromptPiece& piece : CutAtLiterals(prompt, specials, {0, prompt.text.size()})) {
    CHECK(piece.range.begin == at && piece.range.end > at);
    at = piece.range.end;
    if (!piece.parse_special) continue;
    const std::string_view text = std::string_view(prompt.text).substr(0, piece.range.end);
    TextRange next = specials.Find(text, piece.range.begin);
    for (; next.begin < text.size(); next = specials.Find(text, next.end)) found.push_back(next);
  }
  CHECK(at == prompt.text.size());
  return found;
}

void CheckPrompt(const ChatTemplate& chat_template, const SpecialTexts& specials,
                 const Conversation& talk, const PromptText& prompt) {
  CheckShape(talk, prompt.text, prompt.shape);
  size_t at = 0;
  for (const TextRange& literal : prompt.literals) {
    CHECK(literal.begin >= at && literal.begin < literal.end);
    CHECK(literal.end <= prompt.text.size());
    at = literal.end;
  }
  // Not a byte of a control token is a client's.
  const auto rendered = chat_template.RenderWithOrigins(talk, true);
  CHECK(rendered.has_value() && rendered->text == prompt.text);
  size_t run = 0;
  for (const TextRange& token : ControlTokens(prompt, specials)) {
    while (rendered->EndOf(run) <= token.begin) ++run;
    for (size_t i = run; i < rendered->runs.size() && rendered->runs[i].begin < token.end; ++i) {
      const TextSource* const source = rendered->SourceOf(rendered->runs[i]);
      CHECK(source == nullptr || !source->is_said());
    }
  }
}

}  // namespace
}  // namespace cairn

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cairn;  // NOLINT: the target begins here
  fuzz::FuzzInput input(data, size);
  const ChatTemplate& family = *Families()[input.Below(Families().size())].chat_template;
  static const SpecialTexts* const kSpecials = new SpecialTexts(SpecialWords());
  const Conversation talk = MakeConversation(&input);
  const auto prompt = RenderPrompt(family, *kSpecials, talk);
  if (!prompt) return 0;
  CheckPrompt(family, *kSpecials, talk, *prompt);
  return 0;
}
