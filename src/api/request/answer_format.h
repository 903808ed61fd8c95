// The form of an answer that a request asks for, as a grammar: OpenAI's `response_format`,
// llama-server's `json_schema` and `grammar`, and vLLM's `structured_outputs` and `guided_json`,
// `guided_regex`, `guided_choice`, `guided_grammar`.

#ifndef CAIRN_API_REQUEST_ANSWER_FORMAT_H_
#define CAIRN_API_REQUEST_ANSWER_FORMAT_H_

#include <string>

#include "api/api_error.h"
#include "api/grammar/grammar_cache.h"
#include "api/grammar/json_schema.h"
#include "api/json.h"

namespace cairn {

// Returns the GBNF that the answer's content must match, with a rule "root", from those fields of a
// request's body, of which one may be there; empty if none is. What it does not enforce is added to
// `loosened`. Both pointers may be null. Any thread. Every error is a 400 that names the field.
ApiResult<std::string> ParseAnswerGrammar(const Json& body, Loosened* loosened = nullptr,
                                          GrammarCache* cache = nullptr);

// The same for `response_format`, Responses' `text.format` or Messages' `output_config.format`;
// `field` names it in errors.
ApiResult<std::string> ParseAnswerFormat(const Json& format, const std::string& field,
                                         Loosened* loosened, GrammarCache* cache);

}  // namespace cairn

#endif  // CAIRN_API_REQUEST_ANSWER_FORMAT_H_
