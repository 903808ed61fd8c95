// Ollama's view of the served model: its names, GET /api/version, /api/tags, /api/ps and POST
// /api/show, and the requests that would change which models there are.
//
//   qwen            --alias, or the model's file
//   qwen:latest     the same model, as Ollama's lists have it: every name there has a tag
//
// Threads: any.

#ifndef CAIRN_API_OLLAMA_OLLAMA_MODELS_H_
#define CAIRN_API_OLLAMA_OLLAMA_MODELS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "api/api_error.h"
#include "api/json.h"
#include "api/llama_server/infill.h"
#include "api/llama_server/native.h"
#include "api/service/chat_service.h"

namespace cairn {

// Returns {"error": "text"}.
std::string OllamaErrorBody(const ApiError& error);

// Whether `path` is one of Ollama's, so that its errors have Ollama's form.
bool IsOllamaPath(std::string_view path);

// Returns a time as Ollama writes it: "2026-11-30T18:04:05Z".
std::string OllamaTime(int64_t unix_s);

// Returns `name` with the tag "latest" unless it has a tag, as Ollama's lists have it.
std::string WithOllamaTag(std::string_view name);
// Returns `name` without the tag "latest".
std::string_view WithoutLatest(std::string_view name);

// Returns the name in `model`, or in its older form `name`. A 400 if there is none.
ApiResult<std::string> ReadOllamaModel(const Json& body);
// The same of a body that has not been parsed.
ApiResult<std::string> OllamaModelIn(std::string_view body);
// The error of a name that no model has.
ApiError NoOllamaModel(std::string_view name, std::string_view there);
// Checks a name that a client sent. A server behind a router takes every name, because the router
// has chosen it by that.
ApiResult<void> CheckOllamaModel(const ServedModel& served, std::string_view name);

// A model whose state is not known to its process, or to a router that has not started it.
struct OllamaDetails {
  std::string name = {};
  std::string family = {};
  std::string parameter_size = {};      // "7.6B"; empty if unknown
  std::string quantization_level = {};  // "Q4_K_M"; empty if unknown
  uint64_t bytes = 0;
  int64_t modified_unix_s = 0;
};
// Returns an entry of /api/tags.
Json OllamaEntry(const OllamaDetails& details);

std::string OllamaVersionBody();
std::string OllamaTagsBody(const ChatService& service, const ServedModel& served);
// An empty list while the model sleeps.
std::string OllamaPsBody(const ChatService& service, const ServedModel& served);

// The parts of a server that say what its model can do.
struct OllamaAbilities {
  bool embeds = false;  // POST /api/embed answers
  const InfillOptions* infill = nullptr;
  const GenerationParams* defaults = nullptr;
};
ApiResult<std::string> OllamaShowBody(const ChatService& service, const ServedModel& served,
                                      const OllamaAbilities& abilities, std::string_view body);

// Whether the model's template has a place for reasoning.
bool Thinks(const ChatService& service);

// POST /api/pull: success if the model is `there`. A 404 gets what to do instead.
ApiResult<std::string> OllamaPullBody(ApiResult<void> there);
// The answer to requests that make, copy, send or remove models.
ApiError NoOllamaChange(std::string_view path);

}  // namespace cairn

#endif  // CAIRN_API_OLLAMA_OLLAMA_MODELS_H_
