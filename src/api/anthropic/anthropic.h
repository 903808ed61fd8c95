// Answers of POST /v1/messages and /v1/messages/count_tokens in Anthropic's format.
//
// The tokens of a prompt are reported in three parts, as in Anthropic's API:
//
//   0               reused            last mark        end
//   | cache_read_input_tokens | cache_creation_… | input_tokens |
//
// Tokens prefilled up to the client's last mark (`cache_control`) are `cache_creation`. Without
// marks that part is 0, although every prompt is cached.

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
#include "api/json.h"
#include "api/service/chat_service.h"

namespace cairn {

// Waits for the complete answer. Polls `gone` meanwhile; true cancels the request.
ApiResult<std::string> CollectMessage(StartedChat chat, const AnswerIdentity& identity,
                                      const std::function<bool()>& gone);

// Returns {"input_tokens": N} for the body of a count_tokens request: the tokens of the complete
// prompt; with `context_management`, those without its edits too. `gone`: whether the client has
// left; its media are not decoded then.
ApiResult<std::string> CountTokensBody(const ChatService& service, std::string_view body,
                                       NamespaceId name_space,
                                       const std::function<bool()>& gone = {});

// Returns {"type": "error", "error": {"type", "message"}}. For a prompt that is too long, the
// message is the one that clients look for: "prompt is too long: N tokens > M maximum".
std::string MessagesErrorBody(const ApiError& error);

// MessageStream: an answer as server-sent events. Used by one thread.
//
//   event: message_start          as soon as a slot is found and it is known what is reused; a
//                                 ping follows at once
//   event: content_block_start    then deltas and content_block_stop; one block after the other:
//                                 thinking, text, tool_use
//   event: message_delta          stop_reason, and the true usage; `context_management` and `cairn`
//                                 where they were asked for
//   event: message_stop
//   event: error                  instead of what is left, when the work fails
class MessageStream {
 public:
  MessageStream(StartedChat chat, AnswerIdentity identity);

  // Waits up to kAnswerWait for more and appends it to `chunk`. Returns false after the last event.
  bool Next(std::string* chunk);
  // Call when the client has disconnected.
  void Abandon() { reader_.Abandon(); }
  // Returns the ping that keeps a stream alive between two chunks.
  std::string_view ping() const;

 private:
  enum class Block : uint8_t { kNone, kThinking, kText, kToolUse };

  void Begin(const GenerationCost& cost, std::string* chunk);
  void AppendPiece(const AnswerDelta& piece, std::string* chunk);
  void OpenBlock(Block block, Json content, std::string* chunk);
  void CloseBlock(std::string* chunk);
  void AppendDelta(Json delta, std::string* chunk) const;

  const std::vector<ClientMark> marks_;
  const AppliedEdits edits_;
  const std::shared_ptr<const RequestRecord> record_;
  AnswerReader reader_;
  const AnswerIdentity identity_;
  // The prompt's usage in message_start. The end repeats the same figures, even if the request was
  // preempted and part of the prompt was prefilled twice, because clients read them from either
  // event.
  std::optional<GenerationCost> begun_;
  Block open_ = Block::kNone;
  std::string thinking_;  // text of the open block, which its signature is made from
  size_t index_ = 0;      // index of the open block, or of the next one
};

}  // namespace cairn

#endif  // CAIRN_API_ANTHROPIC_ANTHROPIC_H_
