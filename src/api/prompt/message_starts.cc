#include "api/prompt/message_starts.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/prompt/prompt_tokens.h"
#include "chat/spans/prompt_text.h"

namespace cairn {
namespace {

// Any fixed time: a template may print the date.
constexpr int64_t kNowUnixS = 1'700'000'000;

struct SpecialText {
  TextRange range;
  Token token = 0;
};

std::vector<Conversation> Probes() {
  const Message system{.role = Role::kSystem, .content = "Probe one."};
  const Message question{.role = Role::kUser, .content = "Probe two."};
  const Message answer{.role = Role::kAssistant, .content = "Probe three."};
  const Message next{.role = Role::kUser, .content = "Probe four."};
  const Message call{.role = Role::kAssistant,
                     .tool_calls = {{.id = "call00001", .name = "probe", .arguments = "{}"}}};
  const Message result{
      .role = Role::kTool, .content = "Probe five.", .tool_call_id = "call00001", .name = "probe"};
  const auto tools =
      Tools::Parse(R"([{"type":"function","function":{"name":"probe","description":"A probe.",)"
                   R"("parameters":{"type":"object","properties":{}}}}])");
  return {{.messages = {question, answer, next}, .now_unix_s = kNowUnixS},
          {.messages = {system, question, answer, next}, .now_unix_s = kNowUnixS},
          {.messages = {question, call, result}, .tools = *tools, .now_unix_s = kNowUnixS}};
}

// The special texts of a prompt that are one token each.
std::vector<SpecialText> SpecialsIn(const Engine& engine, const SpecialTexts& specials,
                                    std::string_view text) {
  std::vector<SpecialText> found;
  for (size_t from = 0; from < text.size();) {
    const TextRange range = specials.Find(text, from);
    if (range.begin == range.end) break;
    const std::string_view special = text.substr(range.begin, range.end - range.begin);
    const auto tokens = engine.Tokenize(special, /*add_special=*/false, /*parse_special=*/true);
    if (tokens && tokens->size() == 1) found.push_back({range, tokens->front()});
    from = range.end;
  }
  return found;
}

void AddOnce(Token token, Tokens* starts) {
  if (std::find(starts->begin(), starts->end(), token) == starts->end()) starts->push_back(token);
}

// The special token with which the generation prompt begins.
void AddOfGenerationPrompt(const TextShape& shape, const std::vector<SpecialText>& specials,
                           Tokens* starts) {
  for (const SpecialText& special : specials) {
    if (special.range.begin == shape.last_message_end) AddOnce(special.token, starts);
  }
}

// The last special token before the text of each message, where none of `starts` stands between it
// and the message before.
void AddOfMessages(const TextShape& shape, const std::vector<SpecialText>& specials,
                   Tokens* starts) {
  size_t previous = 0;
  for (const TextSpan& span : shape.spans) {
    std::optional<Token> last;
    bool has_start = false;
    for (const SpecialText& special : specials) {
      if (special.range.begin < previous || special.range.begin > span.begin) continue;
      last = special.token;
      has_start =
          has_start || std::find(starts->begin(), starts->end(), special.token) != starts->end();
    }
    if (!has_start && last) AddOnce(*last, starts);
    previous = span.begin + 1;
  }
}

}  // namespace

Tokens FindMessageStarts(const Engine& engine, const ChatTemplate& chat_template) {
  const SpecialTexts specials = FindSpecialTexts(engine);
  Tokens starts;
  for (const Conversation& probe : Probes()) {
    // Not every template knows tools or a system message.
    const auto prompt = RenderPrompt(chat_template, specials, probe);
    if (!prompt) continue;
    const std::vector<SpecialText> in_text = SpecialsIn(engine, specials, prompt->text);
    AddOfGenerationPrompt(prompt->shape, in_text, &starts);
    AddOfMessages(prompt->shape, in_text, &starts);
  }
  std::sort(starts.begin(), starts.end());
  return starts;
}

std::string FindReplyOpening(const SpecialTexts& specials, const ChatTemplate& chat_template) {
  if (chat_template.reasoning_tags().learned) return "";
  Conversation asked{.messages = {{.role = Role::kUser, .content = "Probe one."}},
                     .now_unix_s = kNowUnixS};
  const auto prompt = RenderPrompt(chat_template, specials, asked);
  if (!prompt) return "";
  const std::string opening = prompt->text.substr(prompt->shape.last_message_end);
  asked.messages.push_back({.role = Role::kAssistant, .content = "Probe two."});
  asked.messages.push_back({.role = Role::kUser, .content = "Probe three."});
  const auto next = RenderPrompt(chat_template, specials, asked);
  if (!next || !next->text.starts_with(prompt->text + "Probe two.")) return "";
  return opening;
}

}  // namespace cairn
