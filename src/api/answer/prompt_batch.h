// PromptBatch: the prompts of one request, of which each gets an answer or several. They are
// submitted a few at a time, so that a list may be longer than the queue, and other clients'
// requests come in between. All events come through one generation:
//
//   answers   0 … n-1        to the first prompt
//             n … 2n-1       to the second
//             …
//
// Threads: one at a time.

#ifndef CAIRN_API_ANSWER_PROMPT_BATCH_H_
#define CAIRN_API_ANSWER_PROMPT_BATCH_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "api/api_error.h"
#include "api/service/chat_service.h"
#include "engine/adapters/adapter_sets.h"
#include "sched/request/generation_request.h"

namespace cairn {

class PromptBatch {
 public:
  // Each request is for the same number of answers. `service` outlives this object, and the
  // generation the caller's use of it. REQUIRES: `requests` is not empty.
  PromptBatch(const ChatService* service, std::vector<GenerationRequest> requests);

  // Submits the first prompts. Returns the error of a prompt that is too long, or the queue's if it
  // takes none; nothing is running then.
  ApiResult<std::shared_ptr<Generation>> Begin();
  // Call with every event of the generation. When a prompt's answers have ended, the next prompts
  // are submitted; on an error the generation fails. When the generation is cancelled, the answers
  // to prompts that were not submitted end as cancelled ones.
  void See(const GenerationEvent& event);

 private:
  // Submits prompts while there is a slot for each answer. An error is that of a prompt; a full
  // queue is none while other prompts of the batch are running.
  ApiResult<void> SubmitMore();
  void EndUnsubmitted();
  size_t running() const { return submitted_ * answers_ - ended_; }

  const ChatService* const service_;
  const std::shared_ptr<Generation> whole_ = std::make_shared<Generation>();
  const size_t answers_;  // to each prompt
  std::vector<GenerationRequest> requests_;
  AdapterSets::Held adapters_held_;  // that of all prompts, also between two of them
  size_t submitted_ = 0;             // prompts
  size_t ended_ = 0;                 // answers
};

}  // namespace cairn

#endif  // CAIRN_API_ANSWER_PROMPT_BATCH_H_
