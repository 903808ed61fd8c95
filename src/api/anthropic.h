// The answers of POST /v1/messages and /v1/messages/count_tokens, in Anthropic's words.
//
// `input_tokens` are the prompt's tokens that were read; those a checkpoint spared are
// `cache_read_input_tokens`. Nothing is told as written to the cache: every prompt is kept, and the
// client pays for none of it.

#ifndef CAIRN_API_ANTHROPIC_H_
#define CAIRN_API_ANTHROPIC_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "api/answer_identity.h"
#include "api/answer_reader.h"
#include "api/api_error.h"
#include "api/chat_service.h"
#include "api/json.h"

namespace cairn {

// Waits for the whole answer. `gone` is asked while it waits: true ends the work.
ApiResult<std::string> CollectMessage(StartedChat chat, const AnswerIdentity& identity,
                                      const std::function<bool()>& gone);

// {"input_tokens": N} for the body of a count_tokens request: the tokens of the whole prompt.
ApiResult<std::string> CountTokensBody(const ChatService& service, std::string_view body,
                                       NamespaceId name_space);

// {"type": "error", "error": {"type", "message"}}. A prompt that is too long is told in the words
// that clients look for: "prompt is too long: N tokens > M maximum".
std::string MessagesErrorBody(const ApiError& error);

// An answer as Server-Sent Events. Used by one thread.
//
//   event: message_start          at once, before the prompt is read: its usage is all 0
//   event: content_block_start    then deltas and content_block_stop; one block after the other:
//                                 thinking, text, tool_use
//   event: message_delta          stop_reason, and the true usage
//   event: message_stop
//   event: error                  instead of what is left, when the work fails
class MessageStream {
 public:
  MessageStream(StartedChat chat, AnswerIdentity identity);

  // Waits a moment for more and appends it to `chunk`. False: that was all.
  bool Next(std::string* chunk);
  // The client is gone.
  void Cancel() { reader_.Cancel(); }

 private:
  enum class Block : uint8_t { kNone, kThinking, kText, kToolUse };

  void AppendPiece(const AnswerPiece& piece, std::string* chunk);
  void OpenBlock(Block block, Json content, std::string* chunk);
  void CloseBlock(std::string* chunk);
  void AppendDelta(Json delta, std::string* chunk) const;

  AnswerReader reader_;
  const AnswerIdentity identity_;
  bool begun_ = false;
  Block open_ = Block::kNone;
  size_t index_ = 0;  // of the open block, or of the next one
};

}  // namespace cairn

#endif  // CAIRN_API_ANTHROPIC_H_
