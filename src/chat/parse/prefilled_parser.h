// The parser of an answer that continues a prefilled text: reasoning or a call that the text opened
// is still open where the answer begins.

#ifndef CAIRN_CHAT_PARSE_PREFILLED_PARSER_H_
#define CAIRN_CHAT_PARSE_PREFILLED_PARSER_H_

#include <memory>
#include <string_view>

#include "chat/parse/answer_parser.h"

namespace cairn {

// Emits what comes after `prefilled`, which the client has; but a call that begins in it and ends
// after it is emitted completely. With an empty text, as MakeAnswerParser.
std::unique_ptr<AnswerParser> MakePrefilledParser(const AnswerFormat& format,
                                                  std::string_view prefilled);

}  // namespace cairn

#endif  // CAIRN_CHAT_PARSE_PREFILLED_PARSER_H_
