#include "cache/resume.h"

#include <algorithm>
#include <string>

#include "base/check.h"

namespace cairn {
namespace {

// A longer rest of a prompt is worth sharing with other conversations.
constexpr size_t kShortRestTokens = 2048;

// Whether a slot may continue from bits of that lineage at all, wherever they are found.
bool MayUse(const ResumeRules& rules, const Checkpoint& checkpoint) {
  return rules.mode != ReuseMode::kExact || checkpoint.on_grid() || checkpoint.cold_end;
}

// Whether a prompt resumes at `position`, which is no cut, rather than at `cut` before it.
bool LeavesGrid(const ResumeRules& rules, size_t cut, size_t position, bool is_clean) {
  return rules.mode == ReuseMode::kLive && rules.leave_grid &&
         MayLeaveGrid(cut, position, rules.cuts.tokens(), is_clean);
}

// Whether a prompt may continue from the position of `checkpoint`. `reached`: where it resumes
// otherwise.
bool MayStand(const ResumeRules& rules, const Checkpoint& checkpoint, size_t reached) {
  const size_t prompt_tokens = rules.cuts.tokens();
  if (checkpoint.logits_bytes > 0 && checkpoint.position == prompt_tokens) return true;
  if (checkpoint.position >= prompt_tokens) return false;
  // An uninterrupted conversation continues from the end of its answer, wherever that is.
  const bool after_answer = checkpoint.checkpoint_class == CheckpointClass::kReply;
  const bool diverged = checkpoint.checkpoint_class == CheckpointClass::kBranch;
  if ((after_answer || diverged) && rules.mode == ReuseMode::kLive) return true;
  const size_t cut = rules.cuts.AtOrBefore(checkpoint.position);
  if (cut == checkpoint.position) return true;
  // The client sent another answer to a stored prompt: an edit at that prompt's end.
  return checkpoint.checkpoint_class == CheckpointClass::kEnd &&
         LeavesGrid(rules, std::min(cut, reached), checkpoint.position, checkpoint.on_grid());
}

// Whether the state of `checkpoint` may be restored into the slot, which shares `shared` tokens
// with the prompt.
bool MayRestore(const ResumeRules& rules, const Checkpoint& checkpoint, const SlotState& slot,
                size_t shared) {
  if (!rules.snapshot_needs_slot) return true;
  if (checkpoint.position > shared) return false;
  if (rules.mode == ReuseMode::kAny) return true;
  if (checkpoint.on_grid()) return checkpoint.position <= slot.provenance.clean;
  return checkpoint.lineage == slot.provenance.LineageAt(checkpoint.position);
}

// Whether assembling up to `position` takes less time than prefill from `from` on.
bool AssemblyPays(const ResumeRules& rules, size_t from, size_t position, size_t snapshot_bytes) {
  if (rules.assemble_bytes_per_prefill_token <= 0 || rules.in_answer) return true;
  const auto bytes = static_cast<double>(position * rules.kv_bytes_per_token + snapshot_bytes);
  return bytes < static_cast<double>(position - from) * rules.assemble_bytes_per_prefill_token;
}

// The deepest position at or before `wanted` where the slot may be cut.
size_t CutPosition(const ResumeRules& rules, const SlotState& slot, size_t wanted) {
  const PromptCuts& cuts = rules.cuts;
  if (rules.mode == ReuseMode::kAny) return wanted;
  const Provenance& provenance = slot.provenance;
  const size_t in_clean = cuts.AtOrBefore(std::min(wanted, provenance.clean));
  if (rules.mode == ReuseMode::kExact || wanted <= provenance.clean) return in_clean;
  const size_t after_min = ChunkAfterAnswerMin(rules.needs_snapshots, cuts.grid_tokens());
  size_t cut = cuts.AtOrBefore(wanted);
  for (size_t i = provenance.answers.size(); i-- > 0;) {
    const TokenRange& answer = provenance.answers[i];
    size_t end = cuts.FirstAfterAnswer(answer.end, after_min);
    // The turn after it was one chunk, or will be.
    const size_t turn_end =
        i + 1 < provenance.answers.size() ? provenance.answers[i + 1].begin : slot.tokens.size();
    if (turn_end - answer.end <= rules.turn_tokens_max) end = std::max(end, turn_end + 1);
    if (cuts.tokens() - answer.end <= rules.turn_tokens_max) end = cuts.tokens() + 1;
    // In an uninterrupted conversation any message may follow an answer.
    if (cut < end && answer.end <= wanted) return answer.end;
    if (cut > answer.begin && cut < end) cut = cuts.AtOrBefore(answer.begin);
  }
  return std::max(cut, in_clean);
}

// Whether `live` may cut the slot at `wanted`, which prompt and slot share, although it is no cut.
bool MayCutAt(const ResumeRules& rules, const SlotState& slot, size_t cut, size_t wanted) {
  for (const TokenRange& answer : slot.provenance.answers) {
    if (answer.begin < wanted && wanted < answer.end) return false;
  }
  // From the cut the rest would be clean, whatever the slot holds behind it.
  const bool is_clean = cut <= slot.provenance.clean;
  return LeavesGrid(rules, cut, wanted, is_clean);
}

// Returns the best resume point of the slot alone, without the cache.
ResumePoint FromSlot(const ResumeRules& rules, TokenSpan prompt, const SlotState& slot,
                     size_t shared, const std::function<bool(size_t)>& can_truncate) {
  ResumePoint best;
  const bool slot_is_prefix = shared == slot.tokens.size() && shared < prompt.size();
  if (slot_is_prefix && shared > 0 && rules.mode != ReuseMode::kExact && can_truncate(shared)) {
    best = {ResumePoint::Kind::kContinue, shared, {}};
  }
  const size_t last = BeforeMedium(prompt, prompt.size() - 1);
  const size_t cut = CutPosition(rules, slot, std::min(shared, last));
  // A prompt that is sent again is prefilled as before, so that its answer is the same.
  const bool changed = shared < prompt.size();
  if (changed && shared > best.position && MayCutAt(rules, slot, cut, shared) &&
      can_truncate(shared)) {
    return {ResumePoint::Kind::kTruncate, shared, {}};
  }
  if (cut > best.position && can_truncate(cut)) best = {ResumePoint::Kind::kTruncate, cut, {}};
  return best;
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
  CHECK(!prompt.empty() && prompt.size() == rules.cuts.tokens());
  const size_t shared = CommonPrefix(slot.tokens, prompt);
  ResumePoint best = FromSlot(rules, prompt, slot, shared, can_truncate);
  for (const Checkpoint& checkpoint : match.checkpoints) {
    if (checkpoint.position <= best.position || !MayUse(rules, checkpoint)) continue;
    if (!MayStand(rules, checkpoint, best.position)) continue;
    // Without a snapshot the slot is cut there.
    if (!rules.needs_snapshots && !can_truncate(checkpoint.position)) continue;
    if (MayRestore(rules, checkpoint, slot, shared)) {
      best = {ResumePoint::Kind::kRestore, checkpoint.position, checkpoint};
    }
  }
  if (!rules.segments) return best;
  ResumePoint assembled = best;
  for (const Checkpoint& checkpoint : match.checkpoints) {
    if (checkpoint.position <= assembled.position || !MayUse(rules, checkpoint)) continue;
    if (!checkpoint.kv_stored) continue;
    if (!MayStand(rules, checkpoint, assembled.position)) continue;
    if (AssemblyPays(rules, best.position, checkpoint.position, checkpoint.bytes)) {
      assembled = {ResumePoint::Kind::kAssemble, checkpoint.position, checkpoint};
    }
  }
  if (rules.needs_snapshots) return assembled;
  const size_t position = rules.cuts.AtOrBefore(std::min(match.stored_on_grid, prompt.size() - 1));
  if (position > assembled.position && AssemblyPays(rules, best.position, position, 0)) {
    assembled = {ResumePoint::Kind::kAssemble, position, {}};
  }
  if (rules.run.tokens <= assembled.position) return assembled;
  // A slot that held the run could be cut there.
  const SlotState held{prompt.first(rules.run.tokens), rules.run.provenance};
  const size_t in_run = CutPosition(rules, held, std::min(rules.run.tokens, prompt.size() - 1));
  if (in_run > assembled.position && AssemblyPays(rules, best.position, in_run, 0)) {
    Checkpoint point;
    point.position = in_run;
    point.lineage = rules.run.provenance.LineageAt(in_run);
    assembled = {ResumePoint::Kind::kAssemble, in_run, point};
  }
  return assembled;
}

bool MayLeaveGrid(size_t cut, size_t position, size_t prompt_tokens, bool is_clean) {
  // As for boundaries, fewer tokens are not worth a chunk that ends elsewhere.
  if (position < cut + kBoundaryGapTokens) return false;
  return !is_clean || prompt_tokens - position <= kShortRestTokens;
}

size_t ChunkAfterAnswerMin(bool needs_snapshots, size_t grid_tokens) {
  return needs_snapshots ? std::min(kBoundaryGapTokens, grid_tokens) : grid_tokens;
}

size_t TurnTokensMax(ReuseMode mode, bool needs_snapshots, size_t grid_tokens,
                     size_t chunk_tokens_max) {
  constexpr size_t kSteps = 4;
  if (mode != ReuseMode::kLive || !needs_snapshots) return 0;
  return std::min(kSteps * grid_tokens, chunk_tokens_max);
}

}  // namespace cairn
