#include "sched/steps/prefill.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "sched/request/prefill_chunks.h"

namespace cairn {
namespace {

// Fewer tokens say little about the time that one takes in a long chunk.
constexpr size_t kMeasuredTokensMin = 32;

// As many tokens of the nearest prompt as a person needs to see where it diverged.
constexpr size_t kNextTokensMax = 64;

// The rows of logits of a chunk whose prompt is scored: libllama keeps a buffer for the most rows
// of any decode so far, and a row has a number for each token of the vocabulary.
constexpr size_t kLogitsBytesMax = size_t{128} << 20U;

// As much of an earlier answer as a draft may repeat.
constexpr size_t kEarlierTokensMax = 8192;

// While the rows of a medium are prefilled, the next medium can be encoded. Those further ahead are
// encoded when it is their turn, because their request may be cancelled, and their rows take
// memory.
constexpr size_t kMediaAhead = 2;

// Returns the marks that are used, moved to where their checkpoints can be.
std::vector<ClientMark> PlacedMarks(const PromptShape& shape, const PromptCuts& cuts) {
  std::vector<ClientMark> placed;
  for (const ClientMark& mark : shape.marks) {
    if (placed.size() == kMarksMax) break;
    std::vector<Placement> place = {{mark.position, CheckpointClass::kMark}};
    KeepOutOfReasoning(shape, cuts, &place);
    if (!place.empty()) placed.push_back({place.front().position, mark.keep_ms});
  }
  return placed;
}

}  // namespace

ReuseReport Prefill::NearestOf(const GenerationRequest& request,
                               const CheckpointCache::MatchResult& match) const {
  const TokenSpan prompt = request.prompt;
  ReuseReport nearest;
  nearest.reuse_allowed = request.reuse;
  nearest.scores_prompt = request.params.prompt_logprobs.has_value();
  nearest.prompt_tokens = prompt.size();
  nearest.shared_tokens = match.shared;
  nearest.stored_next = cache_->StoredNext(request.name_space, prompt, kNextTokensMax);
  for (size_t i = 0; i < engine_->slots(); ++i) {
    const Slot& slot = slots_->pool.slot(i);
    if (slot.name_space() != request.name_space) continue;
    const size_t shared = CommonPrefix(slot.tokens(), prompt);
    const bool ends = shared == slot.tokens().size();
    if (shared == 0 || shared < nearest.shared_tokens) continue;
    if (shared == nearest.shared_tokens && !ends) continue;
    const TokenSpan next = TokenSpan(slot.tokens()).subspan(shared);
    const TokenSpan shown = next.first(std::min(next.size(), kNextTokensMax));
    nearest.shared_tokens = shared;
    nearest.stored_next.assign(shown.begin(), shown.end());
  }
  return nearest;
}

// A slot loses what follows the prompt when the prompt resumes in it.
Tokens Prefill::EarlierAnswerTo(const GenerationRequest& request,
                                const CheckpointCache::MatchResult& match) const {
  const TokenSpan prompt = request.prompt;
  for (size_t i = 0; i < engine_->slots(); ++i) {
    const Slot& slot = slots_->pool.slot(i);
    const TokenSpan held = slot.tokens();
    if (slot.name_space() != request.name_space || held.size() <= prompt.size()) continue;
    if (CommonPrefix(held, prompt) < prompt.size()) continue;
    const TokenSpan answer = held.subspan(prompt.size());
    const TokenSpan kept = answer.first(std::min(answer.size(), kEarlierTokensMax));
    return {kept.begin(), kept.end()};
  }
  if (match.shared < prompt.size()) return {};
  return cache_->StoredNext(request.name_space, prompt, kEarlierTokensMax);
}

void Prefill::Resume(RunningRequest* request) {
  const GenerationRequest& asked = request->request;
  const bool again = request->has_begun();
  // A preload does not show how conversations continue.
  const bool is_new = !again && !asked.preloads;
  if (is_new) prefetcher_->OnRequest(asked, request->admission);
  RefreshCache(cache_, clock_->NowMs());
  if (asked.preloads && preload_.EndIfAtHand(request)) return;
  const auto match =
      MatchOf(*cache_, asked.name_space, request->prefill_tokens, request->reads_disk);
  if (is_new) cache_->Learn(asked.shape, match);
  ReuseReport nearest;
  if (!again) nearest = NearestOf(asked, match);
  if (!again && options_.keeps_earlier_answers) {
    request->earlier_answer = EarlierAnswerTo(asked, match);
  }
  accounts_->trace.OnSlotWanted();
  SlotNeeds needs{
      asked.name_space, request->prefill_tokens, request->may_reuse(), &match, asked.slot, again};
  needs.cache_key = asked.cache_key;
  Restorer::Resumed resumed = slots_->restorer.Resume(needs);
  if (const auto filled = std::exchange(request->filled, std::nullopt)) {
    // The slot holds it since; where it came from is what counts.
    const bool used = filled->slot == resumed.slot &&
                      filled->report.reused_tokens == resumed.report.reused_tokens;
    const bool same_key_slot = resumed.report.same_key_slot;
    if (used) resumed.report = filled->report;
    resumed.report.same_key_slot = same_key_slot;
  }
  accounts_->trace.OnResumed(resumed.slot, resumed.report);
  if (resumed.report.disk_tokens > 0) {
    resumed.report.restore_ms +=
        std::exchange(request->times.load_ms, 0) + std::exchange(request->times.fetch_ms, 0);
  }
  CountRestore(resumed.report);
  request->slot = resumed.slot;
  slots_->pool.entry(resumed.slot).prompt_turns = asked.shape.turns.size();
  request->prefill_begin_tokens = running_->slot_tokens(*request);
  request->marks = PlacedMarks(asked.shape, rules_->CutsOf(asked.prompt));
  for (const ClientMark& mark : request->marks) KeepMark(request, mark);
  if (!again) ReportReuse(request, std::move(nearest), std::move(resumed.report));
  if (!resumed.logits.empty()) {
    accounts_->trace.OnPrefilled(*request->slot);
    return Finish(request, resumed.logits);
  }
  if (request->has_placeholder) return preload_.Plan(request);
  if (!again) PlanCheckpoints(request, match);
}

void Prefill::CountRestore(const ReuseReport& report) {
  if (report.ram_tokens + report.disk_tokens == 0) return;
  accounts_->stats.Update([&](SchedulerStats* stats) {
    (report.disk_tokens > 0 ? stats->latencies.disk_restore : stats->latencies.ram_restore)
        .AddMs(report.restore_ms);
  });
}

void Prefill::ReportReuse(RunningRequest* request, ReuseReport nearest, ReuseReport resumed) {
  const size_t reused_tokens = request->prefill_begin_tokens;
  request->cost.reused_tokens = std::max(request->cost.reused_tokens, reused_tokens);
  const size_t prefetched_tokens =
      request->request.preloads ? 0 : prefetcher_->CountUsed(request->request, reused_tokens);
  if (request->report == nullptr) {
    resumed.reuse_allowed = nearest.reuse_allowed;
    resumed.scores_prompt = nearest.scores_prompt;
    resumed.prompt_tokens = nearest.prompt_tokens;
    resumed.shared_tokens = std::max(nearest.shared_tokens, resumed.reused_tokens);
    resumed.stored_next = std::move(nearest.stored_next);
    resumed.prefetched_tokens = std::min(prefetched_tokens, resumed.reused_tokens);
    request->report = std::make_shared<const ReuseReport>(std::move(resumed));
  }
  running_->answer_reporter().PushProgress(*request, running_->slot_tokens(*request));
}

bool Prefill::StopsAtDivergence(const Slot& slot, const PromptCuts& cuts, size_t position) const {
  const size_t begin = slot.tokens().size();
  if (!slots_->pool.options().leave_grid) return false;
  if (position <= begin || position >= cuts.tokens()) return false;
  const bool is_clean = slot.provenance().clean == begin;
  const size_t cut = std::max(cuts.AtOrBefore(position), begin);
  return MayLeaveGrid(cut, position, cuts.tokens(), is_clean);
}

// The chunk after a position off the grid ends as it would without other checkpoints, and those are
// needed more.
void Prefill::KeepChunkAfterDivergence(const RunningRequest& request, const PromptCuts& cuts,
                                       size_t position, std::vector<Placement>* plan) const {
  PromptCuts plain = cuts;
  plain.AllowOffGrid(0);
  if (plain.Has(position)) return;
  const size_t end = EndOffCuts(plain, RulesFor(request, plain), position);
  const bool meets_other = std::any_of(plan->begin(), plan->end(), [&](const Placement& other) {
    return other.position > position && other.position < end;
  });
  if (!meets_other) return;
  std::erase_if(*plan, [position](const Placement& at) { return at.position == position; });
}

void Prefill::PlanCheckpoints(RunningRequest* request, const CheckpointCache::MatchResult& match) {
  const MemoryTraits& traits = engine_->traits();
  if (!traits.NeedsSnapshots()) return;
  CheckpointCache::PlanInput input;
  input.resumed_tokens = request->prefill_begin_tokens;
  input.cuts = rules_->CutsOf(request->request.prompt);
  const Slot& slot = SlotOf(*request);
  if (StopsAtDivergence(slot, input.cuts, match.shared)) input.cuts.AllowOffGrid(match.shared);
  input.chunk_tokens = engine_->chunk_tokens_max();
  input.snapshot_bytes = traits.snapshot_bytes;
  // The first chunk after an answer passes the boundary of the next message. An edit of that
  // message resumes from here instead.
  const bool passes = slot.ends_in_answer() && (!rules_->cuts().message_starts.empty() ||
                                                rules_->chunk_rules().turn_tokens_max > 0);
  if (passes && !rules_->exact() && request->prefill_begin_tokens > 0) {
    slots_->checkpoints.Take(*request->slot, CheckpointClass::kReply,
                             request->request.shape.turns.size());
  }
  request->plan = cache_->Plan(request->request.shape, match, input);
  KeepChunkAfterDivergence(*request, input.cuts, match.shared, &request->plan);
}

void Prefill::KeepMark(RunningRequest* request, const ClientMark& mark) {
  const TokenSpan prompt = request->request.prompt;
  if (mark.position > SlotOf(*request).tokens().size()) return;
  const NamespaceId name_space = request->request.name_space;
  if (!cache_->Keep(name_space, prompt.first(mark.position), mark.keep_ms)) return;
  request->cost.kept_tokens = std::max(request->cost.kept_tokens, mark.position);
}

Contender Prefill::ContenderOf(const RunningRequest& request) const {
  const size_t slot_tokens = running_->slot_tokens(request);
  const double now_ms = clock_->NowMs();
  Contender contender{request.number, request.request.name_space, request.has_begun(),
                      slots_->restorer.PrefillMs(request.prefill_tokens.size() - slot_tokens),
                      now_ms - request.times.submitted_ms};
  queue_->ForEach([&](QueuedRequest* waiter) {
    if (waiter->wait.reader != request.admission) return;
    const double prefill_ms =
        slots_->restorer.PrefillMs(waiter->request.prompt.size() - slot_tokens);
    const double waited_ms = now_ms - waiter->times.submitted_ms;
    if (prefill_ms - waited_ms >= contender.prefill_ms - contender.waited_ms) return;
    contender.prefill_ms = prefill_ms;
    contender.waited_ms = waited_ms;
  });
  return contender;
}

template <typename Request>
std::vector<Request*> Prefill::Ordered(std::vector<Request*> requests) const {
  if (requests.size() < 2) return requests;
  std::vector<Contender> contenders;
  for (const RunningRequest* request : requests) contenders.push_back(ContenderOf(*request));
  return InOrder(requests, contenders, accounts_->shares);
}

std::vector<const RunningRequest*> Prefill::MediaRequests() const {
  std::vector<const RunningRequest*> requests;
  for (const RunningRequest& request : running_->all()) {
    if (request.answering() || request.request.media.empty()) continue;
    if (request.request.media.back().begin < running_->slot_tokens(request)) continue;
    requests.push_back(&request);
  }
  return Ordered(std::move(requests));
}

std::vector<WantedMedium> Prefill::NeededMedia(const RunningRequest& request) const {
  const size_t begin = running_->slot_tokens(request);
  const bool waits = request.rows && *request.rows == nullptr;
  const bool has_next = request.rows_begin == begin && !waits;
  std::vector<WantedMedium> needed;
  for (const PromptMedium& medium : request.request.media) {
    if (medium.begin < begin || (medium.begin == begin && has_next)) continue;
    // Its pieces are encoded together.
    if (!needed.empty() && needed.back().medium == medium.medium) continue;
    if (needed.size() == kMediaAhead) break;
    needed.push_back({request.request.name_space, medium.medium, medium.begin == begin});
  }
  return needed;
}

// The next medium of each request comes before the media after it.
void Prefill::WantMedia() {
  EncodedMedia* const media = options_.media;
  if (media == nullptr) return;
  for (const EncodeTime& time : media->TakeTimes()) {
    accounts_->shares.Charge(time.name_space, time.ms);
  }
  std::vector<std::vector<WantedMedium>> needed;
  for (const RunningRequest* request : MediaRequests()) needed.push_back(NeededMedia(*request));
  std::vector<WantedMedium> wanted;
  for (size_t ahead = 0; ahead < kMediaAhead; ++ahead) {
    for (const std::vector<WantedMedium>& of_request : needed) {
      if (ahead < of_request.size()) wanted.push_back(of_request[ahead]);
    }
  }
  media->SetWanted(wanted);
}

const PromptMedium* Prefill::NextMedium(const RunningRequest& request) const {
  const size_t begin = running_->slot_tokens(request);
  const std::vector<PromptMedium>& media = request.request.media;
  const auto next = std::find_if(media.begin(), media.end(), [begin](const PromptMedium& medium) {
    return medium.begin == begin;
  });
  return next == media.end() ? nullptr : &*next;
}

bool Prefill::WaitsForMedium(RunningRequest* request) {
  const PromptMedium* const medium = NextMedium(*request);
  if (medium == nullptr || options_.media == nullptr) return false;
  if (std::exchange(request->rows_begin, medium->begin) != medium->begin) request->rows = nullptr;
  const auto waits = [request] { return request->rows && *request->rows == nullptr; };
  if (!waits()) return false;
  request->rows = options_.media->Get(request->request.name_space, *medium);
  return waits();
}

std::vector<RunningRequest*> Prefill::WaitingRequests() {
  std::vector<RunningRequest*> unfinished;
  waits_for_media_ = false;
  for (RunningRequest& request : running_->all()) {
    if (request.answering() || request.is_held()) continue;
    if (WaitsForMedium(&request)) {
      waits_for_media_ = true;
    } else {
      unfinished.push_back(&request);
    }
  }
  waits_for_media_ = waits_for_media_ && unfinished.empty();
  return Ordered(std::move(unfinished));
}

void Prefill::BeginHeld() {
  group_.Clear();
  for (RunningRequest* request : group_.Held()) {
    const std::vector<float> logits = std::exchange(request->held_logits, {});
    Finish(request, logits);
  }
}

bool Prefill::Step() {
  const std::vector<RunningRequest*> waiting = WaitingRequests();
  WantMedia();
  if (waiting.empty()) {
    BeginHeld();
    return false;
  }
  RunningRequest* const request = waiting.front();
  if (!group_.Has(*request)) {
    // Its prompt may be long, so those that are held do not wait for it.
    BeginHeld();
    group_.Begin(waiting, accounts_->pace->group_tokens_max());
  }
  const bool answers_wait = running_->has_decoding();
  const std::vector<PlannedChunk> chunks = PlanChunks(waiting);
  size_t tokens = 0;
  for (const PlannedChunk& planned : chunks) tokens += planned.tokens();
  const double chunk_ms = static_cast<double>(tokens) * MsPerToken(*request);
  AnswerPace& pace = *accounts_->pace;
  if (answers_wait && !pace.MayPrefill(clock_->NowMs(), chunk_ms)) return false;
  if (chunks.size() > 1) {
    ComputeTogether(chunks);
  } else {
    ComputeChunk(request, chunks.front().chunk);
  }
  // The account begins with the first answer.
  if (!answers_wait) pace.OnNoAnswers(clock_->NowMs());
  return true;
}

bool Prefill::MayWaitForMore() const {
  const AnswerPace& pace = *accounts_->pace;
  if (pace.group_tokens_max() == 0) return false;
  return !running_->has_decoding() || pace.MayPrefill(clock_->NowMs(), 0);
}

bool Prefill::AnswersCanWait() const {
  const bool has_more =
      running_->unprefilled_tokens() > 0 || (slots_->pool.has_free() && !queue_->empty());
  return has_more && running_->has_decoding() && accounts_->pace->MayPrefill(clock_->NowMs(), 0);
}

// A preempted answer whose state could not be restored continues as if it had never stopped: its
// prompt is cut into the same chunks, and its tokens are decoded one by one again.
size_t Prefill::ChunksEnd(const RunningRequest& request) const {
  const size_t prompt_tokens = request.request.prompt.size();
  const bool complete = request.prefill_tokens.size() == prompt_tokens + request.answer.size();
  const bool again = request.has_begun() && complete && rules_->reuse() != ReuseMode::kAny;
  return again ? prompt_tokens : request.prefill_tokens.size();
}

Status Prefill::Compute(RunningRequest* request, const TokenRange& range, bool is_answer) {
  Slot& slot = SlotOf(*request);
  const TokenSpan tokens = request->prefill_tokens;
  TraceSpan span = accounts_->trace.Span("prefill");
  const TokenSpan chunk = tokens.subspan(range.begin, range.end - range.begin);
  Status computed;
  if (IsMediaToken(chunk.front())) {
    computed = ComputeMedium(request, chunk);
  } else {
    computed = is_answer ? slot.DecodeAnswered(tokens[range.begin])
                         : slot.Prefill(chunk, request->scores_prompt());
  }
  accounts_->trace.EndChunk(&span, *request->slot, range);
  return computed;
}

Status Prefill::ComputeMedium(RunningRequest* request, TokenSpan tokens) {
  const PromptMedium* const medium = NextMedium(*request);
  // Only prompts that were made of stored tokens come without their media.
  if (medium == nullptr || options_.media == nullptr) {
    return Fail(ErrorCode::kUnavailable, "the prompt has a medium that is not at hand");
  }
  const auto rows = std::exchange(request->rows, nullptr);
  if (!rows) {
    return Fail(rows.error().code, medium->medium->place + ": " + rows.error().message);
  }
  CHECK(*rows != nullptr);  // else WaitingRequests had left it out
  if ((*rows)->rows != tokens.size()) {
    return Fail(ErrorCode::kInternal, "the medium was encoded into another number of rows");
  }
  return SlotOf(*request).PrefillMedium(tokens, **rows);
}

double Prefill::MsPerToken(const RunningRequest& request) const {
  return request.chunk_ms_per_token > 0 ? request.chunk_ms_per_token
                                        : slots_->restorer.prefill_ms_per_token();
}

size_t Prefill::WantedTokens(const RunningRequest& request) const {
  const double ms_per_token = MsPerToken(request);
  if (!running_->has_decoding() || ms_per_token <= 0) return SIZE_MAX;
  // The load of the server must not show in the bits of these.
  const bool has_grid = engine_->traits().grid_tokens > 0;
  if (request.scores_prompt() || (rules_->exact() && !has_grid)) return SIZE_MAX;
  const double tokens = accounts_->pace->ChunkMsMax(clock_->NowMs()) / ms_per_token;
  if (tokens >= static_cast<double>(engine_->chunk_tokens_max())) return SIZE_MAX;
  return std::max(static_cast<size_t>(tokens), kUsualGridTokens);
}

Prefill::Chunk Prefill::NextChunk(const RunningRequest& request) const {
  const size_t begin = running_->slot_tokens(request);
  const size_t chunks_end = ChunksEnd(request);
  if (begin >= chunks_end) return {{begin, begin + 1}, true};
  return {{begin, ChunkEnd(request, begin, chunks_end)}, false};
}

// They depend on the prompt alone and never on stored states, so that a conversation that was
// interrupted is cut as one that was not.
ChunkRules Prefill::RulesFor(const RunningRequest& request, const PromptCuts& cuts) const {
  ChunkRules rules = rules_->chunk_rules();
  const PromptShape& shape = request.request.shape;
  const bool live = rules_->reuse() == ReuseMode::kLive;
  // Other conversations resume at the system prefix's end.
  const size_t last = cuts.BoundaryAtOrBefore(shape.tokens);
  const bool needs_last = last != cuts.ForCheckpoint(shape.messages_end) ||
                          last <= cuts.ForCheckpoint(shape.header_end) || !shape.reply_follows;
  // Where the memory can be truncated anywhere, a later prompt that lacks the generation prompt
  // resumes inside the chunk.
  const bool truncates = !engine_->traits().NeedsSnapshots();
  rules.passes_last_boundary = live && request.marks.empty() && (truncates || !needs_last);
  if (rules.turn_tokens_max == 0) return rules;
  const size_t begin = running_->slot_tokens(request);
  const auto stop_at = [&](size_t stop) {
    if (stop <= begin || stop >= cuts.tokens()) return;
    rules.needed_stop = rules.needed_stop == 0 ? stop : std::min(rules.needed_stop, stop);
  };
  if (!shape.reply_follows) stop_at(cuts.ForCheckpoint(shape.messages_end));
  for (const ClientMark& mark : request.marks) stop_at(mark.position);
  return rules;
}

size_t Prefill::ChunkEnd(const RunningRequest& request, size_t begin, size_t chunks_end) const {
  const size_t stop = request.plan.empty() ? 0 : request.plan.front().position;
  const TokenSpan tokens = TokenSpan(request.prefill_tokens).first(chunks_end);
  const Slot& slot = slots_->pool.slot(*request.slot);
  const PromptCuts cuts = rules_->CutsOf(tokens);
  ChunkRules rules = RulesFor(request, cuts);
  if (request.scores_prompt()) {
    // At least a step of the grid, so that the bits are those of any other prompt.
    const size_t row_bytes = engine_->info().vocab_size * sizeof(float);
    const size_t rows = std::max(kLogitsBytesMax / std::max<size_t>(row_bytes, 1),
                                 std::max<size_t>(rules_->cuts().grid_tokens, 1));
    rules.chunk_tokens_max = std::min(rules.chunk_tokens_max, rows);
  }
  rules.wanted_tokens = WantedTokens(request);
  return NextChunkEnd(cuts, rules, begin, stop, slot.provenance().clean == begin);
}

void Prefill::ScoreChunk(RunningRequest* request, const TokenRange& range) const {
  const Tokens& prompt = request->request.prompt;
  std::vector<TokenLogprob>& scores = request->prompt_logprobs;
  // A request that lost its slot begins again.
  CHECK(range.begin <= scores.size());
  scores.resize(range.begin);
  for (size_t at = range.begin; at < range.end && at + 1 < prompt.size(); ++at) {
    scores.push_back(FindLogprobs(*engine_, engine_->LogitsOf(at - range.begin), prompt[at + 1],
                                  *request->request.params.prompt_logprobs));
  }
}

void Prefill::ComputeChunk(RunningRequest* request, const Chunk& chunk) {
  const double begin_ms = clock_->NowMs();
  if (const Status computed = Compute(request, chunk.range, chunk.is_answer); !computed) {
    if (computed.error().code == ErrorCode::kNoSpace) return running_->PreemptForRoom(request);
    return running_->Fail(request, computed.error());
  }
  if (request->scores_prompt()) ScoreChunk(request, chunk.range);
  // A GPU may still be computing; the logits at the end wait for all of it.
  const double ms = clock_->NowMs() - begin_ms;
  accounts_->CountDecode(running_->size());
  OnComputed(request, chunk, ms, engine_->Logits());
}

void Prefill::OnComputed(RunningRequest* request, const Chunk& chunk, double ms,
                         std::span<const float> logits) {
  const size_t end = chunk.range.end;
  const size_t tokens = end - chunk.range.begin;
  request->prefill_ms += ms;
  if (tokens >= kMeasuredTokensMin) request->chunk_ms_per_token = ms / static_cast<double>(tokens);
  prefetcher_->OnPrefilled(tokens);
  slots_->offloader.CountBeside(tokens);
  accounts_->shares.Charge(request->request.name_space, ms);
  if (running_->has_decoding()) accounts_->pace->OnPrefill(ms);
  running_->answer_reporter().PushProgress(*request, running_->slot_tokens(*request));
  // A chunk that began off the grid passes those inside it.
  std::erase_if(request->plan, [end](const Placement& at) { return at.position < end; });
  if (!request->plan.empty() && request->plan.front().position == end) TakeCheckpoint(request);
  if (request->has_placeholder && end >= preload_.EndOf(*request)) {
    return preload_.Finish(request);
  }
  if (end < request->prefill_tokens.size()) return;
  slots_->restorer.ObservePrefill(end - request->prefill_begin_tokens, request->prefill_ms);
  FinishAndKeepEnd(request, logits);
}

void Prefill::FinishAndKeepEnd(RunningRequest* request, std::span<const float> logits) {
  // Logits of a scored prompt may have other last digits than a cold server's, so they are kept
  // only where the request has further answers.
  const bool keeps_scored = request->request.answers > 1 && !rules_->exact();
  const bool keeps_end = !request->has_begun() && (!request->scores_prompt() || keeps_scored);
  // An answer of one token ends with it, and whoever reads it may ask what is stored.
  const bool one_token = request->request.params.tokens_max <= 1;
  const size_t slot = *request->slot;
  const bool is_held = !one_token && group_.WaitsForOthers(*request);
  if (keeps_end && (one_token || is_held)) slots_->checkpoints.TakeEnd(slot, logits);
  accounts_->trace.OnPrefilled(slot);
  if (is_held) {
    request->held_logits.assign(logits.begin(), logits.end());
    return;
  }
  if (group_.Has(*request)) BeginHeld();
  Finish(request, logits);
  // Other first tokens do not wait for the copy of the state. The request may have ended; the slot
  // and the logits stay as they are until the next step.
  if (keeps_end && !one_token) slots_->checkpoints.TakeEnd(slot, logits);
}

void Prefill::TakeCheckpoint(RunningRequest* request) {
  const Placement& place = request->plan.front();
  slots_->checkpoints.Take(*request->slot, place.checkpoint_class,
                           request->request.shape.turns.size());
  for (const ClientMark& mark : request->marks) {
    if (mark.position == place.position) KeepMark(request, mark);
  }
  request->plan.erase(request->plan.begin());
}

void Prefill::Finish(RunningRequest* request, std::span<const float> logits) {
  if (!request->has_begun()) {
    request->times.first_token_ms = clock_->NowMs();
    request->cost.prompt_ms = request->times.first_token_ms - request->times.admitted_ms;
    accounts_->stats.Update([&](SchedulerStats* stats) {
      stats->latencies.first_token.AddMs(request->times.first_token_ms -
                                         request->times.submitted_ms);
    });
    running_->answer_reporter().PushPrompt(request);
    request->generation->MarkPromptPrefilled();
  }
  decoder_->Begin(request, logits, std::move(request->earlier_answer));
}

}  // namespace cairn
