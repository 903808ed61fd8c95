// The flags of `cairn serve` for default sampling settings, with llama-server's names.

#ifndef CAIRN_CMD_SERVE_ANSWER_FLAGS_H_
#define CAIRN_CMD_SERVE_ANSWER_FLAGS_H_

#include <string>

#include "base/result.h"
#include "cmd/serve/base/serve_options.h"

namespace CLI {
class App;
}

namespace cairn {

void AddAnswerFlags(CLI::App* serve, ServeOptions* options);

// Returns the template's variables of the flags, as the text of a JSON object: those of --reasoning
// on and of --reasoning-preserve, overridden by --chat-template-kwargs. Empty if there are none.
std::string TemplateKwargsOf(const ServeOptions& options);

// Returns `text` with \n, \r, \t, \\, \', \" and \xHH replaced by what they stand for.
std::string Unescaped(const std::string& text);

// Returns the GBNF that all answers must match, from --grammar or --json-schema or a file of
// either; empty if there is none. kInvalidArgument if there are two of them, or one cannot be
// parsed.
Result<std::string> AnswerGrammarOf(const ServeOptions& options);

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_ANSWER_FLAGS_H_
