#include "sched/steps/speculation.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "cache/objects/stored_prefixes.h"
#include "engine/mtp_heads.h"

namespace cairn {

namespace {

// Where no larger decode was measured, each further token is taken to cost this share of the
// largest measured one: less than on any backend, so that it is measured.
constexpr double kUntriedShare = 0.02;

// A draft must promise so much more speed than none: less is within what measurements are off by.
constexpr double kLeastGain = 1.03;

// A decode that other work delayed says little, one that was fast says much.
constexpr double kSlowerShare = 0.1;
constexpr double kFasterShare = 0.5;

}  // namespace

void DecodeCosts::Add(size_t tokens, double ms) {
  if (tokens >= costs_.size()) costs_.resize(tokens + 1);
  Cost& cost = costs_[tokens];
  ++cost.count;
  if (cost.count <= 2) {
    cost.ms = ms;
    return;
  }
  cost.ms += (ms - cost.ms) * (ms > cost.ms ? kSlowerShare : kFasterShare);
}

double DecodeCosts::Of(size_t tokens) const {
  size_t below = std::min(tokens, costs_.empty() ? 0 : costs_.size() - 1);
  while (below > 0 && !IsKnown(costs_[below])) --below;
  if (below == tokens && below > 0) return costs_[below].ms;
  size_t above = tokens;
  while (above < costs_.size() && !IsKnown(costs_[above])) ++above;
  const bool has_above = above < costs_.size();
  if (below == 0) return has_above ? costs_[above].ms : 0;
  const double from = costs_[below].ms;
  const auto steps = static_cast<double>(tokens - below);
  if (!has_above) return from * (1 + kUntriedShare * steps);
  return from + (costs_[above].ms - from) * steps / static_cast<double>(above - below);
}

double ExpectedGain(double accepted, size_t tokens) {
  double gain = 0;
  double chance = 1;
  for (size_t i = 0; i < tokens; ++i) {
    chance *= accepted;
    gain += chance;
  }
  return gain;
}

size_t BestDraftLength(const DecodeCosts& costs, const PlannedDecode& decode, double accepted,
                       const DraftCost& draft, size_t tokens_max) {
  const double plain_ms = costs.Of(decode.tokens);
  if (plain_ms <= 0) return 0;
  size_t best = 0;
  double best_speed = kLeastGain * decode.gained / plain_ms;
  double chance = 1;
  double gained = decode.gained;
  for (size_t length = 1; length <= tokens_max; ++length) {
    chance *= accepted;
    gained += chance;
    const double snapshot_ms = length > draft.rollback_tokens ? draft.snapshot_ms : 0;
    const double draft_ms = snapshot_ms + draft.ms_per_token * static_cast<double>(length);
    const double speed = gained / (costs.Of(decode.tokens + length) + draft_ms);
    if (speed <= best_speed) continue;
    best = length;
    best_speed = speed;
  }
  return best;
}

namespace {

// How much one draft changes the acceptance that later answers expect of its source, and how much
// one that was not worth verifying gives back, so that the source is tried again in another kind of
// text.
constexpr double kNewShare = 0.02;
constexpr double kForgottenShare = 0.001;

// The model's heads for multi-token prediction. They draft for all answers together, so this only
// says how many tokens.
class MtpDrafter final : public Drafter {
 public:
  // `room`: the tokens that a sequence may hold.
  explicit MtpDrafter(size_t room) : room_(room) {}

  Draft Propose(const DraftPoint& at, const DraftLength& length_of) override {
    Draft draft{{}, DraftSource::kMtp};
    if (at.text.size() + 2 < room_) {
      draft.asked = length_of(DraftSource::kMtp, room_ - at.text.size() - 2);
    }
    return draft;
  }

 private:
  const size_t room_;
};

}  // namespace

AnswerDrafts Speculation::Begin(NamespaceId name_space, Tokens earlier_answer) {
  std::vector<std::unique_ptr<Drafter>> drafters;
  const bool has_heads = options_.mtp && engine_->mtp_heads() != nullptr;
  const bool heads_guess_well = expected_[static_cast<size_t>(DraftSource::kMtp)] >=
                                ExpectedAcceptance(DraftSource::kShortNgram);
  const bool has_model = (has_heads && heads_guess_well) || draft_model_ != nullptr;
  if (const DrafterFactory make = options_.make; make != nullptr) {
    drafters.push_back(make({std::move(earlier_answer), stored_texts_.Of(name_space), has_model}));
  }
  if (has_heads) {
    drafters.push_back(std::make_unique<MtpDrafter>(engine_->context_tokens()));
  }
  if (draft_model_ != nullptr) drafters.push_back(draft_model_->MakeDrafter(name_space));
  return AnswerDrafts(std::move(drafters), expected_);
}

Draft Speculation::Propose(RunningRequest* request, PlannedDecode* decode) {
  const TokenSpan text = pool_->slot(*request->slot).tokens();
  // The token after the draft's last needs a place in the context too, and one token at least is
  // sampled after the draft.
  const size_t context_left = engine_->context_tokens() - text.size() - 1;
  const size_t answer_left = request->request.params.tokens_max - request->cost.generated_tokens;
  const size_t batch_left = engine_->chunk_tokens_max() - decode->tokens;
  const size_t most =
      std::min({options_.tokens_max, batch_left, std::max<size_t>(context_left, 1) - 1,
                std::max<size_t>(answer_left, 1) - 1});
  AnswerDrafts* const drafts = &request->drafts;
  const auto length_of = [&](DraftSource source, size_t tokens) -> size_t {
    size_t length = std::min(tokens, most);
    if (options_.adapts) {
      DraftCost cost{snapshot_ms_, engine_->traits().rollback_tokens, 0};
      if (source == DraftSource::kDraftModel) cost.ms_per_token = draft_model_->ms_per_token();
      if (source == DraftSource::kMtp) cost.ms_per_token = mtp_speed_.ms_per_token();
      length = BestDraftLength(costs_, *decode, drafts->accepted(source), cost, length);
    }
    if (length > 0 && length >= options_.tokens_min) return length;
    drafts->OnSkipped(source);
    Expect(source, ExpectedAcceptance(source), kForgottenShare);
    if (source == DraftSource::kMtp) mtp_speed_.OnSkipped();
    return 0;
  };
  Draft draft = drafts->Propose({text, *request->next}, length_of);
  if (draft.size() == 0 || draft.size() < options_.tokens_min) return {};
  decode->tokens += draft.size();
  decode->gained += ExpectedGain(drafts->accepted(draft.source), draft.size());
  return draft;
}

void Speculation::AskHeads(std::span<const ProposedDraft> drafts) {
  std::vector<MtpHeads::Wish> wishes;
  std::vector<Draft*> asked;
  for (const auto& [request, draft] : drafts) {
    if (draft->asked == 0) continue;
    wishes.push_back({pool_->slot(*request->slot).seq(), *request->next, draft->asked});
    asked.push_back(draft);
    draft->asked = 0;
  }
  MtpHeads* const heads = engine_->mtp_heads();
  if (wishes.empty() || heads == nullptr) return;
  const double begin_ms = clock_->NowMs();
  std::vector<Tokens> drafted = heads->DraftEach(wishes, options_.mtp_p_min);
  size_t tokens = 0;
  for (size_t i = 0; i < asked.size(); ++i) {
    tokens += drafted[i].size();
    if (drafted[i].size() >= options_.tokens_min) {
      asked[i]->tokens = std::move(drafted[i]);
    }
  }
  mtp_speed_.OnDrafted(tokens, clock_->NowMs() - begin_ms);
}

Result<Bytes> Speculation::Prepare(Slot* slot, size_t tokens) {
  if (tokens <= engine_->traits().rollback_tokens) return Bytes();
  const double begin_ms = clock_->NowMs();
  auto snapshot = slot->TakeSnapshot();
  snapshot_ms_ += (clock_->NowMs() - begin_ms - snapshot_ms_) * kNewMeasureShare;
  return snapshot;
}

Status Speculation::RollBack(Slot* slot, size_t accepted, const Bytes& snapshot) {
  const double begin_ms = clock_->NowMs();
  const Status rolled = slot->RollBack(accepted + 1, snapshot);
  if (!snapshot.empty()) snapshot_ms_ += (clock_->NowMs() - begin_ms) * kNewMeasureShare;
  return rolled;
}

void Speculation::Expect(DraftSource source, double seen, double share) {
  double& expected = expected_[static_cast<size_t>(source)];
  expected += (seen - expected) * share;
}

void MtpSpeed::OnDrafted(size_t tokens, double ms) {
  const double each_ms = ms / static_cast<double>(std::max<size_t>(tokens, 1));
  ++count_;
  ms_per_token_ =
      count_ <= 3 ? each_ms : ms_per_token_ + (each_ms - ms_per_token_) * kNewMeasureShare;
}

void MtpSpeed::OnSkipped() {
  ms_per_token_ *= 1 - kForgottenShare;
}

void Speculation::OnVerified(RunningRequest* request, const Draft& draft, size_t accepted) {
  const size_t tokens = draft.tokens.size();
  for (size_t i = 0; i < accepted; ++i) Expect(draft.source, 1, kNewShare);
  if (accepted < tokens) Expect(draft.source, 0, kNewShare);
  request->drafts.OnVerified(draft.source, tokens, accepted);
  request->cost.drafted_tokens += tokens;
  request->cost.accepted_tokens += accepted;
  stats_->Update([&](SchedulerStats* stats) {
    DraftStats& of_source = stats->drafts[static_cast<size_t>(draft.source)];
    of_source.drafted_tokens += tokens;
    of_source.accepted_tokens += accepted;
    ++of_source.verified;
  });
}

namespace {

// Indexing a token takes some ten nanoseconds.
constexpr size_t kTextTokensMax = 128 * 1024;
constexpr double kRemakeMs = 2000;
// Most namespaces of a server with many keys are idle.
constexpr size_t kNameSpacesMax = 16;

}  // namespace

std::vector<Tokens> StoredTexts::TextsOf(NamespaceId name_space) const {
  std::vector<Tokens> texts =
      FindStoredTexts(*pool_->cache().objects(), name_space, kTextTokensMax);
  // The newest text comes last, because the last occurrence of an n-gram is found.
  std::reverse(texts.begin(), texts.end());
  for (const SlotPool::Entry& entry : pool_->entries()) {
    if (entry.slot.name_space() != name_space) continue;
    const TokenSpan held = entry.slot.tokens();
    const TokenSpan kept = held.last(std::min(held.size(), kTextTokensMax / pool_->size()));
    texts.emplace_back(kept.begin(), kept.end());
  }
  return texts;
}

std::shared_ptr<const StoredText> StoredTexts::Of(NamespaceId name_space) {
  const double now_ms = pool_->NowMs();
  const auto found = made_.find(name_space);
  if (found != made_.end()) {
    if (now_ms - found->second.made_ms < kRemakeMs) return found->second.text;
  } else if (made_.size() == kNameSpacesMax) {
    made_.erase(std::min_element(made_.begin(), made_.end(), [](const auto& a, const auto& b) {
      return a.second.made_ms < b.second.made_ms;
    }));
  }
  const auto text = std::make_shared<const StoredText>(TextsOf(name_space));
  made_[name_space] = {text, now_ms};
  return text;
}

}  // namespace cairn
