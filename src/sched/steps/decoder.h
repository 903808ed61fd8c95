// Decoder: decodes the next token of every answer in one batch, and samples the token after it.
// With speculative decoding it decodes drafted tokens as well, and samples after each of those that
// turn out to be right (sched/steps/speculation.h). With --reuse exact each answer is decoded
// alone, so that a batch changes no bits. Answers with different LoRA adapters are decoded one set
// after the other.
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_STEPS_DECODER_H_
#define CAIRN_SCHED_STEPS_DECODER_H_

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "sched/context/step_accounts.h"
#include "sched/queue/running_requests.h"
#include "sched/request/request_state.h"
#include "sched/slots/offloader.h"
#include "sched/slots/slot_mover.h"
#include "sched/slots/slot_pool.h"
#include "sched/steps/speculation.h"

namespace cairn {

struct DecoderOptions {
  bool exact = false;          // each answer is decoded alone
  bool drafts = false;         // answers may have drafts
  bool context_shift = false;  // see SchedulerOptions
};

class Decoder {
 public:
  // All must outlive this object.
  Decoder(Engine* engine, const Clock* clock, SlotPool* pool, Offloader* offloader,
          StepAccounts* accounts, const DecoderOptions& options, RunningRequests* running,
          Speculation speculation)
      : engine_(engine),
        clock_(clock),
        pool_(pool),
        offloader_(offloader),
        mover_(pool, offloader),
        accounts_(accounts),
        options_(options),
        running_(running),
        speculation_(std::move(speculation)) {}

  // Returns false if no request is decoding.
  bool DecodeAnswers();
  // Samples the first token of an answer, whose prompt is computed, and sends its text. The request
  // may have ended afterwards. `earlier_answer`: the tokens that followed the same prompt before.
  void Begin(RunningRequest* request, std::span<const float> logits, Tokens earlier_answer);

 private:
  // How an answer ends.
  struct AnswerEnd {
    FinishReason reason = FinishReason::kStop;
    std::optional<Error> error = {};
  };
  // An answer in a batch: its next token, then its draft.
  struct Decoding {
    RunningRequest* request = nullptr;
    Draft draft = {};
    Bytes snapshot = {};  // for Speculation::RollBack
    size_t first = 0;     // index of its next token in the batch
    size_t accepted = 0;  // drafted tokens
    std::optional<AnswerEnd> end = {};
  };

  // Returns false if the context had no room; then some of the requests may be gone.
  bool DecodeBatch(std::span<RunningRequest* const> requests);
  // Adds drafts to the answers that may have one.
  void AddDrafts(std::vector<Decoding>* answers);
  // Decodes the answers' tokens; if there is no room for drafts, without them.
  Status DecodeTokens(std::vector<Decoding>* answers);
  Status DecodeTokensOnce(std::vector<Decoding>* answers);
  // Samples after each token of an answer until a drafted one is rejected or the answer ends.
  void SampleEach(Decoding* answer);
  // Rolls rejected tokens back, and ends the answers that end.
  void FinishBatch(std::vector<Decoding>* answers);

  // Samples the next token of an answer and sends its text. Returns how the answer ends, if it
  // does.
  std::optional<AnswerEnd> Sample(RunningRequest* request, std::span<const float> logits);
  void End(RunningRequest* request, AnswerEnd end);
  // Adds a sampled token to the answer and sends its text.
  void AddToAnswer(RunningRequest* request, Token token, std::span<const float> logits);
  // Requests at the end of the context drop their oldest tokens, or end.
  void MakeRoomInContext();
  // Drops the older half of the tokens after those to keep, as llama-server does, and shifts the
  // rest to follow them. Returns false if the answer ends here.
  bool ShiftContext(RunningRequest* request);
  Slot& SlotOf(const RunningRequest& request) { return pool_->slot(*request.slot); }

  Engine* const engine_;
  const Clock* const clock_;
  SlotPool* const pool_;
  Offloader* const offloader_;
  SlotMover mover_;
  StepAccounts* const accounts_;
  const DecoderOptions options_;
  RunningRequests* const running_;
  Speculation speculation_;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_STEPS_DECODER_H_
