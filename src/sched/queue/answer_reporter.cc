#include "sched/queue/answer_reporter.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace cairn {
namespace {

EndedBy EndedByOf(FinishReason reason, bool stopped_by_text) {
  if (reason == FinishReason::kCancelled) return EndedBy::kCancelled;
  if (reason == FinishReason::kLength) return EndedBy::kLength;
  return stopped_by_text ? EndedBy::kStopText : EndedBy::kModel;
}

}  // namespace

std::string_view FinishWord(FinishReason reason) {
  if (reason == FinishReason::kCancelled) return "cancelled";
  return reason == FinishReason::kLength ? "length" : "stop";
}

void AnswerReporter::PushText(RequestState* request, std::string text) const {
  // Tokens without text wait for the next text, unless their log-probabilities are to be told.
  if (text.empty() && request->held.without_logprobs()) return;
  HeldTokens::Taken taken = request->held.Take(request->text->unsent_bytes());
  if (text.empty() && taken.logprobs.empty()) return;
  GenerationEvent event;
  event.tokens = std::move(taken.tokens);
  event.logprobs = std::move(taken.logprobs);
  event.answer = request->answer_index;
  event.text = std::move(text);
  event.cost = request->cost;
  event.cost.generated_ms = clock_->NowMs() - request->times.first_token_ms;
  request->generation->Push(std::move(event));
}

void AnswerReporter::PushPrompt(RequestState* request) const {
  if (request->prompt_logprobs.empty()) return;
  GenerationEvent event;
  event.answer = request->answer_index;
  event.prompt_logprobs = std::exchange(request->prompt_logprobs, {});
  event.cost = request->cost;
  request->generation->Push(std::move(event));
}

void AnswerReporter::PushProgress(const RequestState& request, size_t slot_tokens) const {
  if (request.has_begun() || request.answer_index > 0) return;
  GenerationEvent event;
  event.kind = GenerationEvent::Kind::kProgress;
  event.processed_tokens = slot_tokens;
  event.report = request.report;
  event.cost = request.cost;
  event.cost.prompt_ms = clock_->NowMs() - request.times.admitted_ms;
  request.generation->Push(std::move(event));
}

void AnswerReporter::CountFinished(const RequestState& ended, const SlotUse& use) const {
  // If a prompt was cancelled halfway, the rest is neither computed nor reused.
  const size_t prompt_tokens =
      ended.has_begun() ? ended.cost.prompt_tokens : std::max(use.tokens, ended.cost.reused_tokens);
  const double prompt_ms =
      ended.has_begun() ? ended.cost.prompt_ms : clock_->NowMs() - ended.times.admitted_ms;
  stats_->Update([&](SchedulerStats* stats) {
    ++stats->requests;
    stats->tokens.prompt += prompt_tokens;
    stats->prompt_sources.Add(ended.report.get(), prompt_tokens);
    stats->tokens.reused += ended.cost.reused_tokens;
    stats->tokens.generated += ended.cost.generated_tokens;
    stats->tokens.prompt_ms += prompt_ms;
    stats->tokens.generated_ms += ended.cost.generated_ms;
    stats->slot_counters = pool_->counters();
    stats->cache = cache_->stats();
    stats->unsaved_bytes = offloader_->UnstoredBytes();
  });
}

void AnswerReporter::Finish(RequestState ended, const SlotUse& use, FinishReason reason) const {
  PushText(&ended, ended.text->Finish());
  if (ended.has_begun()) ended.cost.generated_ms = clock_->NowMs() - ended.times.first_token_ms;
  CountFinished(ended, use);
  GenerationEvent done;
  done.kind = GenerationEvent::Kind::kDone;
  done.slot = use.slot.value_or(0);
  done.answer = ended.answer_index;
  done.reason = reason;
  done.context_full = reason == FinishReason::kLength &&
                      ended.cost.generated_tokens < ended.request.params.tokens_max;
  done.stop_text = ended.text->stopped_by();
  done.tokens = ended.held.TakeAll();
  if (ended.end_token) done.tokens.push_back(*ended.end_token);
  done.cost = ended.cost;
  done.report = ended.report;
  if (ended.request.on_answer) {
    ended.request.on_answer({ended.answer, done.stop_text, reason, ended.admission});
  }
  Observe(ended, EndedByOf(reason, !done.stop_text.empty()), use);
  save_lag_->OnAnswer(clock_->NowMs());
  ended.generation->Push(std::move(done));
  ended.generation->MarkPromptPrefilled();
}

void AnswerReporter::Fail(RequestState ended, const SlotUse& use, Error error) const {
  stats_->Update([](SchedulerStats* stats) { ++stats->failed; });
  Observe(ended, EndedBy::kFailed, use);
  GenerationEvent event;
  event.kind = GenerationEvent::Kind::kFailed;
  event.answer = ended.answer_index;
  event.error = std::move(error);
  event.cost = ended.cost;
  ended.generation->Push(std::move(event));
  ended.generation->MarkPromptPrefilled();
}

void AnswerReporter::FinishQueued(RequestState ended, FinishReason reason) const {
  if (ended.times.admitted_ms == 0) ended.times.admitted_ms = clock_->NowMs();
  trace_->OnLeavesQueue({ended.number, ended.times.queued_ms}, FinishWord(reason));
  Finish(std::move(ended), {}, reason);
}

void AnswerReporter::FailQueued(RequestState ended, Error error) const {
  if (ended.times.admitted_ms == 0) ended.times.admitted_ms = clock_->NowMs();
  trace_->OnLeavesQueue({ended.number, ended.times.queued_ms}, "failed");
  Fail(std::move(ended), {}, std::move(error));
}

void AnswerReporter::Observe(const RequestState& ended, EndedBy ended_by,
                             const SlotUse& use) const {
  if (observer_ == nullptr) return;
  const GenerationRequest& request = ended.request;
  const size_t prompt_tokens = request.prompt.size();
  observer_->OnAnswerEnd({
      .request = ended.number - ended.answer_index,
      .answer = ended.answer_index,
      .answers = request.answers,
      .name_space = request.name_space,
      .shape = request.shape,
      .prompt = request.prompt,
      .tokens = ended.answer,
      .ended_by = ended_by,
      .reuse = request.reuse,
      .slot = use.slot,
      // A request that was preempted in the middle of its answer had computed its prompt.
      .processed_tokens =
          std::min(ended.has_begun() ? ended.cost.prompt_tokens : use.tokens, prompt_tokens),
      .submitted_ms = ended.times.submitted_ms,
      .cost = ended.cost,
  });
}

}  // namespace cairn
