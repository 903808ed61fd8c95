// ChatClient: one turn of a chat with a server that speaks POST /v1/chat/completions, streamed.

#ifndef CAIRN_PLAY_CHAT_CLIENT_H_
#define CAIRN_PLAY_CHAT_CLIENT_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "play/http_client.h"

namespace cairn {

struct ChatMessage {
  std::string role;  // "system", "user", "assistant"
  std::string content;

  friend bool operator==(const ChatMessage&, const ChatMessage&) = default;
};

struct ChatParams {
  size_t tokens_max = 48;
  double temperature = 0;
};

struct ChatAnswer {
  std::string content;
  std::string reasoning;
  std::string finish_reason;  // "stop", "length", …
  // By the client's clock, from sending the request.
  double first_token_ms = 0;  // to the first text; of an empty answer, to its end
  double total_ms = 0;
  // What the server says.
  size_t prompt_tokens = 0;
  size_t cached_tokens = 0;  // of the prompt, not read again
  size_t answer_tokens = 0;
  double prompt_ms = 0;  // 0 when the server does not tell
  double answer_ms = 0;

  size_t read_tokens() const { return prompt_tokens - cached_tokens; }
};

// Thread-safe when the clock is.
class ChatClient {
 public:
  // `url` as HttpClient takes it. `clock` outlives the client.
  ChatClient(std::string url, const Clock* clock) : http_(std::move(url)), clock_(clock) {}

  // Sends the conversation and waits for the whole answer; `on_text` (may be empty) gets each piece
  // of it, reasoning too, as it comes.
  //
  // kInvalidArgument, kTooLong, kUnavailable …: what the server answered in place of a stream, in
  // its own words. kUnavailable: nobody listens, or the stream broke off. kCorrupt: what came is
  // not a chat stream, or says nothing about tokens. kInternal: the server failed in the middle.
  Result<ChatAnswer> Ask(const std::vector<ChatMessage>& messages, const ChatParams& params,
                         const std::function<void(std::string_view text)>& on_text) const;

 private:
  const HttpClient http_;
  const Clock* const clock_;
};

}  // namespace cairn

#endif  // CAIRN_PLAY_CHAT_CLIENT_H_
