#include "engine/llama/model/llama_sampler.h"

#include <llama.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "base/check.h"

namespace cairn {
namespace {

// The number of tokens from which mirostat 1 estimates, in llama-server and in the paper.
constexpr int32_t kMirostatTokens = 100;

// Candidates before the infill step, which is slow with more; top_k may be off.
constexpr int32_t kInfillCandidatesMax = 256;

struct SamplerDeleter {
  void operator()(llama_sampler* sampler) const { llama_sampler_free(sampler); }
};

// A chain that begins by keeping this many candidates at most gets only those.
constexpr size_t kHighestMax = 256;

// DRY settings that are kept; the chats of one client share one.
constexpr size_t kDryMax = 8;

using SamplerPtr = std::unique_ptr<llama_sampler, SamplerDeleter>;

class LlamaSampler final : public Sampler {
 public:
  LlamaSampler(const SamplingParams& params, SampledModel model)
      : model_(std::move(model)), candidates_(model_.vocab_size) {
    chain_.reset(llama_sampler_chain_init(llama_sampler_chain_default_params()));
    CHECK(chain_ != nullptr);
    if (params.grammar != nullptr) {
      CHECK(model_.texts != nullptr && model_.grammars != nullptr);
      matcher_.emplace(model_.grammars->Of(params.grammar));
    }
    AddBias(params);
    const bool greedy = params.temperature <= 0;
    is_greedy_ = greedy;
    const bool mirostat = params.mirostat != 0 && !greedy;
    for (const SamplingStep step : params.order) {
      const bool last = step == SamplingStep::kTemperature;
      if (step == SamplingStep::kPenalties) AddPenalties(params);
      if (step == SamplingStep::kDry) AddDry(params.dry);
      if (!greedy && !mirostat && !last) AddCut(step, params);
      if (!greedy && !mirostat && last) AddTemperature(params);
    }
    if (mirostat) AddMirostat(params);
    if (greedy) {
      CutFirst(1);
      Add(llama_sampler_init_greedy());
    }
    if (!greedy && !mirostat) AddChoice(params);
  }

  Token Sample(std::span<const float> logits) override {
    CHECK(logits.size() == model_.vocab_size);
    if (highest_ > 0) {
      FillWithHighest(logits);
    } else {
      FillWithAll(logits);
    }
    Token token = Sample();
    // Most sampled tokens are allowed, and checking one is cheaper than checking all.
    if (matcher_ && !Allows(token)) {
      FillWithAllowed(logits);
      if (candidates_.empty()) return kNoToken;
      token = Sample();
    }
    llama_sampler_accept(chain_.get(), token);
    if (matcher_ && !model_.texts->ends[token]) matcher_->Accept(TextOf(token));
    return token;
  }

  bool Accept(Token token) override {
    const std::string_view text = matcher_ ? TextOf(token) : "";
    if (!text.empty() && !matcher_->AcceptAfterCut(text)) return false;
    llama_sampler_accept(chain_.get(), token);
    return true;
  }

  std::vector<Candidate> Candidates() const override {
    std::vector<Candidate> found;
    if (left_ > 0 && is_greedy_) return {{chosen_, 1}};
    double sum = 0;
    float highest = -std::numeric_limits<float>::infinity();
    for (size_t i = 0; i < left_; ++i) highest = std::max(highest, candidates_[i].logit);
    for (size_t i = 0; i < left_; ++i) {
      const float weight = std::exp(candidates_[i].logit - highest);
      found.push_back({candidates_[i].id, weight});
      sum += weight;
    }
    for (Candidate& one : found) {
      one.probability = static_cast<float>(one.probability / sum);
    }
    std::sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
      return a.probability > b.probability || (a.probability == b.probability && a.token < b.token);
    });
    return found;
  }

 private:
  void FillWithAll(std::span<const float> logits) {
    candidates_.resize(logits.size());
    for (size_t i = 0; i < logits.size(); ++i) candidates_[i] = CandidateOf(i, logits);
  }

  // The chain would keep these and no others. For a vocabulary of 50,000 tokens, making all
  // candidates took most of the time of a sample. Where logits are equal, the lowest tokens stay.
  void FillWithHighest(std::span<const float> logits) {
    const auto is_higher = [](const llama_token_data& a, const llama_token_data& b) {
      return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
    };
    const size_t first = std::min(highest_, logits.size());
    candidates_.resize(first);
    for (size_t i = 0; i < first; ++i) candidates_[i] = CandidateOf(i, logits);
    // A heap with the lowest in front.
    std::make_heap(candidates_.begin(), candidates_.end(), is_higher);
    for (size_t i = first; i < logits.size(); ++i) {
      const llama_token_data one = CandidateOf(i, logits);
      if (!(one.logit > candidates_.front().logit)) continue;
      std::pop_heap(candidates_.begin(), candidates_.end(), is_higher);
      candidates_.back() = one;
      std::push_heap(candidates_.begin(), candidates_.end(), is_higher);
    }
    std::sort(candidates_.begin(), candidates_.end(), is_higher);
  }

  void FillWithAllowed(std::span<const float> logits) {
    allowed_.assign(logits.size(), false);
    matcher_->AllowedPlainly(model_.texts->trie, &allowed_);
    KeepAllowed(logits);
    if (HasChoice()) return;
    // Only odd forms are allowed, or a bias leaves no other.
    matcher_->Allowed(model_.texts->trie, &allowed_);
    KeepAllowed(logits);
  }

  // Leaves only allowed candidates; those that end the answer where it may end.
  void KeepAllowed(std::span<const float> logits) {
    for (const auto& [tag, text] : model_.tags) {
      if (Allows(tag)) allowed_[static_cast<size_t>(tag)] = true;
    }
    const bool may_end = matcher_->MayEnd();
    candidates_.clear();
    for (size_t i = 0; i < logits.size(); ++i) {
      const bool is_kept = allowed_[i] || (may_end && model_.texts->ends[i]);
      if (is_kept) candidates_.push_back(CandidateOf(i, logits));
    }
  }

  bool HasChoice() const {
    return std::any_of(candidates_.begin(), candidates_.end(),
                       [](const llama_token_data& one) { return std::isfinite(one.logit); });
  }

  llama_token_data CandidateOf(size_t token, std::span<const float> logits) const {
    const float logit = bias_.empty() ? logits[token] : logits[token] + bias_[token];
    return {static_cast<Token>(token), logit, 0.0F};
  }

  Token Sample() {
    llama_token_data_array array = {candidates_.data(), candidates_.size(), -1, false};
    llama_sampler_apply(chain_.get(), &array);
    const bool chosen = array.selected >= 0 && array.selected < static_cast<int64_t>(array.size);
    // Steps sort and cut the candidates where they are.
    left_ = array.data == candidates_.data() ? array.size : 0;
    chosen_ = array.data[chosen ? array.selected : 0].id;
    return chosen_;
  }

  bool Allows(Token token) {
    if (model_.texts->ends[token]) return matcher_->MayEnd();
    return matcher_->Allows(TextOf(token));
  }

  // Returns the text of a token as the grammar sees it.
  std::string_view TextOf(Token token) const {
    const std::string& text = model_.texts->texts[token];
    if (!text.empty()) return text;
    for (const auto& [tag, tag_text] : model_.tags) {
      if (tag == token) return tag_text;
    }
    return text;
  }

  // Called before a step that keeps the `highest` candidates is added. What comes after it, or
  // before, if anything does, sees the same as without.
  void CutFirst(size_t highest) {
    if (llama_sampler_chain_n(chain_.get()) == 0 && highest <= kHighestMax) highest_ = highest;
  }

  // The chain owns the samplers added to it.
  void Add(llama_sampler* sampler) {
    if (sampler != nullptr) llama_sampler_chain_add(chain_.get(), sampler);
  }

  int32_t vocab_size() const { return static_cast<int32_t>(model_.vocab_size); }

  // libllama allocates for `last_n` tokens, so the context's size limits it.
  int32_t LookBack(int32_t last_n) const {
    const auto context = static_cast<int32_t>(model_.context_tokens);
    return last_n < 0 ? context : std::min(last_n, context);
  }

  // Does not use libllama's step, which after a grammar searches all pairs for each candidate.
  void AddBias(const SamplingParams& params) {
    if (params.logit_bias.empty()) return;
    bias_.resize(model_.vocab_size);
    for (const auto& [token, value] : params.logit_bias) {
      if (token >= 0 && token < vocab_size()) bias_[static_cast<size_t>(token)] += value;
    }
  }

  void AddPenalties(const SamplingParams& params) {
    const bool penalises = params.repeat_penalty != 1.0F || params.presence_penalty != 0.0F ||
                           params.frequency_penalty != 0.0F;
    if (!penalises || params.repeat_last_n == 0) return;
    Add(llama_sampler_init_penalties(vocab_size(), LookBack(params.repeat_last_n),
                                     params.repeat_penalty, params.frequency_penalty,
                                     params.presence_penalty));
  }

  void AddDry(const DryParams& dry) {
    if (dry.multiplier == 0.0F || dry.base < 1.0F || dry.last_n == 0) return;
    Add(model_.dry->Make(model_.vocab, dry, LookBack(dry.last_n)));
  }

  void AddCut(SamplingStep step, const SamplingParams& params) {
    const auto min_keep = static_cast<size_t>(params.min_keep);
    if (step == SamplingStep::kInfill) AddInfill();
    if (step == SamplingStep::kTopNSigma && params.top_n_sigma > 0) {
      Add(llama_sampler_init_top_n_sigma(params.top_n_sigma));
    }
    if (step == SamplingStep::kTopK && params.top_k > 0) {
      const int32_t kept = std::max(params.top_k, params.min_keep);
      CutFirst(static_cast<size_t>(kept));
      Add(llama_sampler_init_top_k(kept));
    }
    if (step == SamplingStep::kTypicalP && params.typical_p < 1.0F) {
      Add(llama_sampler_init_typical(params.typical_p, min_keep));
    }
    if (step == SamplingStep::kTopP && params.top_p < 1.0F) {
      Add(llama_sampler_init_top_p(params.top_p, std::max<size_t>(min_keep, 1)));
    }
    if (step == SamplingStep::kMinP && params.min_p > 0.0F) {
      Add(llama_sampler_init_min_p(params.min_p, std::max<size_t>(min_keep, 1)));
    }
    if (step == SamplingStep::kXtc && params.xtc_probability > 0.0F) {
      Add(llama_sampler_init_xtc(params.xtc_probability, params.xtc_threshold, min_keep,
                                 params.seed));
    }
  }

  // The infill step compares all candidates with each other, and ends an answer by a token that
  // must exist.
  void AddInfill() {
    if (llama_vocab_eot(model_.vocab) < 0 && llama_vocab_eos(model_.vocab) < 0) return;
    CutFirst(kInfillCandidatesMax);
    Add(llama_sampler_init_top_k(kInfillCandidatesMax));
    Add(llama_sampler_init_infill(model_.vocab));
  }

  // Adds the end of the chain, which samples the token.
  void AddChoice(const SamplingParams& params) {
    const bool adapts = std::find(params.order.begin(), params.order.end(),
                                  SamplingStep::kAdaptiveP) != params.order.end();
    if (!adapts) return Add(llama_sampler_init_dist(params.seed));
    Add(llama_sampler_init_adaptive_p(params.adaptive_target, params.adaptive_decay, params.seed));
  }

  void AddTemperature(const SamplingParams& params) {
    if (params.dynatemp_range > 0) {
      return Add(llama_sampler_init_temp_ext(params.temperature, params.dynatemp_range,
                                             params.dynatemp_exponent));
    }
    Add(llama_sampler_init_temp(params.temperature));
  }

  void AddMirostat(const SamplingParams& params) {
    AddTemperature(params);
    if (params.mirostat == 1) {
      return Add(llama_sampler_init_mirostat(vocab_size(), params.seed, params.mirostat_tau,
                                             params.mirostat_eta, kMirostatTokens));
    }
    Add(llama_sampler_init_mirostat_v2(params.seed, params.mirostat_tau, params.mirostat_eta));
  }

  const SampledModel model_;
  SamplerPtr chain_;
  std::vector<llama_token_data> candidates_;
  std::vector<bool> allowed_;  // by token; kept for its memory
  size_t left_ = 0;            // of them, after the last Sample
  size_t highest_ = 0;         // the chain begins by keeping these; 0: it does not
  Token chosen_ = 0;
  bool is_greedy_ = false;
  std::vector<float> bias_;  // for each token; empty if there is none
  std::optional<GrammarMatcher> matcher_;
};

}  // namespace

struct DrySamplers::Made {
  DryParams params;
  int32_t last_n = 0;
  SamplerPtr sampler;
};

DrySamplers::DrySamplers() = default;
DrySamplers::~DrySamplers() = default;

llama_sampler* DrySamplers::Make(const llama_vocab* vocab, const DryParams& dry, int32_t last_n) {
  const auto same = std::find_if(samplers_.begin(), samplers_.end(), [&](const Made& made) {
    return made.last_n == last_n && made.params == dry;
  });
  if (same != samplers_.end()) return llama_sampler_clone(same->sampler.get());
  std::vector<const char*> breakers;
  for (const std::string& breaker : dry.breakers) breakers.push_back(breaker.c_str());
  SamplerPtr sampler(llama_sampler_init_dry(vocab, dry.multiplier, dry.base, dry.allowed_length,
                                            last_n, breakers.data(), breakers.size()));
  ++made_;
  llama_sampler* const copy = llama_sampler_clone(sampler.get());
  if (samplers_.size() == kDryMax) samplers_.pop_front();
  samplers_.push_back({dry, last_n, std::move(sampler)});
  return copy;
}

std::unique_ptr<Sampler> MakeLlamaSampler(const SamplingParams& params, SampledModel model) {
  return std::make_unique<LlamaSampler>(params, std::move(model));
}

}  // namespace cairn
