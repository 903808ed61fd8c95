// gpt-oss writes its answers as messages in channels ("harmony"); calls are messages addressed to a
// tool.
//
//   <|channel|>analysis<|message|>Weather …<|end|>
//   <|start|>assistant<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{…}
//   <|call|>
//     kReasoning "Weather …" | kCallBegin "weather" | kCallArguments "{…}"
//
// Messages in the channel `analysis` are reasoning; all other messages without a recipient are
// content. A message with a recipient that is not a call of an offered tool is content as it was
// written, including its header. In all other cases no tag is ever content.

#ifndef CAIRN_CHAT_CALLS_CALLS_HARMONY_H_
#define CAIRN_CHAT_CALLS_CALLS_HARMONY_H_

#include <memory>
#include <span>
#include <string_view>

#include "chat/calls/calls_tools.h"
#include "chat/text/answer_delta.h"

namespace cairn {

// The texts around a message of the channel `analysis`.
inline constexpr std::string_view kAnalysisOpen = "<|channel|>analysis<|message|>";
inline constexpr std::string_view kAnalysisClose = "<|end|>";

// Returns all tags.
std::span<const std::string_view> HarmonyTags();

// Whether a generation prompt ends inside an open message of the channel `analysis`.
bool OpensAnalysis(std::string_view generation_prompt);

// `starts_in_reasoning`: see OpensAnalysis.
std::unique_ptr<AnswerParser> MakeHarmonyParser(OfferedTools tools, bool starts_in_reasoning,
                                                bool stream_arguments);

}  // namespace cairn

#endif  // CAIRN_CHAT_CALLS_CALLS_HARMONY_H_
