// RequestObserver: hears of every answer that ended, with all that the scheduler knows of it. For
// whoever keeps a record (trace/trace_writer.h); the scheduler itself does no I/O.
//
// Threads: the context thread calls, so an observer that takes long makes everyone wait.

#ifndef CAIRN_SCHED_ANSWER_REQUEST_OBSERVER_H_
#define CAIRN_SCHED_ANSWER_REQUEST_OBSERVER_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/tokens.h"
#include "policy/prompt_shape.h"
#include "sched/answer/generation.h"

namespace cairn {

enum class EndedBy : uint8_t {
  kModel,      // the model ended it
  kStopText,   // a stop text came
  kLength,     // tokens_max or the context was reached
  kCancelled,  // somebody ended it, or the client went away
  kFailed,
};

// Of one answer. What it points to lives as long as the call.
struct EndedAnswer {
  uint64_t request = 0;  // the same for all answers of one request, and of no other
  size_t answer = 0;     // which of those asked for
  size_t answers = 1;    // that were asked for
  uint32_t name_space = 0;
  const PromptShape& shape;
  TokenSpan prompt;
  TokenSpan tokens;  // of the answer, without the one that ended it
  EndedBy ended_by = EndedBy::kModel;
  bool reuse = true;            // false: all of the prompt was to be read
  std::optional<size_t> slot;   // the last one it had
  size_t processed_tokens = 0;  // of the prompt, reused ones among them
  double submitted_ms = 0;      // on the scheduler's clock
  const GenerationCost& cost;
};

class RequestObserver {
 public:
  virtual ~RequestObserver() = default;
  // Once for each answer that was accepted, in the order in which they ended.
  virtual void OnAnswerEnd(const EndedAnswer& answer) = 0;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_ANSWER_REQUEST_OBSERVER_H_
