#include "sched/request/generation_request.h"

namespace cairn {

Error PromptTooLong(const std::string& tokens, size_t context_tokens) {
  return {ErrorCode::kTooLong,
          "the request has " + tokens + " tokens, which exceeds the available context size of " +
              std::to_string(context_tokens) +
              " tokens; shorten it or start the server with a larger --ctx-size"};
}

}  // namespace cairn
