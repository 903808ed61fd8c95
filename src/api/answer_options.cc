#include "api/answer_options.h"

#include <limits>
#include <string>

namespace cairn {
namespace {

constexpr int64_t kAnswersMax = 128;     // OpenAI's limit
constexpr int64_t kTopLogprobsMax = 20;  // OpenAI's limit
// llama-server has no limit; a whole vocabulary would be too much
constexpr int64_t kNativeProbsMax = 1000;

void ReadChatLogprobs(FieldReader* fields, std::optional<size_t>* logprobs) {
  bool wanted = false;
  fields->Bool("logprobs", &wanted);
  int64_t top = 0;
  fields->Integer("top_logprobs", 0, kTopLogprobsMax, &top);
  if (wanted) *logprobs = static_cast<size_t>(top);
  if (!wanted && top > 0) fields->Fail("top_logprobs", "absent, or 'logprobs' must be true");
}

void ReadLegacyLogprobs(FieldReader* fields, std::optional<size_t>* logprobs) {
  const Json* value = fields->Find("logprobs");
  if (value == nullptr || *value == Json(false)) return;
  int64_t top = 0;
  fields->Integer("logprobs", 0, kTopLogprobsMax, &top);
  *logprobs = static_cast<size_t>(top);
  bool echo = false;
  fields->Bool("echo", &echo);
  if (echo) fields->Fail("logprobs", "absent with 'echo': prompt tokens have no logprobs");
}

void ReadNativeProbs(FieldReader* fields, std::optional<size_t>* logprobs) {
  int64_t top = 0;
  fields->Integer("n_probs", 0, kNativeProbsMax, &top);
  if (top > 0) *logprobs = static_cast<size_t>(top);
  bool after_sampling = false;
  fields->Bool("post_sampling_probs", &after_sampling);
  if (after_sampling) {
    fields->Fail("post_sampling_probs",
                 "false: this server reports the model's probabilities, before sampling");
  }
}

void ReadAnswers(FieldReader* fields, size_t* answers) {
  auto wanted = static_cast<int64_t>(*answers);
  for (const char* name : {"n", "n_cmpl"}) fields->Integer(name, 1, kAnswersMax, &wanted);
  *answers = static_cast<size_t>(wanted);
  int64_t best_of = wanted;
  fields->Integer("best_of", 1, std::numeric_limits<int32_t>::max(), &best_of);
  if (best_of != wanted)
    fields->Fail("best_of", "absent or equal to 'n': all answers are returned");
}

void ReadCacheHints(FieldReader* fields) {
  std::string unused;
  fields->String("prompt_cache_key", &unused);
  fields->String("prompt_cache_retention", &unused);
}

}  // namespace

ApiResult<AnswerOptions> ParseAnswerOptions(const Json& body, LogprobsField logprobs) {
  AnswerOptions options;
  FieldReader fields(body, "");
  if (const Json* stream = fields.Find("stream_options")) {
    if (!stream->is_object()) return tl::unexpected(FieldError("stream_options", "an object"));
    FieldReader inner(*stream, "stream_options.");
    inner.Bool("include_usage", &options.include_usage);
    if (inner.error()) return tl::unexpected(*inner.error());
  }
  ReadAnswers(&fields, &options.answers);
  if (logprobs == LogprobsField::kChat) ReadChatLogprobs(&fields, &options.logprobs);
  if (logprobs == LogprobsField::kLegacy) ReadLegacyLogprobs(&fields, &options.logprobs);
  if (logprobs == LogprobsField::kNative) ReadNativeProbs(&fields, &options.logprobs);
  int64_t slot = -1;
  fields.Integer("id_slot", -1, std::numeric_limits<int32_t>::max(), &slot);
  if (slot >= 0) options.slot = static_cast<size_t>(slot);
  fields.Bool("return_progress", &options.progress);
  fields.Bool("timings_per_token", &options.timings_per_token);
  const auto explain = ParseExplain(body);
  if (!explain) return tl::unexpected(explain.error());
  options.explain = *explain;
  ReadCacheHints(&fields);
  if (fields.error()) return tl::unexpected(*fields.error());
  return options;
}

ApiResult<bool> ParseExplain(const Json& body) {
  bool explain = false;
  const Json* cairn = FieldReader(body, "").Find("cairn");
  if (cairn == nullptr) return explain;
  if (!cairn->is_object()) return tl::unexpected(FieldError("cairn", "an object"));
  FieldReader inner(*cairn, "cairn.");
  inner.Bool("explain", &explain);
  if (inner.error()) return tl::unexpected(*inner.error());
  return explain;
}

void ApplyAnswerOptions(const AnswerOptions& options, GenerationRequest* request) {
  request->answers = options.answers;
  request->slot = options.slot;
  request->params.logprobs = options.logprobs;
}

}  // namespace cairn
