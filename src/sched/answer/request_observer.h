// RequestObserver: receives every answer that ended, with all that the scheduler knows of it, for
// records such as trace/trace_writer.h. The scheduler itself does no I/O.
//
// Threads: called by the context thread, so a slow observer delays all requests.

#ifndef CAIRN_SCHED_ANSWER_REQUEST_OBSERVER_H_
#define CAIRN_SCHED_ANSWER_REQUEST_OBSERVER_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/tokens.h"
#include "cache/objects/segment_index.h"
#include "policy/prompt_shape.h"
#include "sched/answer/generation.h"

namespace cairn {

enum class EndedBy : uint8_t {
  kModel,      // the model ended it
  kStopText,   // a stop text came
  kLength,     // tokens_max or the context was reached
  kCancelled,  // a caller ended it, or the client disconnected
  kFailed,
};

// One answer. Its references are valid during the call.
struct EndedAnswer {
  uint64_t request = 0;  // the same for all answers of one request, and unique among requests
  size_t answer = 0;     // index among the answers of the request
  size_t answers = 1;    // of the request
  NamespaceId name_space = 0;
  const PromptShape& shape;
  TokenSpan prompt;
  TokenSpan tokens;  // of the answer, without the one that ended it
  EndedBy ended_by = EndedBy::kModel;
  bool reuse = true;            // false: the complete prompt was to be prefilled
  std::optional<size_t> slot;   // the last one it had
  size_t processed_tokens = 0;  // of the prompt, including reused ones
  double submitted_ms = 0;      // by the scheduler's clock
  const GenerationCost& cost;
};

class RequestObserver {
 public:
  virtual ~RequestObserver() = default;
  // Called once for each answer that was accepted, in the order in which they ended.
  virtual void OnAnswerEnd(const EndedAnswer& answer) = 0;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_ANSWER_REQUEST_OBSERVER_H_
