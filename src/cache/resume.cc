#include "cache/resume.h"

#include <algorithm>
#include <string>

#include "base/check.h"

namespace cairn {
namespace {

size_t RoundDown(size_t position, size_t grid_tokens) {
  return position - position % grid_tokens;
}

// Whether the state of `checkpoint` may be set into the slot, which shares `shared` tokens with
// the prompt.
bool MayRestore(const ResumeRules& rules, const Checkpoint& checkpoint, const SlotState& slot,
                size_t shared) {
  const bool same_run = checkpoint.on_grid || checkpoint.lineage == slot.lineage;
  if (!rules.snapshot_needs_slot) {
    // The snapshot replaces the whole state, so the slot's own bits do not matter.
    return rules.mode == ReuseMode::kAny || checkpoint.on_grid ||
           (rules.mode == ReuseMode::kLive && same_run);
  }
  if (checkpoint.position > shared) return false;
  if (rules.mode == ReuseMode::kAny) return true;
  if (checkpoint.on_grid) return checkpoint.position <= slot.clean;
  return rules.mode == ReuseMode::kLive && same_run;
}

// The deepest position at or before `wanted` where the slot may be cut.
size_t CutPosition(const ResumeRules& rules, const SlotState& slot, size_t grid, size_t wanted) {
  size_t cut = RoundDown(wanted, grid);
  if (rules.mode == ReuseMode::kAny) return cut;
  if (rules.mode == ReuseMode::kExact) return std::min(cut, RoundDown(slot.clean, grid));
  for (size_t i = slot.answers.size(); i-- > 0;) {
    const TokenRange& answer = slot.answers[i];
    if (cut > answer.begin && cut < answer.end) cut = RoundDown(answer.begin, grid);
  }
  return cut;
}

}  // namespace

Result<ReuseMode> ParseReuseMode(std::string_view name) {
  if (name == "live") return ReuseMode::kLive;
  if (name == "exact") return ReuseMode::kExact;
  if (name == "any") return ReuseMode::kAny;
  return Fail(ErrorCode::kInvalidArgument, "there is no reuse mode named '" + std::string(name) +
                                               "'; there are: live, exact, any");
}

ResumePoint ChooseResume(const ResumeRules& rules, TokenSpan prompt, const SlotState& slot,
                         const CheckpointCache::MatchResult& match,
                         const std::function<bool(size_t)>& can_truncate) {
  CHECK(!prompt.empty());
  const size_t grid = rules.mode == ReuseMode::kAny ? 1 : rules.grid_tokens;
  const size_t shared = CommonPrefix(slot.tokens, prompt);
  const size_t last_cut = RoundDown(prompt.size() - 1, grid);
  ResumePoint best;

  const bool slot_is_prefix = shared == slot.tokens.size() && shared < prompt.size();
  if (slot_is_prefix && shared > 0 && rules.mode != ReuseMode::kExact) {
    best = {ResumePoint::Kind::kContinue, shared, {}};
  }

  const size_t cut = CutPosition(rules, slot, grid, std::min(shared, last_cut));
  if (cut > best.position && can_truncate(cut)) {
    best = {ResumePoint::Kind::kTruncate, cut, {}};
  }

  for (const Checkpoint& checkpoint : match.checkpoints) {
    if (checkpoint.position <= best.position || checkpoint.position > last_cut) continue;
    if (checkpoint.position % grid != 0) continue;
    if (!MayRestore(rules, checkpoint, slot, shared)) continue;
    best = {ResumePoint::Kind::kRestore, checkpoint.position, checkpoint};
  }
  return best;
}

size_t NextPieceEnd(size_t position, size_t prompt_tokens, size_t grid_tokens,
                    size_t piece_tokens_max, size_t stop) {
  CHECK(position < prompt_tokens);
  const size_t last_cut = RoundDown(prompt_tokens - 1, grid_tokens);
  size_t end = prompt_tokens;
  if (position < last_cut) end = last_cut;
  if (stop > position) end = std::min(end, stop);
  const size_t off_grid = position % grid_tokens;
  if (off_grid != 0) end = std::min(end, position - off_grid + grid_tokens);
  if (end - position > piece_tokens_max) {
    // A micro-batch smaller than the grid cannot stay on it; it is cut where it must be.
    const size_t whole = RoundDown(piece_tokens_max, grid_tokens);
    end = position + (whole > 0 ? whole : piece_tokens_max);
  }
  return end;
}

size_t CleanAfter(size_t clean_before, size_t begin, size_t end, size_t grid_tokens) {
  // A piece keeps the slot clean only when it begins where the clean part ends. Tokens after the
  // last grid multiple were read in a piece that a longer prompt would not have.
  if (clean_before < begin || begin % grid_tokens != 0) return std::min(clean_before, begin);
  return RoundDown(end, grid_tokens);
}

}  // namespace cairn
