// ChatClient: one turn of a chat with a server that speaks POST /v1/chat/completions, streamed.

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
  std::string reasoning = {};  // of an assistant; sent as `reasoning_content` when there is any
  std::vector<ChatToolCall> tool_calls = {};  // of an assistant
  std::string tool_call_id = {};              // of a tool: which call it answers

  friend bool operator==(const ChatMessage&, const ChatMessage&) = default;
};

struct ChatParams {
  size_t tokens_max = 48;
  double temperature = 0;
  std::string tools_json = {};  // a list of tools; empty: none
  // Ask the server to tell all the time how far it is, as llama-server's `return_progress` and
  // `timings_per_token` do. Servers that know neither leave these fields out.
  bool tell_progress = false;
  bool ignore_end = false;   // `ignore_eos`: the answer is as long as it may be
  std::string grammar = {};  // GBNF that the answer must match; empty: none
};

// What came before an answer, or in its place.
struct ChatHead {
  int status = 0;             // 0: nobody listens, or no answer came
  double retry_after_s = -1;  // as the header Retry-After asks; -1: there is none
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
  // Of the prompt, cached ones included, as far as the server told. See ChatParams::tell_progress.
  size_t processed_tokens = 0;
  bool cancelled = false;  // the client did not wait for the end

  // Text that has come, in bytes.
  size_t text_bytes() const { return content.size() + reasoning.size(); }
  size_t read_tokens() const { return prompt_tokens - cached_tokens; }
};

// The conversation as the server's chat and /apply-template take it: an object with "messages" and,
// where there are any, "tools". kInvalidArgument: the tools are not JSON.
Result<std::string> ConversationBody(const std::vector<ChatMessage>& messages,
                                     const std::string& tools_json);

// Thread-safe when the clock is.
class ChatClient {
 public:
  // `url` as HttpClient takes it. `clock` outlives the client.
  ChatClient(std::string url, const Clock* clock, HttpClientOptions options = {})
      : http_(std::move(url), std::move(options)), clock_(clock) {}

  // Sends the conversation and waits for the whole answer; `on_text` (may be empty) gets each piece
  // of it, reasoning too, as it comes.
  //
  // kInvalidArgument, kTooLong, kUnavailable …: what the server answered in place of a stream, in
  // its own words. kUnavailable: nobody listens, or the stream broke off. kCorrupt: what came is
  // not a chat stream, or says nothing about tokens. kInternal: the server failed in the middle.
  Result<ChatAnswer> Ask(const std::vector<ChatMessage>& messages, const ChatParams& params,
                         const std::function<void(std::string_view text)>& on_text) const;

  // The same, but looks at what has come so far whenever something has come: once `goes_on` says
  // no, the connection is closed, and the answer is what is known by then, `cancelled`. `head` may
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
