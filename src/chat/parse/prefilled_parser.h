// The parser of an answer that goes on from a prefilled text: what that text opened (reasoning, a
// call) is still open where the answer begins.

#ifndef CAIRN_CHAT_PARSE_PREFILLED_PARSER_H_
#define CAIRN_CHAT_PARSE_PREFILLED_PARSER_H_

#include <memory>
#include <string_view>

#include "chat/parse/answer_parser.h"

namespace cairn {

// Gives out what comes behind `prefilled`, which the client knows; but a call that begins in it and
// ends behind it is given whole. An empty text: as MakeAnswerParser.
std::unique_ptr<AnswerParser> MakePrefilledParser(const AnswerFormat& format,
                                                  std::string_view prefilled);

}  // namespace cairn

#endif  // CAIRN_CHAT_PARSE_PREFILLED_PARSER_H_
