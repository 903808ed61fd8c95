#include "api/request/answer_options.h"

#include <limits>
#include <string>
#include <utility>

namespace cairn {
namespace {

constexpr int64_t kAnswersMax = 128;     // OpenAI's limit
constexpr int64_t kTopLogprobsMax = 20;  // OpenAI's limit
// llama-server has no limit; a whole vocabulary would be too much
constexpr int64_t kNativeProbsMax = 1000;
constexpr size_t kAdaptersMax = 256;
constexpr double kScaleMax = 1e6;

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
}

void ReadNativeProbs(FieldReader* fields, AnswerOptions* options) {
  int64_t top = 0;
  fields->Integer("n_probs", 0, kNativeProbsMax, &top);
  if (top > 0) options->logprobs = static_cast<size_t>(top);
  fields->Bool("post_sampling_probs", &options->sampled_probs);
}

// `best_of` is a field of OpenAI's completions. A stream cannot take back what it sent.
void ReadAnswers(FieldReader* fields, LogprobsField dialect, AnswerOptions* options) {
  int64_t wanted = 1;
  for (const char* name : {"n", "n_cmpl"}) fields->Integer(name, 1, kAnswersMax, &wanted);
  int64_t best_of = wanted;
  fields->Integer("best_of", 1, kAnswersMax, &best_of);
  options->answers = static_cast<size_t>(best_of);
  if (best_of == wanted) return;
  const Json* const stream = fields->Find("stream");
  const bool streams = stream != nullptr && *stream == Json(true);
  if (dialect != LogprobsField::kLegacy || streams) {
    return fields->Fail("best_of",
                        "absent or equal to 'n': only /v1/completions chooses the best answers, "
                        "and not in streams");
  }
  if (best_of < wanted) return fields->Fail("best_of", "at least 'n'");
  options->answers_kept = static_cast<size_t>(wanted);
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
  ReadAnswers(&fields, logprobs, &options);
  if (logprobs == LogprobsField::kChat) ReadChatLogprobs(&fields, &options.logprobs);
  if (logprobs == LogprobsField::kLegacy) ReadLegacyLogprobs(&fields, &options.logprobs);
  if (logprobs == LogprobsField::kNative) ReadNativeProbs(&fields, &options);
  int64_t slot = -1;
  fields.Integer("id_slot", -1, std::numeric_limits<int32_t>::max(), &slot);
  if (slot >= 0) options.slot = static_cast<size_t>(slot);
  fields.Bool("return_progress", &options.progress);
  fields.Bool("timings_per_token", &options.timings_per_token);
  // Other programs may send a level or null; only a switch means this.
  const Json* verbose = fields.Find("verbose");
  if (verbose != nullptr && verbose->is_boolean()) options.verbose = verbose->get<bool>();
  const auto explain = ParseExplain(body);
  if (!explain) return tl::unexpected(explain.error());
  options.explain = *explain;
  auto cache = ParseCacheHints(body);
  if (!cache) return tl::unexpected(cache.error());
  options.cache = *std::move(cache);
  if (const Json* adapters = fields.Find("lora")) {
    auto scales = ParseAdapterScales(*adapters, "lora");
    if (!scales) return tl::unexpected(scales.error());
    options.adapters = *std::move(scales);
  }
  if (fields.error()) return tl::unexpected(*fields.error());
  return options;
}

ApiResult<std::vector<AdapterScale>> ParseAdapterScales(const Json& list, const std::string& name) {
  const std::string expected = "a list of at most " + std::to_string(kAdaptersMax) +
                               " objects such as {\"id\": 0, \"scale\": 1.0}";
  if (!list.is_array() || list.size() > kAdaptersMax)
    return tl::unexpected(FieldError(name, expected));
  std::vector<AdapterScale> scales;
  for (const Json& item : list) {
    if (!item.is_object()) return tl::unexpected(FieldError(name, expected));
    FieldReader fields(item, name + "[" + std::to_string(scales.size()) + "].");
    int64_t id = -1;
    fields.Integer("id", 0, std::numeric_limits<int32_t>::max(), &id);
    if (id < 0) fields.Fail("id", "the number of an adapter");
    AdapterScale scale;
    fields.Number("scale", -kScaleMax, kScaleMax, &scale.scale);
    if (fields.Find("scale") == nullptr) fields.Fail("scale", "a number");
    if (fields.error()) return tl::unexpected(*fields.error());
    scale.adapter = static_cast<size_t>(id);
    scales.push_back(scale);
  }
  return scales;
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
  // They decide which answers are kept.
  if (options.answers_kept > 0 && !options.logprobs) request->params.logprobs = 0;
  request->params.sampled_logprobs = options.sampled_probs;
}

}  // namespace cairn
