#include "sched/answer/schedule_trace.h"

#include <string>

#include "policy/placement.h"

namespace cairn {
namespace {

constexpr uint32_t kRequests = kTraceNumbersFree;  // shown as a process

std::string_view TierOf(const ReuseReport& report) {
  if (report.disk_tokens > 0) return "disk";
  return report.ram_tokens > 0 ? "ram" : "live";
}

}  // namespace

TraceArgs TraceArgsOf(const ReuseReport& report) {
  TraceArgs args;
  args.Add("path", PathName(report.path)).Add("tokens", report.reused_tokens);
  if (report.reused_tokens > 0) args.Add("tier", TierOf(report));
  if (report.checkpoint)
    args.Add("class", CheckpointClassName(report.checkpoint->checkpoint_class));
  if (report.restored_bytes > 0) args.Add("bytes", report.restored_bytes);
  return args;
}

ScheduleTrace::ScheduleTrace(TraceEvents* events, size_t slots) : events_(events), lives_(slots) {
  if (events_ == nullptr) return;
  for (size_t slot = 0; slot < slots; ++slot) {
    events_->NameTrack(TrackOf(slot), "requests", "slot " + std::to_string(slot));
  }
}

TraceTrack ScheduleTrace::TrackOf(size_t slot) {
  return {kRequests, kRequests + 1 + static_cast<uint32_t>(slot)};
}

void ScheduleTrace::EndChunk(TraceSpan* piece, size_t slot, const TokenRange& read) {
  if (events_ == nullptr) return;
  const size_t tokens = read.end - read.begin;
  piece->Add("slot", slot).Add("from", read.begin).Add("tokens", tokens).End();
  CountChunk(slot, tokens);
}

void ScheduleTrace::AddChunk(const TraceSpan& together, size_t slot, const TokenRange& read) {
  if (events_ == nullptr) return;
  TraceArgs args;
  args.Add("slot", slot).Add("from", read.begin).Add("tokens", read.end - read.begin);
  events_->Span(events_->OwnTrack(), "prefill", together.begin_ms(), events_->NowMs(), args);
  CountChunk(slot, read.end - read.begin);
}

void ScheduleTrace::CountChunk(size_t slot, size_t tokens) {
  prefill_tokens_ += tokens;
  prefill_slots_.push_back(slot);
  lives_[slot].chunk_tokens += tokens;
}

void ScheduleTrace::EndDecode(TraceSpan* decode, std::span<const NextToken> tokens) {
  if (events_ == nullptr) return;
  std::vector<size_t> slots;
  for (const NextToken& token : tokens) slots.push_back(static_cast<size_t>(token.seq));
  decode->Add("tokens", tokens.size()).Add("slots", slots).End();
  decode_slots_.insert(decode_slots_.end(), slots.begin(), slots.end());
}

void ScheduleTrace::EndPrefetch(TraceSpan* prefetch, size_t slot, const TokenRange& read) {
  if (events_ == nullptr) return;
  TraceArgs args;
  args.Add("from", read.begin).Add("tokens", read.end - read.begin);
  events_->Span(TrackOf(slot), "prefetch", prefetch->begin_ms(), events_->NowMs(), args);
  prefetch->Add("slot", slot).Add(args).End();
}

void ScheduleTrace::EndStep(TraceSpan* step, bool busy) {
  if (events_ == nullptr) return;
  step->Add("prefill_tokens", prefill_tokens_).Add("prefill_slots", prefill_slots_);
  step->Add("decode_tokens", decode_slots_.size()).Add("decode_slots", decode_slots_);
  if (busy) {
    step->End();
  } else {
    step->Drop();
  }
  prefill_tokens_ = 0;
  prefill_slots_.clear();
  decode_slots_.clear();
}

void ScheduleTrace::OnLeavesQueue(const Answer& answer, std::string_view end) {
  if (events_ == nullptr) return;
  TraceArgs args;
  args.Add("request", answer.number);
  if (!end.empty()) args.Add("end", end);
  events_->LooseSpan(kRequests, "queued", answer.number, answer.queued_ms, events_->NowMs(), args);
}

void ScheduleTrace::OnSlotWanted() {
  if (events_ == nullptr) return;
  wanted_ms_ = events_->NowMs();
  // Later than the request it is part of: if two spans begin together, viewers take the one written
  // first as the outer one.
  resuming_ms_ = events_->NowMs();
}

void ScheduleTrace::OnResumed(size_t slot, const ReuseReport& report) {
  if (events_ == nullptr) return;
  const double now_ms = events_->NowMs();
  lives_[slot] = {wanted_ms_, now_ms};
  events_->Span(TrackOf(slot), "resume", resuming_ms_, now_ms, TraceArgsOf(report));
}

void ScheduleTrace::OnPrefilled(size_t slot) {
  if (events_ == nullptr) return;
  Life& life = lives_[slot];
  life.prefilled_ms = events_->NowMs();
  if (life.chunk_tokens == 0) return;
  events_->Span(TrackOf(slot), "prefill", life.resumed_ms, *life.prefilled_ms,
                TraceArgs().Add("tokens", life.chunk_tokens));
}

void ScheduleTrace::OnLeavesSlot(size_t slot, const Answer& answer, const GenerationCost& cost,
                                 std::string_view end) {
  if (events_ == nullptr) return;
  const bool read = lives_[slot].prefilled_ms.has_value();
  if (!read) OnPrefilled(slot);
  const Life& life = lives_[slot];
  const double now_ms = events_->NowMs();
  TraceArgs args;
  args.Add("generated_tokens", cost.generated_tokens);
  if (read) events_->Span(TrackOf(slot), "answer", *life.prefilled_ms, now_ms, args);
  args.Add("request", answer.number).Add("end", end).Add("prompt_tokens", cost.prompt_tokens);
  args.Add("reused_tokens", cost.reused_tokens);
  events_->Span(TrackOf(slot), "request", life.wanted_ms, now_ms, args);
}

void ScheduleTrace::OnCounts(const Counts& counts) {
  if (events_ == nullptr) return;
  const bool first = !counts_.has_value();
  const Counts was = counts_.value_or(counts);
  counts_ = counts;
  // Writes a line only at a change, because every step has values.
  if (first || counts.running != was.running || counts.waiting != was.waiting) {
    events_->Counter("requests",
                     TraceArgs().Add("running", counts.running).Add("waiting", counts.waiting));
  }
  if (first || counts.slot_tokens != was.slot_tokens) {
    events_->Counter("slots", TraceArgs().Add("tokens", counts.slot_tokens));
  }
  if (first || counts.cache_bytes != was.cache_bytes) {
    events_->Counter("cache", TraceArgs().Add("bytes", counts.cache_bytes));
  }
}

void ScheduleTrace::OnSleep(bool asleep) {
  if (events_ == nullptr) return;
  events_->Counter("asleep", TraceArgs().Add("asleep", asleep ? 1U : 0U));
}

}  // namespace cairn
