// ShowReasoning: how clients see a model's reasoning, by llama-server's --reasoning-format.

#ifndef CAIRN_CHAT_PARSE_SHOWN_REASONING_H_
#define CAIRN_CHAT_PARSE_SHOWN_REASONING_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "chat/parse/answer_parser.h"

namespace cairn {

enum class ShownReasoning : uint8_t {
  kApart,      // as reasoning, apart from the content
  kInContent,  // in its tags, as a part of the content
  kBoth,       // both
};

// Returns what "auto", "deepseek", "none" and "deepseek-legacy" mean; nullopt for other words.
std::optional<ShownReasoning> ParseShownReasoning(std::string_view name);

// Returns a parser of answers in `format` that shows reasoning so; `parser` parses them apart. In
// the content, reasoning has its own text and a line break beside each tag; the opening tag is left
// out where the prompt has it already.
std::unique_ptr<AnswerParser> ShowReasoning(ShownReasoning shown, const AnswerFormat& format,
                                            std::unique_ptr<AnswerParser> parser);

// Returns a parser for which all text is content, byte for byte.
std::unique_ptr<AnswerParser> MakePlainParser();

}  // namespace cairn

#endif  // CAIRN_CHAT_PARSE_SHOWN_REASONING_H_
