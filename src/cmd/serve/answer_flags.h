// The flags of `cairn serve` that say how answers are drawn where a request leaves it open, with
// llama-server's names.

#ifndef CAIRN_CMD_SERVE_ANSWER_FLAGS_H_
#define CAIRN_CMD_SERVE_ANSWER_FLAGS_H_

#include <string>

#include "base/result.h"
#include "cmd/serve/serve.h"

namespace cairn {

void AddAnswerFlags(CLI::App* serve, ServeOptions* options);

// What all answers must be, in GBNF, from --grammar or --json-schema or a file of either; empty:
// anything. kInvalidArgument: there are two of them, or it cannot be read.
Result<std::string> AnswerGrammarOf(const ServeOptions& options);

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_ANSWER_FLAGS_H_
