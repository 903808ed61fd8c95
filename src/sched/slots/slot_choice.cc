#include "sched/slots/slot_choice.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "base/check.h"

namespace cairn {
namespace {

// Upper bound of what templates put after the last message: "<|im_start|>assistant\n<think>\n" and
// the like.
constexpr size_t kGenerationPromptTokensMax = 16;
// Before the first measurement, storing and assembling a token counts as this share of its prefill.
constexpr double kUnmeasuredMoveShare = 0.125;

// Returns the cost in tokens that could be prefilled in the same time.
double MoveCost(const ResumeRules& rules, size_t bytes) {
  if (rules.assemble_bytes_per_prefill_token <= 0 || rules.in_answer) return 0;
  return static_cast<double>(bytes) / rules.assemble_bytes_per_prefill_token;
}

// Returns the cost of restoring the slot's contents for a later request that needs them. The longer
// there was none, the less likely it is: the weight falls with the requests since, counted in
// rounds of all slots.
double LossCost(const ResumeRules& rules, const SlotNeeds& needs, const SlotView& view,
                size_t slots, uint64_t now_tick) {
  const size_t lost = LostTokens(*view.slot, needs.name_space, needs.prompt, needs.keeps_answer);
  if (lost == 0) return 0;
  auto cost = static_cast<double>(lost);
  if (rules.segments) {
    const double moved = rules.assemble_bytes_per_prefill_token > 0 && !rules.in_answer
                             ? 2 * MoveCost(rules, lost * rules.kv_bytes_per_token)
                             : kUnmeasuredMoveShare * cost;
    cost = std::min(cost, moved);
  }
  const double rounds = static_cast<double>(now_tick - view.used_tick) / static_cast<double>(slots);
  return cost / (1 + rounds);
}

size_t MovedBytes(const ResumeRules& rules, const ResumePath& path) {
  size_t bytes = path.point.checkpoint.bytes;
  if (path.point.kind == ResumePoint::Kind::kAssemble) {
    bytes += path.point.position * rules.kv_bytes_per_token;
  }
  if (path.full_state != nullptr) bytes += path.full_state->bytes;
  return bytes;
}

ResumePoint FromOwn(const ResumeRules& rules, const SlotNeeds& needs, const Slot& slot) {
  if (!needs.reuse) return {};
  const bool own = slot.name_space() == needs.name_space;
  const Provenance nothing;
  const SlotState state = own ? slot.state() : SlotState{{}, nothing};
  return ChooseResume(rules, needs.prompt, state, *needs.match,
                      [&](size_t position) { return own && slot.CanTruncate(position); });
}

// Leaves out assembly from segments, which FromOwn considers for each slot.
ResumePoint FromOther(ResumeRules rules, const SlotNeeds& needs, const SlotState& state,
                      bool cuts_anywhere, bool goes_on) {
  rules.segments = false;
  // The beginning of another conversation stays clean in this one.
  rules.leave_grid = false;
  const size_t end = state.tokens.size();
  return ChooseResume(rules, needs.prompt, state, *needs.match, [&](size_t position) {
    return cuts_anywhere || (goes_on && position == end);
  });
}

class PathFinder {
 public:
  PathFinder(const ResumeRules& rules, const SlotNeeds& needs, std::span<const SlotView> slots,
             uint64_t now_tick)
      : rules_(rules), needs_(needs), slots_(slots), now_tick_(now_tick) {}

  ResumePath Find() {
    for (size_t i = 0; i < slots_.size(); ++i) {
      if (!slots_[i].free || !IsWished(i)) continue;
      loss_ = LossCost(rules_, needs_, slots_[i], slots_.size(), now_tick_);
      ResumePath own;
      own.slot = i;
      own.point = FromOwn(rules_, needs_, *slots_[i].slot);
      Consider(own);
      if (!needs_.reuse) continue;
      if (rules_.segments) ConsiderForks(i);
      ConsiderWholes(i);
    }
    CHECK(best_.has_value());
    return *best_;
  }

 private:
  // If the requested slot is in use, any slot will do.
  bool IsWished(size_t slot) const {
    if (!needs_.wish || !slots_[*needs_.wish].free) return true;
    return slot == *needs_.wish;
  }

  void ConsiderForks(size_t slot) {
    for (size_t from = 0; from < slots_.size(); ++from) {
      const Slot& lender = *slots_[from].slot;
      if (from == slot || lender.name_space() != needs_.name_space) continue;
      ResumePath path;
      path.slot = slot;
      path.source = ResumePath::Source::kFork;
      path.from = from;
      const Provenance own = lender.own_provenance();
      const SlotState lent = {TokenSpan(lender.tokens()).first(lender.own_tokens()), own};
      path.point = FromOther(rules_, needs_, lent, !rules_.needs_snapshots, false);
      if (path.point.position > 0) Consider(path);
    }
  }

  void ConsiderWholes(size_t slot) {
    for (const FullState* whole : needs_.match->full_states) {
      ResumePath path;
      path.slot = slot;
      path.source = ResumePath::Source::kFullState;
      path.full_state = whole;
      path.point = FromOther(rules_, needs_, {whole->tokens, whole->provenance},
                             !rules_.needs_snapshots, true);
      if (path.point.position > 0) Consider(path);
    }
  }

  void Consider(ResumePath path) {
    const size_t moved = MovedBytes(rules_, path);
    const size_t unread = needs_.prompt.size() - path.point.position;
    path.cost_tokens = static_cast<double>(unread) + MoveCost(rules_, moved) + loss_;
    const auto rank = [&](const ResumePath& w, size_t bytes) {
      const SlotView& view = slots_[w.slot];
      const bool other_key = needs_.cache_key == 0 || view.cache_key != needs_.cache_key;
      return std::make_tuple(w.cost_tokens, bytes, w.source, other_key,
                             !view.slot->tokens().empty(), view.used_tick);
    };
    if (best_ && rank(*best_, MovedBytes(rules_, *best_)) <= rank(path, moved)) return;
    best_ = path;
  }

  const ResumeRules& rules_;
  const SlotNeeds& needs_;
  const std::span<const SlotView> slots_;
  const uint64_t now_tick_;
  double loss_ = 0;  // of the slot under consideration
  std::optional<ResumePath> best_;
};

// Leaves of a match only what is in memory.
void KeepInMemory(const CheckpointCache& cache, NamespaceId name_space, TokenSpan prompt,
                  CheckpointCache::MatchResult* match) {
  // The end of the segments in memory of a path.
  const auto end_in_memory = [&](size_t position, LineageId lineage) {
    size_t end = 0;
    if (position == 0) return end;
    for (const auto& link : cache.PathTo(name_space, prompt.first(position), lineage)) {
      if (!cache.InMemory(link.id)) break;
      end = link.end;
    }
    return end;
  };
  std::erase_if(match->checkpoints,
                [&](const Checkpoint& checkpoint) { return !cache.InMemory(checkpoint.id); });
  for (Checkpoint& checkpoint : match->checkpoints) {
    checkpoint.kv_stored =
        checkpoint.kv_stored &&
        end_in_memory(checkpoint.position, checkpoint.lineage) >= checkpoint.position;
  }
  match->stored_on_grid = std::min(match->stored_on_grid, end_in_memory(match->stored_on_grid, 0));
  std::erase_if(match->full_states,
                [&](const FullState* whole) { return !cache.InMemory(whole->id); });
  match->nearest = 0;  // of a run, which may be on disk
}

}  // namespace

size_t LostTokens(const Slot& slot, NamespaceId name_space, TokenSpan prompt, bool keeps_answer) {
  const bool own = slot.name_space() == name_space;
  const size_t shared = own ? CommonPrefix(slot.tokens(), prompt) : 0;
  const auto& answers = slot.provenance().answers;
  const size_t read = answers.empty() ? slot.tokens().size() : answers.back().begin;
  if (!keeps_answer && shared + kGenerationPromptTokensMax >= read) return 0;
  return slot.tokens().size() - shared;
}

CheckpointCache::MatchResult MatchOf(const CheckpointCache& cache, NamespaceId name_space,
                                     TokenSpan prompt, bool reads_disk) {
  CheckpointCache::MatchResult match = cache.Match(name_space, prompt);
  if (!reads_disk) KeepInMemory(cache, name_space, prompt, &match);
  return match;
}

ResumePath ChooseResumePath(const ResumeRules& rules, const SlotNeeds& needs,
                            std::span<const SlotView> slots, uint64_t now_tick) {
  return PathFinder(rules, needs, slots, now_tick).Find();
}

}  // namespace cairn
