#include "api/request/settings_json.h"

#include <cmath>

namespace cairn {
namespace {

Json BiasJson(const SamplingParams& sampling) {
  Json list = Json::array();
  for (const auto& [token, bias] : sampling.logit_bias) {
    // JSON has no infinity; llama-server shows it as null.
    list.push_back({{"token", token}, {"bias", std::isinf(bias) ? Json() : Json(bias)}});
  }
  return list;
}

void AddDry(const DryParams& dry, Json* json) {
  (*json)["dry_multiplier"] = dry.multiplier;
  (*json)["dry_base"] = dry.base;
  (*json)["dry_allowed_length"] = dry.allowed_length;
  (*json)["dry_penalty_last_n"] = dry.last_n;
  (*json)["dry_sequence_breakers"] = dry.breakers;
}

}  // namespace

Json SettingsJson(const GenerationParams& params) {
  const SamplingParams& sampling = params.sampling;
  const Json tokens_max = params.tokens_max == SIZE_MAX ? Json(-1) : Json(params.tokens_max);
  Json json = {{"seed", sampling.seed},
               {"temperature", sampling.temperature},
               {"dynatemp_range", sampling.dynatemp_range},
               {"dynatemp_exponent", sampling.dynatemp_exponent},
               {"top_k", sampling.top_k},
               {"top_p", sampling.top_p},
               {"min_p", sampling.min_p},
               {"top_n_sigma", sampling.top_n_sigma},
               {"xtc_probability", sampling.xtc_probability},
               {"xtc_threshold", sampling.xtc_threshold},
               {"typical_p", sampling.typical_p},
               {"repeat_last_n", sampling.repeat_last_n},
               {"repeat_penalty", sampling.repeat_penalty},
               {"presence_penalty", sampling.presence_penalty},
               {"frequency_penalty", sampling.frequency_penalty},
               {"mirostat", sampling.mirostat},
               {"mirostat_tau", sampling.mirostat_tau},
               {"mirostat_eta", sampling.mirostat_eta},
               {"adaptive_target", sampling.adaptive_target},
               {"adaptive_decay", sampling.adaptive_decay},
               {"min_keep", sampling.min_keep},
               {"max_tokens", tokens_max},
               {"n_predict", tokens_max},
               {"n_keep", params.keep_tokens},
               {"ignore_eos", params.ignore_end},
               {"stop", params.stop_texts},
               {"n_probs", params.logprobs.value_or(0)},
               {"logit_bias", BiasJson(sampling)}};
  AddDry(sampling.dry, &json);
  json["samplers"] = Json::array();
  for (const SamplingStep step : sampling.order) {
    json["samplers"].push_back(SamplingStepName(step));
  }
  return json;
}

}  // namespace cairn
