#include "sched/decoder.h"

#include <string>
#include <vector>

#include "engine/token_text.h"

namespace cairn {

bool Decoder::DecodeAnswers() {
  MakeRoomInContext();
  std::vector<RunningRequest*> answering;
  for (RunningRequest& request : running_->all()) {
    if (request.answering()) answering.push_back(&request);
  }
  if (answering.empty()) return false;
  const size_t batch_size = context_->exact() ? 1 : answering.size();
  const std::span<RunningRequest* const> requests = answering;
  const double begin_ms = context_->NowMs();
  for (size_t i = 0; i < requests.size(); i += batch_size) {
    if (!DecodeBatch(requests.subspan(i, batch_size))) break;
  }
  context_->time_share.OnDecode(context_->NowMs() - begin_ms);
  return true;
}

void Decoder::MakeRoomInContext() {
  for (auto next = running_->all().begin(); next != running_->all().end();) {
    RunningRequest* const request = &*next++;
    if (!request->answering()) continue;
    if (running_->slot_tokens(*request) + 1 < context_->engine->context_tokens()) continue;
    if (!ShiftContext(request)) running_->Finish(request, FinishReason::kLength);
  }
}

bool Decoder::DecodeBatch(std::span<RunningRequest* const> requests) {
  std::vector<NextToken> tokens;
  for (const RunningRequest* request : requests) {
    const Slot& slot = SlotOf(*request);
    tokens.push_back({slot.seq(), slot.tokens().size(), *request->next});
  }
  const double begin_ms = context_->NowMs();
  TraceSpan span(context_->options.trace, "decode");
  const Status decoded = context_->engine->DecodeEach(tokens);
  context_->trace.EndDecode(&span, tokens);
  const double ms = context_->NowMs() - begin_ms;
  for (const RunningRequest* request : requests) {
    context_->shares.Charge(request->request.name_space, ms / static_cast<double>(requests.size()));
  }
  context_->offloader.CountBeside(requests.size());
  if (decoded) {
    SampleEach(requests, tokens);
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

void Decoder::SampleEach(std::span<RunningRequest* const> requests,
                         std::span<const NextToken> tokens) {
  const TraceSpan span(context_->options.trace, "sample");
  for (size_t i = 0; i < requests.size(); ++i) {
    // The request may be gone afterwards, so its namespace is copied.
    const NamespaceId name_space = requests[i]->request.name_space;
    const double begin_ms = context_->NowMs();
    SlotOf(*requests[i]).AddDecoded(tokens[i].token);
    Sample(requests[i], context_->engine->LogitsOf(i));
    context_->shares.Charge(name_space, context_->NowMs() - begin_ms);
  }
}

void Decoder::Sample(RunningRequest* request, std::span<const float> logits) {
  const GenerationParams& params = request->request.params;
  const std::optional<Token> forced = request->reasoning.ForceOn(request->sampler.get());
  const Token token = forced ? *forced : request->sampler->Sample(logits);
  if (token == Sampler::kNoToken) {
    return running_->Fail(request, {ErrorCode::kInvalidArgument,
                                    "the grammar allows no token of the model at this point of the "
                                    "answer; simplify the grammar or allow more"});
  }
  request->next = token;
  if (request->cost.generated_tokens >= params.tokens_max) {
    return running_->Finish(request, FinishReason::kLength);
  }
  ++request->cost.generated_tokens;
  if (context_->engine->IsEndOfGeneration(token) && !params.ignore_end && !forced) {
    return running_->Finish(request, FinishReason::kStop);
  }
  AddToAnswer(request, token, logits);
  if (!request->text->stopped_by().empty()) {
    return running_->Finish(request, FinishReason::kStop);
  }
  if (request->cost.generated_tokens >= params.tokens_max) {
    return running_->Finish(request, FinishReason::kLength);
  }
  const bool full = running_->slot_tokens(*request) + 1 >= context_->engine->context_tokens();
  // Other answers' logits are still to be sampled from, so the shift waits for the next token.
  if (full && !context_->options.context_shift) running_->Finish(request, FinishReason::kLength);
}

void Decoder::AddToAnswer(RunningRequest* request, Token token, std::span<const float> logits) {
  const GenerationParams& params = request->request.params;
  request->answer.push_back(token);
  const std::string text = TokenText(*context_->engine, token, params.control_texts);
  request->reasoning.Add(text);
  request->cost.reasoning_tokens = request->reasoning.tokens();
  if (params.logprobs) {
    request->logprobs.Add(FindLogprobs(*context_->engine, logits, token, *params.logprobs),
                          text.size());
  }
  running_->answer_reporter().PushText(request, request->text->Push(text));
}

bool Decoder::ShiftContext(RunningRequest* request) {
  if (!context_->options.context_shift) return false;
  const GenerationParams& params = request->request.params;
  const ModelInfo& info = context_->engine->info();
  const size_t tokens = request->cost.prompt_tokens + request->cost.generated_tokens;
  // Without a limit, an answer that its model does not end would never end.
  if (params.tokens_max == SIZE_MAX && tokens >= info.train_context_tokens) return false;
  const size_t bos = info.adds_bos ? 1 : 0;
  const size_t keep = params.keep_tokens < 0 ? request->cost.prompt_tokens
                                             : bos + static_cast<size_t>(params.keep_tokens);
  TraceSpan span(context_->options.trace, "context shift");
  const size_t dropped = context_->mover.DropOldest(*request->slot, keep);
  request->cost.shifted_tokens += dropped;
  span.Add("slot", *request->slot).Add("dropped", dropped);
  return dropped > 0;
}

}  // namespace cairn
