// AnswerParser: takes a model's answer apart into reasoning, content and tool calls while it is
// written.
//
//   <think>Weather …</think>I look.<tool_call>{"name": "weather", "arguments": {"city": "Rome"}}…
//     kReasoning "Weather …" | kContent "I look." | kCallBegin "weather" | kCallArguments "{…}"

#ifndef CAIRN_CHAT_PARSE_ANSWER_PARSER_H_
#define CAIRN_CHAT_PARSE_ANSWER_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chat/parse/reasoning_tags.h"
#include "chat/template/chat_template.h"

namespace cairn {

struct AnswerDelta {
  enum class Kind : uint8_t { kReasoning, kContent, kCallBegin, kCallArguments };
  Kind kind = Kind::kContent;
  // Never empty. Of kCallBegin: the tool's name. The kCallArguments of a call, put together, are
  // the JSON text of an object, unless the call broke off; see MakeAnswerParser.
  std::string text;
  size_t call = 0;  // the number of the call in its answer, from 0
  // Of kCallBegin: the id that the model gave the call, where its family gives any and it stood
  // before the arguments; else empty.
  std::string id = {};

  friend bool operator==(const AnswerDelta&, const AnswerDelta&) = default;
};

// One per answer; not thread-safe. Bytes pass through as they come: a piece may end inside a
// character when the text pushed did.
class AnswerParser {
 public:
  virtual ~AnswerParser() = default;

  // What can be told from the text so far; never half a tag.
  virtual std::vector<AnswerDelta> Push(std::string_view text) = 0;
  // The rest. Nothing may be pushed afterwards.
  virtual std::vector<AnswerDelta> Finish() = 0;
  // Texts so far that began like a call of a tool and are none, or broke off.
  virtual size_t broken_calls() const { return 0; }
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
  kMiniMaxM3,      // ]<]minimax[>[<tool_call>]<]minimax[>[<invoke name="…">…
  kLearned,        // as the template writes them: learned_calls.h
};

// The format whose tags stand in a chat template's source; kNone when there are none. Any thread.
CallFormat DetectCallFormat(std::string_view template_source);

// The format of a template's calls: learned, unless the family is one that writes more than its
// template shows, or the template shows no call. Any thread.
CallFormat CallFormatOf(const ChatTemplate& chat_template);

// What an answer is made of.
struct AnswerFormat {
  CallFormat calls = CallFormat::kNone;
  // The generation prompt has opened the reasoning already.
  bool starts_in_reasoning = false;
  // The OpenAI `tools` array; calls are looked for only when it offers some.
  std::string tools_json = {};
  // Of kLearned; else null.
  std::shared_ptr<const LearnedCalls> learned = {};
  // A call's arguments are given while they are written; see MakeAnswerParser.
  bool stream_arguments = false;
  // The tags that reasoning stands between. Harmony's parser knows its own.
  ReasoningTags reasoning = {};
};

AnswerFormat FindAnswerFormat(const ChatTemplate& chat_template, std::string_view generation_prompt,
                              std::string tools_json);

// The tags of a format that may be control tokens. Their text must be in the answer that is
// parsed; that of other control tokens must not.
std::vector<std::string> TagsOf(const AnswerFormat& format);

// What looks like a call but does not parse, breaks off, or calls a tool that was not offered is
// content, byte for byte. White space before a call, and behind the last one at the end of the
// answer, is dropped.
//
// Without `stream_arguments` a call is given when it is whole. With it, kCallBegin comes as soon as
// the name of an offered tool and the begin of its arguments are there, and kCallArguments as they
// are written: a string's text as it comes, where the syntax or the tool's schema says that it is
// one. Then what was given cannot become content any more:
// - A call that breaks off with the answer stays as far as it was given. Its arguments are the
//   beginning of a JSON object, never closed by us, so that nobody carries half a call out.
// - Arguments that turn out to be no JSON object end at the last byte that fits one. The rest is
//   content.
// Arguments that are whole make a call, with and without `stream_arguments`, whatever follows
// instead of its closing tags.
// Llama's, LFM2's and MiniMax M3's calls are given whole always.
std::unique_ptr<AnswerParser> MakeAnswerParser(const AnswerFormat& format);

// Reasoning in <think> tags and content, as ReasoningSplitter tells them apart; no calls.
std::unique_ptr<AnswerParser> MakeReasoningParser(bool starts_in_reasoning);

}  // namespace cairn

#endif  // CAIRN_CHAT_PARSE_ANSWER_PARSER_H_
