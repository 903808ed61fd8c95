// AnswerParser: takes a model's answer apart into reasoning, content and tool calls while it is
// written.
//
//   <think>Weather …</think>I look.<tool_call>{"name": "weather", "arguments": {"city": "Rome"}}…
//     kReasoning "Weather …" | kContent "I look." | kCallBegin "weather" | kCallArguments "{…}"

#ifndef CAIRN_CHAT_ANSWER_PARSER_H_
#define CAIRN_CHAT_ANSWER_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chat/chat_template.h"

namespace cairn {

struct AnswerPiece {
  enum class Kind : uint8_t { kReasoning, kContent, kCallBegin, kCallArguments };
  Kind kind = Kind::kContent;
  // Never empty. Of kCallBegin: the tool's name. The kCallArguments of a call, put together, are
  // the JSON text of an object.
  std::string text;
  size_t call = 0;  // the number of the call in its answer, from 0

  friend bool operator==(const AnswerPiece&, const AnswerPiece&) = default;
};

// One per answer; not thread-safe. Bytes pass through as they come: a piece may end inside a
// character when the text pushed did.
class AnswerParser {
 public:
  virtual ~AnswerParser() = default;

  // What can be told from the text so far; never half a tag.
  virtual std::vector<AnswerPiece> Push(std::string_view text) = 0;
  // The rest. Nothing may be pushed afterwards.
  virtual std::vector<AnswerPiece> Finish() = 0;
};

// How a family of models writes calls of tools; see calls_*.cc.
enum class CallFormat : uint8_t {
  kNone,
  kHermes,         // <tool_call>{"name": …, "arguments": {…}}</tool_call>
  kQwenXml,        // <tool_call><function=…><parameter=…>…</parameter></function></tool_call>
  kLfm2,           // <|tool_call_start|>[weather(city="Rome")]<|tool_call_end|>
  kLlamaJson,      // {"name": …, "parameters": {…}}, alone or behind <|python_tag|>
  kLlamaPythonic,  // [weather(city="Rome")], alone
  kMistral,        // [TOOL_CALLS][{…}], [TOOL_CALLS]weather[ARGS]{…}
  kGranite,        // <|tool_call|>[{…}]
  kHarmony,        // gpt-oss: channels, and so its reasoning too
};

// The format whose tags stand in a chat template's source; kNone when there are none. Any thread.
CallFormat DetectCallFormat(std::string_view template_source);

// What an answer is made of.
struct AnswerFormat {
  CallFormat calls = CallFormat::kNone;
  // The generation prompt has opened the reasoning already.
  bool starts_in_reasoning = false;
  // The OpenAI `tools` array; calls are looked for only when it offers some.
  std::string tools_json = {};
};

AnswerFormat FindAnswerFormat(const ChatTemplate& chat_template, std::string_view generation_prompt,
                              std::string tools_json);

// The tags of a format that may be control tokens. Their text must be in the answer that is
// parsed; that of other control tokens must not.
std::vector<std::string> TagsOf(const AnswerFormat& format);

// A call is given whole, when its end has come. What looks like one but does not parse, breaks off,
// or calls a tool that was not offered is content, byte for byte. White space before a call, and
// behind the last one at the end of the answer, is dropped.
std::unique_ptr<AnswerParser> MakeAnswerParser(const AnswerFormat& format);

// Reasoning in <think> tags and content, as ReasoningSplitter tells them apart; no calls.
std::unique_ptr<AnswerParser> MakeReasoningParser(bool starts_in_reasoning);

}  // namespace cairn

#endif  // CAIRN_CHAT_ANSWER_PARSER_H_
