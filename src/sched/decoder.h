// Decoder: decodes the next token of every answer in one batch, and samples the token after it.
// With --reuse exact each answer is decoded alone, so that a batch changes no bits.
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_DECODER_H_
#define CAIRN_SCHED_DECODER_H_

#include <span>

#include "sched/request_state.h"
#include "sched/running_requests.h"
#include "sched/scheduler_context.h"

namespace cairn {

class Decoder {
 public:
  // Both must outlive this object.
  Decoder(SchedulerContext* context, RunningRequests* running)
      : context_(context), running_(running) {}

  // Returns false if no request is decoding.
  bool DecodeAnswers();
  // Samples the next token of an answer and sends its text. The request may have ended afterwards.
  void Sample(RunningRequest* request, std::span<const float> logits);

 private:
  // Returns false if the context had no room; then some of the requests may be gone.
  bool DecodeBatch(std::span<RunningRequest* const> requests);
  void SampleEach(std::span<RunningRequest* const> requests, std::span<const NextToken> tokens);
  // Adds a sampled token to the answer and sends its text.
  void AddToAnswer(RunningRequest* request, Token token, std::span<const float> logits);
  // Requests at the end of the context drop their oldest tokens, or end.
  void MakeRoomInContext();
  // Drops the older half of the tokens after those to keep, as llama-server does, and shifts the
  // rest to follow them. Returns false if the answer ends here.
  bool ShiftContext(RunningRequest* request);
  Slot& SlotOf(const RunningRequest& request) { return context_->pool.slot(*request.slot); }

  SchedulerContext* const context_;
  RunningRequests* const running_;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_DECODER_H_
