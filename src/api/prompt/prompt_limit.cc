#include "api/prompt/prompt_limit.h"

#include <string>

#include "sched/prompt_too_long.h"

namespace cairn {

size_t PromptBytesMin(const Conversation& conversation) {
  size_t bytes = 0;
  for (const Message& message : conversation.messages) {
    const bool stays = message.role == Role::kUser || message.role == Role::kTool;
    if (!stays) continue;
    bytes += message.content.size();
    // A medium may become fewer tokens than its marker has bytes.
    for (const MarkedMedium& marked : FindMarkers(message.content, conversation.media)) {
      bytes -= marked.end - marked.begin;
    }
  }
  return bytes;
}

ApiResult<void> CheckPromptBytes(const Engine& engine, size_t bytes) {
  const size_t token_bytes_max = engine.info().token_bytes_max;
  if (token_bytes_max == 0) return {};
  const size_t tokens_min = bytes / token_bytes_max;
  if (tokens_min < engine.context_tokens()) return {};
  ApiError error =
      ToApiError(PromptTooLong("at least " + std::to_string(tokens_min), engine.context_tokens()));
  error.prompt_tokens = tokens_min;
  error.context_tokens = engine.context_tokens();
  return tl::unexpected(error);
}

}  // namespace cairn
