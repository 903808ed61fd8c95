// The answers of POST /v1/messages and /v1/messages/count_tokens, in Anthropic's words.
//
// The tokens of a prompt are told in three parts, as Anthropic does:
//
//   0               reused            last mark        end
//   | cache_read_input_tokens | cache_creation_… | input_tokens |
//
// Those that were read up to the client's last mark (`cache_control`) are `cache_creation`; without
// marks nothing is, although every prompt is kept.

#ifndef CAIRN_API_ANTHROPIC_ANTHROPIC_H_
#define CAIRN_API_ANTHROPIC_ANTHROPIC_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/answer/answer_identity.h"
#include "api/answer/answer_reader.h"
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
//   event: message_start          as soon as a slot is found and it is known what is reused; a
//                                 ping follows at once
//   event: content_block_start    then deltas and content_block_stop; one block after the other:
//                                 thinking, text, tool_use
//   event: message_delta          stop_reason, and the true usage; `cairn` where it was asked for
//   event: message_stop
//   event: error                  instead of what is left, when the work fails
class MessageStream {
 public:
  MessageStream(StartedChat chat, AnswerIdentity identity);

  // Waits a moment for more and appends it to `chunk`. False: that was all.
  bool Next(std::string* chunk);
  // The client is gone.
  void Abandon() { reader_.Abandon(); }
  // What may be sent between two chunks to show that the stream is alive.
  std::string_view ping() const;

 private:
  enum class Block : uint8_t { kNone, kThinking, kText, kToolUse };

  void Begin(const GenerationCost& cost, std::string* chunk);
  void AppendPiece(const AnswerDelta& piece, std::string* chunk);
  void OpenBlock(Block block, Json content, std::string* chunk);
  void CloseBlock(std::string* chunk);
  void AppendDelta(Json delta, std::string* chunk) const;

  const std::vector<ClientMark> marks_;
  const std::shared_ptr<const RequestRecord> record_;
  AnswerReader reader_;
  const AnswerIdentity identity_;
  // Of message_start. What is told there of the prompt is told again at the end, even if a part of
  // it had to be read twice: clients add the two up from whichever has them.
  std::optional<GenerationCost> begun_;
  Block open_ = Block::kNone;
  size_t index_ = 0;  // of the open block, or of the next one
};

}  // namespace cairn

#endif  // CAIRN_API_ANTHROPIC_ANTHROPIC_H_
