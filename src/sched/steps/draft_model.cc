#include "sched/steps/draft_model.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <optional>
#include <span>
#include <utility>

#include "base/check.h"
#include "media/media_tokens.h"

namespace cairn {
namespace {

// The last bits of a draft do not matter, so every position is a cut.
SlotPoolOptions DraftPoolOptions(const DraftModelOptions& options, const SlotOptions& of_model) {
  SlotPoolOptions pool;
  pool.mode = ReuseMode::kAny;
  pool.cuts = {1};
  pool.keep_ends = false;
  pool.offload = of_model.offload;
  pool.unused_ms = of_model.unused_ms;
  pool.first_lineage = options.first_lineage;
  return pool;
}

// So many missing tokens are decoded together with the next one.
constexpr size_t kTogetherMax = 32;

Token LikeliestOf(std::span<const float> logits) {
  return static_cast<Token>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

double ProbabilityOf(Token token, std::span<const float> logits) {
  const float of_token = logits[static_cast<size_t>(token)];
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - of_token);
  return 1 / sum;
}

// ModelDrafter: decodes the likeliest token, and the one after it, and so on. The draft model's
// slot then holds the draft as well; at the next draft it goes back to where the two texts diverge,
// by truncation, or by a snapshot that was taken before.
class ModelDrafter final : public Drafter {
 public:
  ModelDrafter(DraftModel* model, const Clock* clock, ModelSlots* slots, NamespaceId name_space)
      : model_(model),
        engine_(model->options().engine),
        cache_(model->options().cache),
        clock_(clock),
        slots_(slots),
        name_space_(name_space) {}
  ~ModelDrafter() override { ModelDrafter::Release({}); }

  Draft Propose(const DraftPoint& at, const DraftLength& length_of) override {
    const TokenSpan text = at.text;
    Draft draft{{}, DraftSource::kDraftModel};
    const size_t room = engine_->context_tokens();
    if (text.size() + 2 >= room) return draft;
    const size_t length = length_of(DraftSource::kDraftModel, room - text.size() - 2);
    if (length == 0 || TextHasMedia(text) || !Follow(text)) return draft;
    draft.tokens = DraftAfter(text, at.next, length);
    return draft;
  }

  // The slot is brought to the text's end, so that the next turn finds all of it.
  void Release(TokenSpan text) override {
    EndLoad();
    if (!slot_) return;
    try {
      const bool knows = !text.empty() && GoBackTo(text);
      if (knows && 0 < MissingOf(text) && MissingOf(text) <= kTogetherMax) {
        Decode(MissingAnd(text, {}));
      }
    } catch (const std::bad_alloc&) {
      slot().Clear(name_space_);
    }
    snapshot_ = {};
    slots_->pool.Release(*std::exchange(slot_, std::nullopt));
  }

 private:
  // A state that cannot be rolled back, taken before a draft.
  struct Snapshot {
    size_t position = 0;
    LineageId lineage = 0;
    Bytes bytes;
  };

  // The draft model has no rows for media. An answer adds none.
  bool TextHasMedia(TokenSpan text) {
    if (!has_media_) has_media_ = HasMedia(text);
    return *has_media_;
  }

  Slot& slot() { return slots_->pool.slot(*slot_); }
  size_t MissingOf(TokenSpan text) { return text.size() - slot().tokens().size(); }

  // Brings the slot to the text's end, except for a few tokens. Returns false while states are read
  // or tokens computed for that, in later calls.
  bool Follow(TokenSpan text) {
    if (slot_ && !GoBackTo(text)) Release({});
    if (!slot_ && !Resume(text)) return false;
    if (!IsBehind(text)) return true;
    return model_->MayPrefill() && PrefillChunk(text) && !IsBehind(text);
  }

  bool IsBehind(TokenSpan text) {
    return MissingOf(text) > kTogetherMax || (prefilled_ && slot().tokens().size() < resumed_at_);
  }

  // Takes a slot. Returns false if there is none, or while its states are read from disk.
  bool Resume(TokenSpan text) {
    RefreshCache(cache_, clock_->NowMs());
    if (cache_->loader().IsLoading(load_)) return false;
    if (!slots_->pool.has_free()) return false;
    // The last token of a prompt is always computed.
    Tokens prompt(text.begin(), text.end());
    prompt.push_back(prompt.back());
    const auto match = cache_->Match(name_space_, prompt);
    const SlotNeeds needs{name_space_, prompt, true, &match};
    if (load_ == 0) {
      const std::vector<uint64_t> ids = slots_->restorer.ToLoad(needs);
      if (!ids.empty()) load_ = cache_->loader().Begin(ids);
      if (cache_->loader().IsLoading(load_)) return false;
    }
    slot_ = slots_->restorer.Resume(needs).slot;
    EndLoad();
    resumed_at_ = text.size();
    prefilled_ = false;
    model_->OnResumed(slot().tokens().size());
    return true;
  }

  void EndLoad() { cache_->loader().End(std::exchange(load_, 0)); }

  // Drops the tokens that differ from the text. Returns false if the memory cannot.
  bool GoBackTo(TokenSpan text) {
    const size_t common = CommonPrefix(slot().tokens(), text);
    if (common == slot().tokens().size()) return true;
    slot().BeginLineage(slots_->pool.NextLineage());
    if (slot().CanTruncate(common)) return slot().Truncate(common).has_value();
    if (snapshot_.bytes.empty() || common < snapshot_.position) return false;
    Checkpoint before;
    before.position = snapshot_.position;
    before.lineage = snapshot_.lineage;
    return slot().Restore(text.first(before.position), before, snapshot_.bytes).has_value();
  }

  // Ends a chunk where the text ended when the slot was taken, mostly at the prompt's end: the same
  // prompt may come again, and the next one begins like it.
  bool PrefillChunk(TokenSpan text) {
    const size_t begin = slot().tokens().size();
    const size_t goal = begin < resumed_at_ ? std::min(resumed_at_, text.size()) : text.size();
    const size_t tokens = std::min(goal - begin, engine_->chunk_tokens_max());
    const double begin_ms = clock_->NowMs();
    const Status computed = slot().Prefill(text.subspan(begin, tokens));
    if (!computed) return OnFailed(computed.error());
    prefilled_ = true;
    model_->OnPrefilled(tokens, clock_->NowMs() - begin_ms);
    const bool takes = engine_->traits().NeedsSnapshots();
    if (takes && begin + tokens == resumed_at_) {
      slots_->checkpoints.Take(*slot_, CheckpointClass::kReply, 0);
    }
    return true;
  }

  // The tokens that the slot lacks of the text, and then `next`.
  Tokens MissingAnd(TokenSpan text, TokenSpan next) {
    const TokenSpan missing = text.subspan(slot().tokens().size());
    Tokens tokens(missing.begin(), missing.end());
    tokens.insert(tokens.end(), next.begin(), next.end());
    return tokens;
  }

  // Decodes at most kTogetherMax + 1 tokens at the slot's end, in one computation.
  bool Decode(TokenSpan tokens) {
    const Status decoded =
        engine_->DecodeEach(NextTokens(slot().seq(), slot().tokens().size(), tokens));
    if (!decoded) return OnFailed(decoded.error());
    for (const Token token : tokens) slot().AddDecoded(token);
    return true;
  }

  bool OnFailed(const Error& error) {
    if (error.code == ErrorCode::kNoSpace) {
      slots_->offloader.EmptyAFreeSlot();
    } else {
      slot().Lose();
    }
    return false;
  }

  bool TakeSnapshot() {
    if (!engine_->traits().NeedsSnapshots()) return true;
    auto bytes = slot().TakeSnapshot();
    if (!bytes) return false;
    snapshot_ = {slot().tokens().size(), slot().lineage(), *std::move(bytes)};
    return true;
  }

  Tokens DraftAfter(TokenSpan text, Token next, size_t length) {
    Tokens drafted;
    const double begin_ms = clock_->NowMs();
    if (!TakeSnapshot()) return drafted;
    Tokens tokens = MissingAnd(text, {&next, 1});
    while (drafted.size() < length && Decode(tokens)) {
      const std::span<const float> logits = engine_->LogitsOf(tokens.size() - 1);
      const Token likeliest = LikeliestOf(logits);
      const double p_min = model_->options().p_min;
      if (p_min > 0 && ProbabilityOf(likeliest, logits) < p_min) break;
      if (static_cast<size_t>(likeliest) >= model_->vocab_size()) break;
      drafted.push_back(likeliest);
      if (engine_->IsEndOfGeneration(likeliest)) break;
      tokens = {likeliest};
    }
    model_->OnDrafted(drafted.size(), clock_->NowMs() - begin_ms);
    return drafted;
  }

  DraftModel* const model_;
  Engine* const engine_;
  CheckpointCache* const cache_;
  const Clock* const clock_;
  ModelSlots* const slots_;
  const NamespaceId name_space_;
  std::optional<size_t> slot_;
  size_t resumed_at_ = 0;   // the text's tokens when the slot was taken
  bool prefilled_ = false;  // since then
  std::optional<bool> has_media_;
  DiskLoader::LoadId load_ = 0;  // 0: none
  Snapshot snapshot_;
};

}  // namespace

DraftModel::DraftModel(const Model* model, const Clock* clock, AnswerPace* pace, StatsBoard* stats,
                       const DraftModelOptions& options, const SlotOptions& slots)
    : model_(model),
      clock_(clock),
      pace_(pace),
      stats_(stats),
      options_(options),
      slots_(options.engine, options.cache, clock, DraftPoolOptions(options, slots)),
      saver_stats_(options.engine->slots()),
      saver_(options.cache, clock, &slots_.offloader, &slots_.restorer, &saver_stats_, &save_lag_) {
  CHECK(options.engine->slots() >= model->slots());
}

std::unique_ptr<Drafter> DraftModel::MakeDrafter(NamespaceId name_space) {
  return std::make_unique<ModelDrafter>(this, clock_, &slots_, name_space);
}

Status DraftModel::Unload() {
  options_.cache->SetNow(clock_->NowMs());
  while (slots_.offloader.EmptyAFreeSlot()) {
  }
  return options_.engine->Sleep();
}

void DraftModel::EmptySlots() {
  for (size_t slot = 0; slot < options_.engine->slots(); ++slot) {
    slots_.pool.EmptyAfterFailure(slot);
  }
}

void DraftModel::OnPrefilled(size_t tokens, double ms) {
  slots_.restorer.ObservePrefill(tokens, ms);
  pace_->OnPrefill(ms);
  stats_->Update(
      [tokens](SchedulerStats* stats) { stats->draft_model.prefilled_tokens += tokens; });
}

void DraftModel::OnResumed(size_t tokens) {
  stats_->Update([tokens](SchedulerStats* stats) { stats->draft_model.reused_tokens += tokens; });
}

void DraftModel::OnDrafted(size_t tokens, double ms) {
  const double each_ms = ms / static_cast<double>(std::max<size_t>(tokens, 1));
  ms_per_token_ =
      ms_per_token_ == 0 ? each_ms : ms_per_token_ + (each_ms - ms_per_token_) * kNewMeasureShare;
}

}  // namespace cairn
