// AnswerParser: splits a model's answer into reasoning, content and tool calls while it is
// generated.
//
//   <think>Weather …</think>I look.<tool_call>{"name": "weather", "arguments": {"city": "Rome"}}…
//     kReasoning "Weather …" | kContent "I look." | kCallBegin "weather" | kCallArguments "{…}"

#ifndef CAIRN_CHAT_PARSE_ANSWER_PARSER_H_
#define CAIRN_CHAT_PARSE_ANSWER_PARSER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chat/learn/reasoning_tags.h"
#include "chat/template/chat_template.h"
#include "chat/text/answer_delta.h"
#include "chat/text/tools.h"

namespace cairn {

// The syntaxes in which model families write tool calls; see calls_*.cc.
enum class CallFormat : uint8_t {
  kNone,
  kHermes,         // <tool_call>{"name": …, "arguments": {…}}</tool_call>
  kQwenXml,        // <tool_call><function=…><parameter=…>…</parameter></function></tool_call>
  kLfm2,           // <|tool_call_start|>[weather(city="Rome")]<|tool_call_end|>
  kLlamaJson,      // {"name": …, "parameters": {…}}, alone or behind <|python_tag|>
  kLlamaPythonic,  // [weather(city="Rome")], alone
  kMistral,        // [TOOL_CALLS][{…}], [TOOL_CALLS]weather[ARGS]{…}
  kGranite,        // <|tool_call|>[{…}]
  kHarmony,        // gpt-oss: channels, which also hold its reasoning
  kMiniMaxM3,      // ]<]minimax[>[<tool_call>]<]minimax[>[<invoke name="…">…
  kLearned,        // as the template writes them: learned_calls.h
};

// Returns the format whose tags are in a chat template's source; kNone if there are none. Any
// thread.
CallFormat DetectCallFormat(std::string_view template_source);

// Returns the format of a template's calls. It is kLearned, unless the family writes more than its
// template shows, or the template shows no call. Any thread.
CallFormat CallFormatOf(const ChatTemplate& chat_template);

// The format of the answers to one request.
struct AnswerFormat {
  CallFormat calls = CallFormat::kNone;
  // The generation prompt has opened the reasoning already.
  bool starts_in_reasoning = false;
  // Calls are parsed only if there are tools.
  Tools tools = {};
  // Set with kLearned; otherwise null.
  std::shared_ptr<const LearnedCalls> learned = {};
  // A call's arguments are emitted while they are generated; see MakeAnswerParser.
  bool stream_arguments = false;
  // The tags around reasoning. Harmony's parser has its own.
  ReasoningTags reasoning = {};
};

AnswerFormat FindAnswerFormat(const ChatTemplate& chat_template, std::string_view generation_prompt,
                              Tools tools);

// Returns the tags of a format that may be control tokens. The parsed answer must include their
// text, and must not include that of other control tokens.
std::vector<std::string> TagsOf(const AnswerFormat& format);

// Returns the texts that calls of the format's tools may begin with; empty if it has none.
std::vector<std::string> CallBeginsOf(const AnswerFormat& format);

// Text that looks like a call but does not parse, ends early, or calls a tool that was not offered
// is content, byte for byte. White space before a call, and after the last one at the end of the
// answer, is dropped.
//
// In a learned syntax, and in gpt-oss', a call is also recognized where its text plainly means one
// but deviates: arguments that are almost JSON (json_mender.h), other names of an object's members,
// no arguments at all, several objects between two tags, JSON instead of pairs, tags in the
// singular or plural. Arguments that are JSON stay as they are, byte for byte; others are mended.
// Where a template only names a syntax (named_calls.h), none of that is a call but Mistral's.
//
// Without `stream_arguments` a call is emitted when it is complete. With it, kCallBegin is emitted
// once the name of an offered tool and the beginning of its arguments have arrived, and
// kCallArguments as they are generated: a string's text as it arrives, if the syntax or the tool's
// schema says that it is a string. Emitted parts cannot become content later:
// - A call that the answer's end cuts off stays as far as it was emitted. Its arguments are the
//   beginning of a JSON object, which we do not close, so that no client executes half a call.
// - Arguments that turn out not to be a JSON object end at the last byte that fits one. The rest is
//   content.
//
// Complete arguments make a call, with and without `stream_arguments`, whatever follows instead of
// the closing tags.
//
// The calls of Llama, LFM2 and MiniMax M3, and those in a syntax that is only named, are always
// emitted complete, with the tags that close them. A key that was written twice is then there once.
std::unique_ptr<AnswerParser> MakeAnswerParser(const AnswerFormat& format);

// Returns a parser for reasoning in <think> tags and content, split by ReasoningSplitter; no calls.
std::unique_ptr<AnswerParser> MakeReasoningParser(bool starts_in_reasoning);

}  // namespace cairn

#endif  // CAIRN_CHAT_PARSE_ANSWER_PARSER_H_
