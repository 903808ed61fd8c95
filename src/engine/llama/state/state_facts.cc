#include "engine/llama/state/state_facts.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

namespace cairn {
namespace {

std::string Number(float value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.9g", static_cast<double>(value));  // every bit of it
  return text.data();
}

std::string YesOrNo(bool value) {
  return value ? "yes" : "no";
}

std::string Listed(const std::vector<float>& values) {
  std::string text;
  for (const float value : values) text += (text.empty() ? "" : ",") + Number(value);
  return text;
}

std::string Listed(const std::vector<std::pair<std::string, std::string>>& values) {
  std::string text;
  for (const auto& [pattern, type] : values) {
    text += (text.empty() ? "" : ",") + pattern + "=" + type;
  }
  return text;
}

// Sequences that share one buffer change the last bits of one another, and with a stream each, full
// states have another layout. A single sequence is alone either way.
std::string SlotLayout(const LlamaOptions& options) {
  if (options.slots == 1) return "one";
  return options.unified ? "in one buffer" : std::to_string(options.slots) + " streams";
}

void AppendRope(const LlamaOptions& options, StateFacts* facts) {
  const float scale = options.rope_scale > 0 ? 1.0F / options.rope_scale : options.rope_freq_scale;
  facts->insert(facts->end(), {{"rope_scaling", options.rope_scaling},
                               {"rope_freq_base", Number(options.rope_freq_base)},
                               {"rope_freq_scale", Number(scale)},
                               {"yarn_orig_ctx", std::to_string(options.yarn_orig_ctx)},
                               {"yarn_ext_factor", Number(options.yarn_ext_factor)},
                               {"yarn_attn_factor", Number(options.yarn_attn_factor)},
                               {"yarn_beta_slow", Number(options.yarn_beta_slow)},
                               {"yarn_beta_fast", Number(options.yarn_beta_fast)}});
}

void AppendPlaces(const LlamaOptions& options, StateFacts* facts) {
  const std::string layers = options.gpu_layers < 0 ? "all" : std::to_string(options.gpu_layers);
  facts->insert(facts->end(), {{"gpu_layers", layers},
                               {"split_mode", options.split_mode},
                               {"tensor_split", Listed(options.tensor_split)},
                               {"main_gpu", std::to_string(options.main_gpu)},
                               {"repack", YesOrNo(options.repack)},
                               {"kv_offload", YesOrNo(options.kv_offload)},
                               {"op_offload", YesOrNo(options.op_offload)},
                               {"override_tensors", Listed(options.override_tensors)},
                               {"cpu_moe_layers", std::to_string(options.cpu_moe_layers)}});
}

}  // namespace

StateFacts FactsOf(const LlamaOptions& options) {
  const size_t chunk_tokens = std::min(options.ubatch_tokens, options.batch_tokens);
  StateFacts facts = {
      {"cache_type_k", options.cache_type_k},       {"cache_type_v", options.cache_type_v},
      {"flash_attention", options.flash_attention}, {"swa_full", YesOrNo(options.swa_full)},
      {"sequences", SlotLayout(options)},           {"piece_tokens", std::to_string(chunk_tokens)}};
  AppendRope(options, &facts);
  AppendPlaces(options, &facts);
  // Without them the facts are those of earlier versions, and so are the states on disk.
  if (!options.kv_overrides.empty()) {
    std::string list;
    for (const std::string& text : options.kv_overrides) list += (list.empty() ? "" : ",") + text;
    facts.emplace_back("kv_overrides", list);
  }
  return facts;
}

std::string FactsText(const StateFacts& facts) {
  std::string text;
  for (const auto& [name, value] : facts) {
    text += name + "=";
    for (const char c : value) {
      if (c == '\n') {
        text += "\\n";
      } else if (c == '\r') {
        text += "\\r";
      } else if (c == '\\') {
        text += "\\\\";
      } else {
        text += c;
      }
    }
    text += "\n";
  }
  return text;
}

}  // namespace cairn
