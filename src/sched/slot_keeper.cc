#include "sched/slot_keeper.h"

#include <cstring>
#include <utility>

#include "base/check.h"

namespace cairn {
namespace {

// A new measurement counts for so much of the average.
constexpr double kNewShare = 0.25;
// What templates put after the last message: "<|im_start|>assistant\n<think>\n" and the like.
constexpr size_t kGenerationPromptTokensMax = 16;

void Average(double value, double* average) {
  *average = *average == 0 ? value : *average + kNewShare * (value - *average);
}

}  // namespace

SlotKeeper::SlotKeeper(Engine* engine, CheckpointCache* cache, const Clock* clock, Slot* slot,
                       const Options& options)
    : engine_(engine), cache_(cache), clock_(clock), slot_(slot), options_(options) {}

ResumeRules SlotKeeper::Rules() const {
  const MemoryTraits& traits = engine_->traits();
  ResumeRules rules;
  rules.mode = options_.mode;
  rules.grid_tokens = options_.grid_tokens;
  rules.needs_snapshots = traits.NeedsSnapshots();
  rules.snapshot_needs_slot = traits.memory_class != MemoryClass::kRecurrent;
  rules.segments = traits.segments;
  rules.kv_bytes_per_token = traits.kv_bytes_per_token;
  rules.join_bytes_per_read_token = read_ms_per_token_ * join_bytes_per_ms_;
  return rules;
}

void SlotKeeper::ObserveRead(size_t tokens, double ms) {
  if (tokens > 0 && ms > 0) Average(ms / static_cast<double>(tokens), &read_ms_per_token_);
}

std::vector<float> SlotKeeper::Resume(NamespaceId name_space, TokenSpan prompt, bool reuse,
                                      const CheckpointCache::MatchResult& match) {
  // `exact` promises bits that nothing vouches for where no grid was found.
  const bool no_grid = engine_->traits().grid_tokens == 0 && options_.mode == ReuseMode::kExact;
  ResumePoint point;
  if (reuse && !no_grid) point = Choose(name_space, prompt, match);
  std::optional<Held> held = Hold(name_space, prompt, point);
  if (!held) {
    // What the cache promised is gone; the slot alone promises nothing that can go.
    ++stats_.failed;
    point = Choose(name_space, prompt, {});
    held = Held{};
  }
  if (LosesMuch(name_space, prompt)) Park();
  std::vector<float> logits;
  if (GoTo(name_space, prompt, point, *held)) {
    const size_t bytes = point.position == prompt.size() ? point.checkpoint.logits_bytes : 0;
    logits.resize(bytes / sizeof(float));
    if (bytes > 0) std::memcpy(logits.data(), held->snapshot.last(bytes).data(), bytes);
    Release(point, *held);
  } else {
    ++stats_.failed;
    slot_->Clear(name_space);
    Release(point, *held);
    if (point.checkpoint.id != 0) cache_->Discard(point.checkpoint.id);
    if (held->path) cache_->DiscardPath(*held->path);
  }
  slot_->BeginLineage(++last_lineage_);
  return logits;
}

ResumePoint SlotKeeper::Choose(NamespaceId name_space, TokenSpan prompt,
                               const CheckpointCache::MatchResult& match) const {
  const Provenance nothing;
  const bool own = slot_->name_space() == name_space;
  return ChooseResume(Rules(), prompt, own ? slot_->state() : SlotState{{}, nothing}, match,
                      [this](size_t position) { return slot_->CanTruncate(position); });
}

std::optional<SlotKeeper::Held> SlotKeeper::Hold(NamespaceId name_space, TokenSpan prompt,
                                                 const ResumePoint& point) {
  Held held;
  if (point.checkpoint.id != 0) {
    const auto snapshot = cache_->Pin(point.checkpoint.id);
    if (!snapshot) return std::nullopt;
    held.snapshot = *snapshot;
  }
  if (point.kind != ResumePoint::Kind::kJoin) return held;
  auto path = cache_->PinPath(name_space, prompt.first(point.position), point.checkpoint.lineage);
  if (!path) {
    Release(point, held);
    return std::nullopt;
  }
  held.path = std::move(*path);
  return held;
}

void SlotKeeper::Release(const ResumePoint& point, const Held& held) {
  if (point.checkpoint.id != 0) cache_->Unpin(point.checkpoint.id);
  if (held.path) cache_->UnpinPath(*held.path);
}

Status SlotKeeper::GoTo(NamespaceId name_space, TokenSpan prompt, const ResumePoint& point,
                        const Held& held) {
  if (slot_->name_space() != name_space) slot_->Clear(name_space);
  const TokenSpan prefix = prompt.first(point.position);
  const ByteSpan snapshot =
      held.snapshot.first(held.snapshot.size() - point.checkpoint.logits_bytes);
  switch (point.kind) {
    case ResumePoint::Kind::kNothing:
      slot_->Clear(name_space);
      return {};
    case ResumePoint::Kind::kContinue:
      return {};
    case ResumePoint::Kind::kTruncate:
      return slot_->Truncate(point.position);
    case ResumePoint::Kind::kRestore:
      if (Status restored = slot_->Restore(prefix, point.checkpoint, snapshot); !restored) {
        return restored;
      }
      ++stats_.checkpoints_restored;
      return {};
    case ResumePoint::Kind::kJoin:
      return Join(prefix, held, snapshot);
  }
  return {};
}

Status SlotKeeper::Join(TokenSpan prefix, const Held& held, ByteSpan snapshot) {
  size_t bytes = snapshot.size();
  for (const auto& part : held.path->parts) bytes += part.bytes.size();
  const double begin_ms = clock_->NowMs();
  const size_t shared = CommonPrefix(slot_->tokens(), prefix);
  if (Status joined = slot_->Join(prefix, shared, *held.path, snapshot); !joined) return joined;
  const double ms = clock_->NowMs() - begin_ms;
  if (ms > 0) Average(static_cast<double>(bytes) / ms, &join_bytes_per_ms_);
  ++stats_.joined;
  return {};
}

// An answer that is asked for again, or comes back without its reasoning, is not worth keeping: the
// new prompt repeats all that was read before it but for the generation prompt. A conversation that
// another one takes the slot from is.
bool SlotKeeper::LosesMuch(NamespaceId name_space, TokenSpan prompt) const {
  const bool own = slot_->name_space() == name_space;
  const size_t shared = own ? CommonPrefix(slot_->tokens(), prompt) : 0;
  const auto& answers = slot_->provenance().answers;
  const size_t read = answers.empty() ? slot_->tokens().size() : answers.back().begin;
  return shared + kGenerationPromptTokensMax < read;
}

void SlotKeeper::Park() {
  if (!options_.park) return;
  const MemoryTraits& traits = engine_->traits();
  const bool has_kv = traits.kv_bytes_per_token > 0;
  if (has_kv && !traits.segments) return;
  const NamespaceId name_space = slot_->name_space();
  Provenance provenance = slot_->provenance();
  size_t end = slot_->tokens().size();
  if (options_.mode == ReuseMode::kExact) {
    // Nothing goes on from bits off the grid, and without a snapshot KV leads nowhere.
    end = provenance.clean;
    if (traits.NeedsSnapshots()) {
      const auto match = cache_->Match(name_space, TokenSpan(slot_->tokens()).first(end));
      end = 0;
      for (const Checkpoint& held : match.checkpoints) {
        if (held.on_grid()) end = held.position;
      }
    }
    provenance.CutTo(end);
  }
  if (end == 0 || (has_kv && !ParkSegments(end, provenance))) return;
  ++stats_.parked;
  if (options_.mode != ReuseMode::kExact) TakeCheckpoint(CheckpointClass::kReply, 0);
}

bool SlotKeeper::ParkSegments(size_t end, const Provenance& provenance) {
  const TokenSpan tokens = TokenSpan(slot_->tokens()).first(end);
  const NamespaceId name_space = slot_->name_space();
  for (const SegmentGap& gap : cache_->MissingSegments(name_space, tokens, provenance)) {
    auto segment = slot_->TakeSegment(gap);
    if (!segment) return false;
    if (!cache_->InsertSegment(name_space, tokens, provenance, gap, std::move(*segment))) {
      return false;
    }
  }
  return true;
}

void SlotKeeper::TakeCheckpoint(CheckpointClass checkpoint_class, size_t turns) {
  Checkpoint checkpoint;
  checkpoint.checkpoint_class = checkpoint_class;
  checkpoint.lineage = slot_->lineage();
  checkpoint.turns = turns;
  if (cache_->Holds(slot_->name_space(), slot_->tokens(), checkpoint.lineage)) return;
  // On the grid, segments lead back without one.
  if (checkpoint.on_grid() && !engine_->traits().NeedsSnapshots()) return;
  Bytes snapshot;
  if (engine_->traits().NeedsSnapshots()) {
    auto taken = slot_->TakeSnapshot();
    if (!taken) return;
    snapshot = std::move(*taken);
  }
  if (cache_->Insert(slot_->name_space(), slot_->tokens(), checkpoint, std::move(snapshot))) {
    ++stats_.checkpoints_taken;
  }
}

void SlotKeeper::KeepEnd(std::span<const float> logits) {
  if (!options_.keep_ends) return;
  const Provenance& provenance = slot_->provenance();
  const size_t last_cut = LastCut(slot_->tokens().size(), options_.grid_tokens);
  Checkpoint checkpoint;
  checkpoint.checkpoint_class = CheckpointClass::kEnd;
  checkpoint.lineage = slot_->lineage();
  checkpoint.cold_end = provenance.clean >= last_cut;
  checkpoint.logits_bytes = logits.size_bytes();
  Bytes bytes;
  if (engine_->traits().NeedsSnapshots()) {
    auto taken = slot_->TakeSnapshot();
    if (!taken) return;
    bytes = std::move(*taken);
  }
  const size_t snapshot_bytes = bytes.size();
  bytes.resize(snapshot_bytes + logits.size_bytes());
  std::memcpy(bytes.data() + snapshot_bytes, logits.data(), logits.size_bytes());
  if (cache_->Insert(slot_->name_space(), slot_->tokens(), checkpoint, std::move(bytes))) {
    ++stats_.checkpoints_taken;
  }
}

}  // namespace cairn
