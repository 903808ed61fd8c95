#include "engine/llama_sampler.h"

#include <llama.h>

#include <utility>
#include <vector>

#include "base/check.h"

namespace cairn {
namespace {

struct SamplerDeleter {
  void operator()(llama_sampler* sampler) const { llama_sampler_free(sampler); }
};

class LlamaSampler final : public Sampler {
 public:
  LlamaSampler(const SamplingParams& params, size_t vocab_size) : candidates_(vocab_size) {
    chain_.reset(llama_sampler_chain_init(llama_sampler_chain_default_params()));
    CHECK(chain_ != nullptr);
    const auto n_vocab = static_cast<int32_t>(vocab_size);
    if (!params.logit_bias.empty()) {
      std::vector<llama_logit_bias> bias;
      for (const auto& [token, value] : params.logit_bias) bias.push_back({token, value});
      Add(llama_sampler_init_logit_bias(n_vocab, static_cast<int32_t>(bias.size()), bias.data()));
    }
    const bool penalises = params.repeat_penalty != 1.0F || params.presence_penalty != 0.0F ||
                           params.frequency_penalty != 0.0F;
    if (penalises && params.repeat_last_n != 0) {
      Add(llama_sampler_init_penalties(n_vocab, params.repeat_last_n, params.repeat_penalty,
                                       params.frequency_penalty, params.presence_penalty));
    }
    if (params.temperature <= 0) {
      Add(llama_sampler_init_greedy());
      return;
    }
    // The order llama-server has by default.
    if (params.top_k > 0) Add(llama_sampler_init_top_k(params.top_k));
    if (params.top_p < 1.0F) Add(llama_sampler_init_top_p(params.top_p, 1));
    if (params.min_p > 0.0F) Add(llama_sampler_init_min_p(params.min_p, 1));
    Add(llama_sampler_init_temp(params.temperature));
    Add(llama_sampler_init_dist(params.seed));
  }

  Token Sample(std::span<const float> logits) override {
    CHECK(logits.size() == candidates_.size());
    for (size_t i = 0; i < logits.size(); ++i) {
      candidates_[i] = {static_cast<llama_token>(i), logits[i], 0.0F};
    }
    llama_token_data_array array = {candidates_.data(), candidates_.size(), -1, false};
    llama_sampler_apply(chain_.get(), &array);
    const bool chosen = array.selected >= 0 && array.selected < static_cast<int64_t>(array.size);
    const Token token = array.data[chosen ? array.selected : 0].id;
    llama_sampler_accept(chain_.get(), token);
    return token;
  }

 private:
  // The chain owns what is added to it.
  void Add(llama_sampler* sampler) {
    if (sampler != nullptr) llama_sampler_chain_add(chain_.get(), sampler);
  }

  std::unique_ptr<llama_sampler, SamplerDeleter> chain_;
  std::vector<llama_token_data> candidates_;
};

}  // namespace

std::unique_ptr<Sampler> MakeLlamaSampler(const SamplingParams& params, size_t vocab_size) {
  return std::make_unique<LlamaSampler>(params, vocab_size);
}

}  // namespace cairn
