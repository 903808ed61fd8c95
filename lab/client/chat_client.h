// ChatClient: sends one turn of a chat to POST /v1/chat/completions and reads the streamed answer.

#ifndef CAIRN_LAB_CLIENT_CHAT_CLIENT_H_
#define CAIRN_LAB_CLIENT_CHAT_CLIENT_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "http/http_client.h"

namespace cairn {

struct ChatToolCall {
  std::string id;
  std::string name;
  std::string arguments;  // JSON, as text

  friend bool operator==(const ChatToolCall&, const ChatToolCall&) = default;
};

struct ChatMessage {
  std::string role;  // "system", "user", "assistant", "tool"
  std::string content;
  std::string reasoning = {};  // of an assistant; sent as `reasoning_content` if not empty
  std::vector<ChatToolCall> tool_calls = {};  // of an assistant
  std::string tool_call_id = {};              // of a tool: the id of the call that it answers

  friend bool operator==(const ChatMessage&, const ChatMessage&) = default;
};

struct ChatParams {
  size_t tokens_max = 48;
  double temperature = 0;
  std::string tools_json = {};  // a JSON list of tools; empty: none
  // Requests llama-server's `return_progress` and `timings_per_token`, which report progress during
  // the request. Servers that lack them leave those fields out.
  bool tell_progress = false;
  bool ignore_end = false;   // sends `ignore_eos`: the answer has tokens_max tokens
  std::string grammar = {};  // GBNF that the answer must match; empty: none
};

// The response's head: it comes before an answer, or in its place.
struct ChatHead {
  int status = 0;             // 0: no connection or no response
  double retry_after_s = -1;  // the header Retry-After in seconds; -1: there is none
};

struct ChatAnswer {
  std::string content;
  std::string reasoning;
  std::string finish_reason;  // "stop", "length", …
  // By the client's clock, from sending the request.
  double first_token_ms = 0;  // to the first text; to the end if the answer is empty
  double total_ms = 0;
  // The server's own counts and times.
  size_t prompt_tokens = 0;
  size_t cached_tokens = 0;  // of the prompt, reused from the cache
  size_t answer_tokens = 0;
  double prompt_ms = 0;  // 0 if the server does not report it
  double answer_ms = 0;
  // Prompt tokens processed so far, cached ones included. See ChatParams::tell_progress.
  size_t processed_tokens = 0;
  bool cancelled = false;  // the client closed the connection before the end

  // Returns the bytes of text received.
  size_t text_bytes() const { return content.size() + reasoning.size(); }
  size_t read_tokens() const { return prompt_tokens - cached_tokens; }
};

// Returns the conversation as chat completions and /apply-template expect it: an object with
// "messages" and, if there are any, "tools". kInvalidArgument: the tools are not JSON.
Result<std::string> ConversationBody(const std::vector<ChatMessage>& messages,
                                     const std::string& tools_json);

// Thread-safe when the clock is.
class ChatClient {
 public:
  // `url` as HttpClient takes it. `clock` outlives the client.
  ChatClient(std::string url, const Clock* clock, HttpClientOptions options = {})
      : http_(std::move(url), std::move(options)), clock_(clock) {}

  // Sends the conversation and waits for the whole answer; `on_text` (may be empty) gets each delta
  // as it comes, reasoning included.
  //
  // kInvalidArgument, kTooLong, kUnavailable …: the server answered an error in place of a stream;
  // the message is its own. kUnavailable: no server listens, or the stream broke off. kCorrupt: the
  // stream is not a chat stream or has no token counts. kInternal: the server failed mid-stream.
  Result<ChatAnswer> Ask(const std::vector<ChatMessage>& messages, const ChatParams& params,
                         const std::function<void(std::string_view text)>& on_text) const;

  // As Ask(), but calls `goes_on` with the answer so far after each read. Once it returns false,
  // the connection is closed and the partial answer is returned, marked `cancelled`. `head` may
  // be null.
  Result<ChatAnswer> AskWhile(const std::vector<ChatMessage>& messages, const ChatParams& params,
                              const std::function<bool(const ChatAnswer& so_far)>& goes_on,
                              ChatHead* head = nullptr) const;

 private:
  class AnswerReader;
  Result<ChatAnswer> Send(const std::vector<ChatMessage>& messages, const ChatParams& params,
                          AnswerReader* reader, ChatHead* head) const;

  const HttpClient http_;
  const Clock* const clock_;
};

}  // namespace cairn

#endif  // CAIRN_LAB_CLIENT_CHAT_CLIENT_H_
