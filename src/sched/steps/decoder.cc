#include "sched/steps/decoder.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/token_text.h"
#include "sched/request/adapter_name_space.h"

namespace cairn {

bool Decoder::DecodeAnswers() {
  MakeRoomInContext();
  std::vector<RunningRequest*> answering;
  for (RunningRequest& request : running_->all()) {
    if (request.decodes()) answering.push_back(&request);
  }
  if (answering.empty()) return false;
  // One computation has one set of adapters, so each set has a batch of its own. Where each slot
  // has a stream of its own, libllama computes together only sequences whose numbers follow one
  // another.
  const auto set_of = [](const RunningRequest* request) {
    return AdapterSetOf(request->request.name_space);
  };
  std::sort(answering.begin(), answering.end(), [&](const auto* a, const auto* b) {
    return std::pair(set_of(a), *a->slot) < std::pair(set_of(b), *b->slot);
  });
  const std::span<RunningRequest* const> requests = answering;
  const double begin_ms = clock_->NowMs();
  for (size_t begin = 0; begin < requests.size();) {
    size_t end = begin + 1;
    while (!options_.exact && end < requests.size() &&
           set_of(requests[end]) == set_of(requests[begin])) {
      ++end;
    }
    if (!DecodeBatch(requests.subspan(begin, end - begin))) break;
    begin = end;
  }
  const double end_ms = clock_->NowMs();
  accounts_->pace->OnDecode(end_ms, end_ms - begin_ms);
  return true;
}

void Decoder::MakeRoomInContext() {
  for (auto next = running_->all().begin(); next != running_->all().end();) {
    RunningRequest* const request = &*next++;
    if (!request->decodes()) continue;
    if (running_->slot_tokens(*request) + 1 < engine_->context_tokens()) continue;
    if (!ShiftContext(request)) running_->Finish(request, FinishReason::kLength);
  }
}

bool Decoder::DecodeBatch(std::span<RunningRequest* const> requests) {
  std::vector<Decoding> answers;
  for (RunningRequest* request : requests) answers.push_back({request});
  const double begin_ms = clock_->NowMs();
  AddDrafts(&answers);
  const Status decoded = DecodeTokens(&answers);
  const double ms = clock_->NowMs() - begin_ms;
  for (const RunningRequest* request : requests) {
    accounts_->shares.Charge(request->request.name_space,
                             ms / static_cast<double>(requests.size()));
  }
  offloader_->CountBeside(requests.size());
  if (decoded) {
    const TraceSpan span = accounts_->trace.Span("sample");
    for (Decoding& answer : answers) SampleEach(&answer);
    FinishBatch(&answers);
    return true;
  }
  if (decoded.error().code == ErrorCode::kNoSpace) {
    running_->PreemptForRoom(requests.back());
    return false;
  }
  for (RunningRequest* request : requests) {
    SlotOf(*request).Lose();
    running_->Fail(request, decoded.error());
  }
  return true;
}

void Decoder::AddDrafts(std::vector<Decoding>* answers) {
  PlannedDecode planned{answers->size(), static_cast<double>(answers->size())};
  for (Decoding& answer : *answers) {
    if (!answer.request->drafts.on()) continue;
    answer.draft = speculation_.Propose(answer.request, &planned);
  }
  std::vector<ProposedDraft> proposed;
  for (Decoding& answer : *answers) proposed.push_back({answer.request, &answer.draft});
  speculation_.AskHeads(proposed);
  for (Decoding& answer : *answers) {
    if (answer.draft.tokens.empty()) continue;
    auto snapshot = speculation_.Prepare(&SlotOf(*answer.request), answer.draft.tokens.size());
    if (snapshot) {
      answer.snapshot = std::move(*snapshot);
    } else {
      answer.draft = {};
    }
  }
}

Status Decoder::DecodeTokens(std::vector<Decoding>* answers) {
  Status decoded = DecodeTokensOnce(answers);
  const bool has_drafts = std::any_of(answers->begin(), answers->end(), [](const Decoding& answer) {
    return !answer.draft.tokens.empty();
  });
  if (decoded || decoded.error().code != ErrorCode::kNoSpace || !has_drafts) return decoded;
  for (Decoding& answer : *answers) answer.draft = {};
  return DecodeTokensOnce(answers);
}

Status Decoder::DecodeTokensOnce(std::vector<Decoding>* answers) {
  std::vector<NextToken> tokens;
  for (Decoding& answer : *answers) {
    const Slot& slot = SlotOf(*answer.request);
    size_t position = slot.tokens().size();
    answer.first = tokens.size();
    tokens.push_back({slot.seq(), position, *answer.request->next});
    for (const Token drafted : answer.draft.tokens) {
      tokens.push_back({slot.seq(), ++position, drafted});
    }
  }
  TraceSpan span = accounts_->trace.Span("decode");
  const double begin_ms = clock_->NowMs();
  const NamespaceId name_space = answers->front().request->request.name_space;
  Status decoded = engine_->UseAdapters(AdapterSetOf(name_space));
  if (decoded) decoded = engine_->DecodeEach(tokens);
  if (decoded) accounts_->CountDecode(running_->size());
  if (decoded) speculation_.OnDecoded(tokens.size(), clock_->NowMs() - begin_ms);
  accounts_->trace.EndDecode(&span, tokens);
  return decoded;
}

void Decoder::SampleEach(Decoding* answer) {
  RunningRequest* const request = answer->request;
  const double begin_ms = clock_->NowMs();
  const Tokens& draft = answer->draft.tokens;
  while (true) {
    SlotOf(*request).AddDecoded(*request->next);
    answer->end = Sample(request, engine_->LogitsOf(answer->first + answer->accepted));
    const bool is_right = !answer->end && answer->accepted < draft.size() &&
                          *request->next == draft[answer->accepted];
    if (!is_right) break;
    ++answer->accepted;
  }
  accounts_->shares.Charge(request->request.name_space, clock_->NowMs() - begin_ms);
}

// After all answers were sampled: a rollback may decode, and then the logits are gone.
void Decoder::FinishBatch(std::vector<Decoding>* answers) {
  for (Decoding& answer : *answers) {
    const Draft& draft = answer.draft;
    if (draft.tokens.empty()) continue;
    speculation_.OnVerified(answer.request, draft, answer.accepted);
    if (answer.accepted == draft.tokens.size()) continue;
    Slot& slot = SlotOf(*answer.request);
    const Status rolled = speculation_.RollBack(&slot, answer.accepted, answer.snapshot);
    if (!rolled && !answer.end) answer.end = AnswerEnd{FinishReason::kStop, rolled.error()};
  }
  for (Decoding& answer : *answers) {
    if (answer.end) End(answer.request, std::move(*answer.end));
  }
}

void Decoder::Begin(RunningRequest* request, std::span<const float> logits, Tokens earlier_answer) {
  if (auto end = Sample(request, logits)) return End(request, std::move(*end));
  // The first token is sent: it does not wait for the drafters.
  if (options_.drafts && !request->drafts.on()) {
    request->drafts = speculation_.Begin(request->request.name_space, std::move(earlier_answer));
  }
}

void Decoder::End(RunningRequest* request, AnswerEnd end) {
  if (end.error) return running_->Fail(request, std::move(*end.error));
  running_->Finish(request, end.reason);
}

std::optional<Decoder::AnswerEnd> Decoder::Sample(RunningRequest* request,
                                                  std::span<const float> logits) {
  const GenerationParams& params = request->request.params;
  const std::optional<Token> forced = request->reasoning.ForceOn(request->sampler.get());
  const Token token = forced ? *forced : request->sampler->Sample(logits);
  if (token == Sampler::kNoToken) {
    return AnswerEnd{FinishReason::kStop,
                     Error{ErrorCode::kInvalidArgument,
                           "the grammar allows no token of the model at this point of the answer; "
                           "simplify the grammar or allow more"}};
  }
  request->next = token;
  if (request->cost.generated_tokens >= params.tokens_max) return AnswerEnd{FinishReason::kLength};
  ++request->cost.generated_tokens;
  if (engine_->IsEndOfGeneration(token) && !params.ignore_end && !forced) {
    if (params.logprobs && params.end_logprob) {
      request->held.Add(token, FindLogprobs(*engine_, logits, token, *params.logprobs), 0);
    } else {
      request->end_token = token;
    }
    return AnswerEnd{FinishReason::kStop};
  }
  AddToAnswer(request, token, logits);
  if (!request->text->stopped_by().empty()) return AnswerEnd{FinishReason::kStop};
  if (request->cost.generated_tokens >= params.tokens_max) return AnswerEnd{FinishReason::kLength};
  const bool full = running_->slot_tokens(*request) + 1 >= engine_->context_tokens();
  // Other answers' logits are still to be sampled from, so the shift waits for the next token.
  if (full && !options_.context_shift) return AnswerEnd{FinishReason::kLength};
  return std::nullopt;
}

void Decoder::AddToAnswer(RunningRequest* request, Token token, std::span<const float> logits) {
  const GenerationParams& params = request->request.params;
  request->answer.push_back(token);
  const std::string text = params.shows_control ? engine_->Piece(token, true)
                                                : TokenText(*engine_, token, params.control_texts);
  request->reasoning.Add(text);
  request->cost.reasoning_tokens = request->reasoning.tokens();
  std::optional<TokenLogprob> logprob;
  if (params.logprobs) {
    logprob =
        params.sampled_logprobs
            ? FindSampledLogprobs(*engine_, request->sampler->Candidates(), token, *params.logprobs)
            : FindLogprobs(*engine_, logits, token, *params.logprobs);
  }
  request->held.Add(token, std::move(logprob), text.size());
  running_->answer_reporter().PushText(request, request->text->Push(text));
}

bool Decoder::ShiftContext(RunningRequest* request) {
  // A medium is dropped whole or not at all, so none is.
  if (!options_.context_shift || !request->request.media.empty()) return false;
  const GenerationParams& params = request->request.params;
  const ModelInfo& info = engine_->info();
  const size_t tokens = request->cost.prompt_tokens + request->cost.generated_tokens;
  // Without a limit, an answer that its model does not end would never end.
  if (params.tokens_max == SIZE_MAX && tokens >= info.train_context_tokens) return false;
  const size_t bos = info.adds_bos ? 1 : 0;
  const size_t keep = params.keep_tokens < 0 ? request->cost.prompt_tokens
                                             : bos + static_cast<size_t>(params.keep_tokens);
  TraceSpan span = accounts_->trace.Span("context shift");
  const size_t dropped = mover_.DropOldest(*request->slot, keep);
  request->cost.shifted_tokens += dropped;
  span.Add("slot", *request->slot).Add("dropped", dropped);
  return dropped > 0;
}

}  // namespace cairn
