#include "engine/llama/state/state_facts.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace cairn {
namespace {

using Change = std::function<void(LlamaOptions*)>;

std::string TextWith(const Change& change) {
  LlamaOptions options;
  change(&options);
  return FactsText(FactsOf(options));
}

const std::vector<std::pair<const char*, Change>>& ChangesThatMoveBits() {
  static const std::vector<std::pair<const char*, Change>> changes = {
      {"cache_type_k", [](LlamaOptions* o) { o->cache_type_k = "q8_0"; }},
      {"cache_type_v", [](LlamaOptions* o) { o->cache_type_v = "q8_0"; }},
      {"flash_attention", [](LlamaOptions* o) { o->flash_attention = "off"; }},
      {"swa_full", [](LlamaOptions* o) { o->swa_full = true; }},
      {"slots", [](LlamaOptions* o) { o->slots = 3; }},
      {"slots, a stream each",
       [](LlamaOptions* o) {
         o->slots = 3;
         o->unified = false;
       }},
      {"other slots, a stream each",
       [](LlamaOptions* o) {
         o->slots = 4;
         o->unified = false;
       }},
      {"ubatch_tokens", [](LlamaOptions* o) { o->ubatch_tokens = 256; }},
      {"batch_tokens below ubatch_tokens", [](LlamaOptions* o) { o->batch_tokens = 128; }},
      {"rope_scaling", [](LlamaOptions* o) { o->rope_scaling = "yarn"; }},
      {"rope_scale", [](LlamaOptions* o) { o->rope_scale = 4; }},
      {"rope_freq_base", [](LlamaOptions* o) { o->rope_freq_base = 1e6F; }},
      {"rope_freq_scale", [](LlamaOptions* o) { o->rope_freq_scale = 0.5F; }},
      {"yarn_orig_ctx", [](LlamaOptions* o) { o->yarn_orig_ctx = 8192; }},
      {"yarn_ext_factor", [](LlamaOptions* o) { o->yarn_ext_factor = 1; }},
      {"yarn_attn_factor", [](LlamaOptions* o) { o->yarn_attn_factor = 2; }},
      {"yarn_beta_slow", [](LlamaOptions* o) { o->yarn_beta_slow = 3; }},
      {"yarn_beta_fast", [](LlamaOptions* o) { o->yarn_beta_fast = 4; }},
      {"gpu_layers", [](LlamaOptions* o) { o->gpu_layers = 7; }},
      {"split_mode", [](LlamaOptions* o) { o->split_mode = "row"; }},
      {"tensor_split", [](LlamaOptions* o) { o->tensor_split = {3, 1}; }},
      {"main_gpu", [](LlamaOptions* o) { o->main_gpu = 1; }},
      {"repack", [](LlamaOptions* o) { o->repack = false; }},
      {"kv_offload", [](LlamaOptions* o) { o->kv_offload = false; }},
      {"op_offload", [](LlamaOptions* o) { o->op_offload = false; }},
      {"override_tensors", [](LlamaOptions* o) { o->override_tensors = {{"exps", "CPU"}}; }},
      {"cpu_moe_layers", [](LlamaOptions* o) { o->cpu_moe_layers = 2; }},
  };
  return changes;
}

TEST(StateFacts, ChangeWithEveryOptionThatMovesBits) {
  std::set<std::string> texts = {TextWith([](LlamaOptions*) {})};
  for (const auto& [name, change] : ChangesThatMoveBits()) {
    EXPECT_TRUE(texts.insert(TextWith(change)).second) << name;
  }
}

TEST(StateFacts, StayWithOptionsThatMoveNone) {
  const std::vector<std::pair<const char*, Change>> changes = {
      {"model_path", [](LlamaOptions* o) { o->model_path = "/elsewhere/model.gguf"; }},
      {"use_mmap", [](LlamaOptions* o) { o->use_mmap = false; }},
      {"use_mlock", [](LlamaOptions* o) { o->use_mlock = true; }},
      {"check_tensors", [](LlamaOptions* o) { o->check_tensors = true; }},
      {"context_tokens", [](LlamaOptions* o) { o->context_tokens = 8192; }},
      {"a stream for the only slot", [](LlamaOptions* o) { o->unified = false; }},
      {"threads_batch", [](LlamaOptions* o) { o->threads_batch = 3; }},
      {"batch_tokens above ubatch_tokens", [](LlamaOptions* o) { o->batch_tokens = 1024; }},
      {"grid_tokens", [](LlamaOptions* o) { o->grid_tokens = 128; }},
      {"other ways to say all layers", [](LlamaOptions* o) { o->gpu_layers = -2; }},
  };
  const std::string usual = TextWith([](LlamaOptions*) {});
  for (const auto& [name, change] : changes) EXPECT_EQ(TextWith(change), usual) << name;
}

TEST(StateFacts, StayWhenMoreSlotsShareABuffer) {
  EXPECT_EQ(TextWith([](LlamaOptions* o) { o->slots = 2; }),
            TextWith([](LlamaOptions* o) { o->slots = 4; }));
}

TEST(StateFacts, TakeAScaleForTheInverseOfAFrequencyScale) {
  EXPECT_EQ(TextWith([](LlamaOptions* o) { o->rope_scale = 4; }),
            TextWith([](LlamaOptions* o) { o->rope_freq_scale = 0.25F; }));
}

TEST(StateFacts, TellNumbersApartThatDifferInTheirLastBit) {
  EXPECT_NE(TextWith([](LlamaOptions* o) { o->rope_freq_base = 1e6F; }),
            TextWith([](LlamaOptions* o) { o->rope_freq_base = 1e6F + 0.0625F; }));
}

TEST(StateFacts, AreALineEachWhateverAFileSays) {
  EXPECT_EQ(FactsText({{"a", "1"}, {"b", "x\ny=\\n\r"}}), "a=1\nb=x\\ny=\\\\n\\r\n");
  EXPECT_NE(FactsText({{"a", "1\nb=2"}}), FactsText({{"a", "1"}, {"b", "2"}}));
}

}  // namespace
}  // namespace cairn
