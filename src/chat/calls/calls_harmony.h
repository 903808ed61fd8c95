// gpt-oss writes its answers as messages in channels ("harmony"); calls are messages to a tool.
//
//   <|channel|>analysis<|message|>Weather …<|end|>
//   <|start|>assistant<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{…}
//   <|call|>
//     kReasoning "Weather …" | kCallBegin "weather" | kCallArguments "{…}"
//
// What stands in the channel `analysis` is reasoning; everything else to nobody is content. A
// message to somebody that is no call of an offered tool is content as it was written, its header
// included. Of all else no tag is ever content.

#ifndef CAIRN_CHAT_CALLS_CALLS_HARMONY_H_
#define CAIRN_CHAT_CALLS_CALLS_HARMONY_H_

#include <memory>
#include <span>
#include <string_view>

#include "chat/calls/calls_tools.h"
#include "chat/parse/answer_parser.h"

namespace cairn {

// What a message of the channel `analysis` begins and ends with.
inline constexpr std::string_view kAnalysisOpen = "<|channel|>analysis<|message|>";
inline constexpr std::string_view kAnalysisClose = "<|end|>";

// All of them.
std::span<const std::string_view> HarmonyTags();

// Whether a generation prompt ends inside an opened message of the channel `analysis`.
bool OpensAnalysis(std::string_view generation_prompt);

// `starts_in_reasoning`: see OpensAnalysis.
std::unique_ptr<AnswerParser> MakeHarmonyParser(OfferedTools tools, bool starts_in_reasoning,
                                                bool stream_arguments);

}  // namespace cairn

#endif  // CAIRN_CHAT_CALLS_CALLS_HARMONY_H_
