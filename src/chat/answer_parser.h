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

// Reasoning in <think> tags and content, as ReasoningSplitter tells them apart; no calls.
std::unique_ptr<AnswerParser> MakeReasoningParser(bool starts_in_reasoning);

}  // namespace cairn

#endif  // CAIRN_CHAT_ANSWER_PARSER_H_
