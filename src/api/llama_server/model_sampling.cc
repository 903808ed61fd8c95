#include "api/llama_server/model_sampling.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "api/json.h"
#include "api/request/chat_request.h"
#include "api/request/settings_json.h"

namespace cairn {
namespace {

// The fields of requests for the names in files.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kFields = {
    {{"sequence", "samplers"},
     {"top_k", "top_k"},
     {"top_p", "top_p"},
     {"min_p", "min_p"},
     {"xtc_probability", "xtc_probability"},
     {"xtc_threshold", "xtc_threshold"},
     {"temp", "temperature"},
     {"penalty_last_n", "repeat_last_n"},
     {"penalty_repeat", "repeat_penalty"},
     {"mirostat", "mirostat"},
     {"mirostat_tau", "mirostat_tau"},
     {"mirostat_eta", "mirostat_eta"}}};

// A number, or for a sequence "top_k;temperature" the list of its steps. Null if it is neither.
Json ValueOf(std::string_view field, std::string_view text) {
  if (field != "samplers") {
    Json number = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    return number.is_number() ? number : Json();
  }
  Json steps = Json::array();
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(';', begin), text.size());
    steps.push_back(std::string(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return steps;
}

}  // namespace

std::string UseModelSampling(const ModelInfo& info, GenerationParams* defaults) {
  const Json usual = SettingsJson(GenerationParams());
  const Json chosen = SettingsJson(*defaults);
  std::string used;
  for (const auto& [name, text] : info.sampling) {
    const auto field = std::find_if(kFields.begin(), kFields.end(),
                                    [&](const auto& pair) { return pair.first == name; });
    if (field == kFields.end() || chosen[field->second] != usual[field->second]) continue;
    const Json value = ValueOf(field->second, text);
    if (value.is_null()) continue;
    Json body = Json::object();
    body[field->second] = value;
    auto read = ParseGenerationParams(body, *defaults);
    if (!read) continue;
    *defaults = *std::move(read);
    used += (used.empty() ? "" : ", ") + std::string(field->second) + " " + text;
  }
  return used.empty() ? "" : "sampling as the model's file recommends: " + used;
}

}  // namespace cairn
