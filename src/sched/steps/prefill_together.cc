// The part of Prefill that computes chunks of several prompts at once.

#include <algorithm>
#include <iterator>
#include <map>
#include <vector>

#include "media/media_tokens.h"
#include "sched/request/adapter_name_space.h"
#include "sched/steps/prefill.h"

namespace cairn {

// With a stream for each slot, and with recurrent states, libllama computes equal numbers of tokens
// of sequences whose numbers follow one another, and what does not fit in calls of its own. Then
// unequal chunks take twice as long together as apart (docs/serve_tried.md).
std::vector<Prefill::PlannedChunk> Prefill::PlanChunks(
    std::span<RunningRequest* const> in_order) const {
  RunningRequest& first = *in_order.front();
  const PlannedChunk planned = {&first, NextChunk(first)};
  const MemoryTraits& traits = engine_->traits();
  // Neighbours change the last bits, which `exact` promises to keep.
  const bool shares = traits.chunks_together && !rules_->exact();
  const auto may_share = [&](const RunningRequest& request) {
    return group_.Has(request) && !request.scores_prompt() && !request.has_placeholder &&
           AdapterSetOf(request.request.name_space) == AdapterSetOf(first.request.name_space);
  };
  const auto is_text = [](const PlannedChunk& of) {
    return !of.chunk.is_answer && !IsMediaToken(of.request->prefill_tokens[of.chunk.range.begin]);
  };
  if (!shares || !may_share(first) || !is_text(planned)) return {planned};
  const bool any_fits = traits.one_buffer && traits.memory_class == MemoryClass::kAttention;
  std::map<size_t, PlannedChunk> by_slot = {{*first.slot, planned}};
  for (RunningRequest* const other : in_order.subspan(1)) {
    // Where a chunk ends is found by a look at all of its prompt.
    if (!may_share(*other)) continue;
    const PlannedChunk of_other = {other, NextChunk(*other)};
    const bool fits = any_fits || of_other.tokens() == planned.tokens();
    if (fits && is_text(of_other)) by_slot[*other->slot] = of_other;
  }
  const auto at_first = by_slot.find(*first.slot);
  const double ms_per_token = MsPerToken(first);
  auto tokens_max = static_cast<double>(engine_->chunk_tokens_max());
  if (running_->has_decoding() && ms_per_token > 0) {
    tokens_max = std::min(tokens_max, accounts_->pace->ChunkMsMax(clock_->NowMs()) / ms_per_token);
  }
  size_t tokens = planned.tokens();
  std::vector<PlannedChunk> chunks = {planned};
  const auto take = [&](size_t slot, const PlannedChunk& next, bool in_front) {
    const size_t neighbour = *(in_front ? chunks.front() : chunks.back()).request->slot;
    const bool follows = any_fits || (in_front ? slot + 1 == neighbour : slot == neighbour + 1);
    if (!follows || static_cast<double>(tokens + next.tokens()) > tokens_max) {
      return false;
    }
    tokens += next.tokens();
    chunks.insert(in_front ? chunks.begin() : chunks.end(), next);
    return true;
  };
  for (auto next = std::next(at_first); next != by_slot.end(); ++next) {
    if (!take(next->first, next->second, /*in_front=*/false)) break;
  }
  for (auto next = std::make_reverse_iterator(at_first); next != by_slot.rend(); ++next) {
    if (!take(next->first, next->second, /*in_front=*/true)) break;
  }
  return chunks;
}

void Prefill::ComputeTogether(const std::vector<PlannedChunk>& chunks) {
  std::vector<SlotChunk> parts;
  size_t tokens = 0;
  for (const PlannedChunk& planned : chunks) {
    const TokenSpan prompt = planned.request->prefill_tokens;
    parts.push_back(
        {&SlotOf(*planned.request), prompt.subspan(planned.chunk.range.begin, planned.tokens())});
    tokens += planned.tokens();
  }
  TraceSpan span = accounts_->trace.Span("prefill");
  const double begin_ms = clock_->NowMs();
  const Status computed = PrefillTogether(engine_, parts);
  if (!computed && computed.error().code == ErrorCode::kNoSpace) {
    span.Drop();
    return ComputeChunk(chunks.front().request, chunks.front().chunk);
  }
  const double ms_per_token = (clock_->NowMs() - begin_ms) / static_cast<double>(tokens);
  accounts_->CountDecode(running_->size());
  size_t end = 0;
  for (const PlannedChunk& planned : chunks) {
    accounts_->trace.AddChunk(span, *planned.request->slot, planned.chunk.range);
  }
  span.Drop();
  for (const PlannedChunk& planned : chunks) {
    end += planned.tokens();
    if (computed) {
      OnComputed(planned.request, planned.chunk,
                 ms_per_token * static_cast<double>(planned.tokens()), engine_->LogitsOf(end - 1));
    } else {
      running_->Fail(planned.request, computed.error());
    }
  }
}

}  // namespace cairn
