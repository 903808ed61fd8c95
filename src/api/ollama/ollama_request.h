// Parses the bodies of Ollama's POST /api/chat and POST /api/generate.
//
//   messages[].thinking     -> reasoning of the assistant
//   messages[].images       -> images before the text
//   messages[].tool_calls   -> calls, whose arguments are objects; calls without ids get some
//   messages[].tool_name    -> the call that a result belongs to
//   think                   -> whether and how much the model reasons
//   format                  -> the grammar of the answer's text: "json" or a JSON schema
//   options                 -> sampling, limits and stop texts
//   keep_alive              -> only 0 without a prompt means something: unload the model
//
// The size of a context (num_ctx) and the options of Ollama's own engine are fixed when the server
// starts: their types are checked, and they change nothing.

#ifndef CAIRN_API_OLLAMA_OLLAMA_REQUEST_H_
#define CAIRN_API_OLLAMA_OLLAMA_REQUEST_H_

#include <string>

#include "api/api_error.h"
#include "api/grammar/grammar_cache.h"
#include "api/json.h"
#include "api/media/media_rules.h"
#include "api/request/chat_request.h"
#include "base/tokens.h"

namespace cairn {

struct OllamaRequest {
  std::string model;  // as the client wrote it
  bool stream = true;
  // Nothing is asked: the model is only to be loaded, or to be unloaded.
  bool is_empty = false;
  bool unloads = false;
  // The conversation and how to answer it. A prompt of /api/generate is a user message in it.
  ChatRequest chat = {};
  bool thinks = false;  // reasoning was asked for

  // These are of /api/generate; with any of them the prompt is not the template's alone.
  bool raw = false;         // the prompt is the text itself
  std::string suffix = {};  // the answer goes between the prompt and this
  Tokens context = {};      // those of earlier turns, as an answer returned them
};

// Every error is a 400 that names the field. `cache` may be null.
ApiResult<OllamaRequest> ParseOllamaChat(const Json& body, const GenerationParams& defaults,
                                         const MediaRules& rules = {},
                                         GrammarCache* cache = nullptr);
ApiResult<OllamaRequest> ParseOllamaGenerate(const Json& body, const GenerationParams& defaults,
                                             const MediaRules& rules = {},
                                             GrammarCache* cache = nullptr);

// Checks `keep_alive`: seconds as a number, or a time such as "5m"; negative ones mean for ever.
// Returns whether it is 0.
ApiResult<bool> ReadKeepAlive(const Json& body);

// Parses `options`; an absent object has none.
ApiResult<GenerationParams> ReadOllamaOptions(const Json& body, const GenerationParams& defaults);

}  // namespace cairn

#endif  // CAIRN_API_OLLAMA_OLLAMA_REQUEST_H_
