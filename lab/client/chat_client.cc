#include "lab/client/chat_client.h"

#include <charconv>
#include <optional>
#include <utility>

#include "base/json.h"
#include "lab/client/sse.h"

namespace cairn {
namespace {

constexpr size_t kQuotedBytesMax = 200;

std::string Quoted(std::string_view text) {
  return "'" + std::string(text.substr(0, kQuotedBytesMax)) +
         (text.size() > kQuotedBytesMax ? "…'" : "'");
}

Json MessageJson(const ChatMessage& message) {
  const bool only_calls = message.content.empty() && !message.tool_calls.empty();
  Json json = {{"content", only_calls ? Json() : Json(message.content)}};
  if (!message.reasoning.empty()) json["reasoning_content"] = message.reasoning;
  json["role"] = message.role;
  if (!message.tool_call_id.empty()) json["tool_call_id"] = message.tool_call_id;
  for (const ChatToolCall& call : message.tool_calls) {
    json["tool_calls"].push_back(
        {{"function", {{"arguments", call.arguments}, {"name", call.name}}},
         {"id", call.id},
         {"type", "function"}});
  }
  return json;
}

Json MessagesJson(const std::vector<ChatMessage>& messages) {
  Json list = Json::array();
  for (const ChatMessage& message : messages) list.push_back(MessageJson(message));
  return list;
}

// Adds the tools to the body, if there are any.
Status AddTools(const std::string& tools_json, Json* body) {
  if (tools_json.empty()) return {};
  Json tools = Json::parse(tools_json, nullptr, /*allow_exceptions=*/false);
  if (!tools.is_array()) {
    return Fail(ErrorCode::kInvalidArgument, "expected a list of tools, got " + Quoted(tools_json));
  }
  (*body)["tools"] = std::move(tools);
  return {};
}

Result<std::string> RequestBody(const std::vector<ChatMessage>& messages,
                                const ChatParams& params) {
  Json body;
  if (!params.grammar.empty()) body["grammar"] = params.grammar;
  if (params.ignore_end) body["ignore_eos"] = true;
  body["max_tokens"] = params.tokens_max;
  body["messages"] = MessagesJson(messages);
  if (params.tell_progress) body["return_progress"] = true;
  body["stream"] = true;
  body["stream_options"]["include_usage"] = true;
  body["temperature"] = params.temperature;
  if (params.tell_progress) body["timings_per_token"] = true;
  if (Status added = AddTools(params.tools_json, &body); !added) {
    return tl::unexpected<Error>(added.error());
  }
  return ToText(body);
}

// Returns the value at `key`, or nullptr if `value` is not an object or lacks the key.
const Json* Member(const Json& value, const char* key) {
  if (!value.is_object()) return nullptr;
  const auto found = value.find(key);
  return found == value.end() ? nullptr : &*found;
}

std::string TextAt(const Json& value, const char* key) {
  const Json* const text = Member(value, key);
  return text != nullptr && text->is_string() ? text->text() : "";
}

std::optional<double> NumberAt(const Json& value, const char* key) {
  const Json* const number = Member(value, key);
  if (number == nullptr || !number->is_number() || number->get<double>() < 0) return std::nullopt;
  return number->get<double>();
}

std::optional<size_t> CountAt(const Json& value, const char* key) {
  const std::optional<double> number = NumberAt(value, key);
  if (!number || *number > 1e15) return std::nullopt;
  return static_cast<size_t>(*number);
}

ErrorCode CodeOf(int status) {
  switch (status) {
    case 401:
    case 403:
      return ErrorCode::kUnauthorized;
    case 404:
      return ErrorCode::kNotFound;
    case 413:
      return ErrorCode::kTooLong;
    case 429:
    case 503:
      return ErrorCode::kUnavailable;
    default:
      return status >= 400 && status < 500 ? ErrorCode::kInvalidArgument : ErrorCode::kInternal;
  }
}

// Returns seconds. A date, which the header may hold too, counts as absent.
double RetryAfter(const HttpReply& reply) {
  const std::string_view text = reply.Header("Retry-After");
  if (text.empty()) return -1;
  double seconds = 0;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  return seconds < 0 ? 0 : seconds;
}

// Returns the message of an error body in any of the usual formats, or the body itself.
std::string ErrorText(std::string_view body) {
  const Json json = Json::parse(body, nullptr, /*allow_exceptions=*/false);
  const Json* const error = Member(json, "error");
  if (error != nullptr && error->is_string()) return error->text();
  const std::string message = TextAt(error != nullptr ? *error : json, "message");
  return message.empty() ? Quoted(body) : message;
}

}  // namespace

// Assembles the answer from the events of one stream.
class ChatClient::AnswerReader {
 public:
  using OnText = std::function<void(std::string_view text)>;
  using GoesOn = std::function<bool(const ChatAnswer& so_far)>;

  // Either function may be empty.
  AnswerReader(const Clock* clock, OnText on_text, GoesOn goes_on)
      : clock_(clock),
        on_text_(std::move(on_text)),
        goes_on_(std::move(goes_on)),
        begin_ms_(clock->NowMs()) {}

  // Returns false once the rest of the stream is not wanted.
  bool Feed(std::string_view bytes) {
    parser_.Feed(bytes, [this](const SseEvent& event) { Take(event); });
    return !failed() && !answer_.cancelled;
  }

  bool failed() const { return error_.has_value(); }

  Result<ChatAnswer> Finish() {
    if (error_) return tl::unexpected<Error>(*error_);
    answer_.total_ms = clock_->NowMs() - begin_ms_;
    if (answer_.cancelled) return std::move(answer_);
    if (!done_) {
      return Fail(ErrorCode::kUnavailable, "the server's stream broke off after " +
                                               std::to_string(answer_.content.size()) +
                                               " bytes of an answer");
    }
    if (!has_usage_) {
      return Fail(ErrorCode::kCorrupt,
                  "the server's stream has no usage, which was asked for: tokens are not known");
    }
    if (!saw_text_) answer_.first_token_ms = answer_.total_ms;
    return std::move(answer_);
  }

 private:
  void Take(const SseEvent& event) {
    if (done_ || error_ || answer_.cancelled) return;
    if (event.data == "[DONE]") {
      done_ = true;
      return;
    }
    const Json chunk = Json::parse(event.data, nullptr, /*allow_exceptions=*/false);
    if (event.event == "error" || Member(chunk, "error") != nullptr) {
      error_ = Error{ErrorCode::kInternal,
                     "the server failed in the middle of an answer: " + ErrorText(event.data)};
    } else if (!chunk.is_object()) {
      error_ = Error{ErrorCode::kCorrupt,
                     "expected JSON in the server's stream, got " + Quoted(event.data)};
    } else {
      TakeChunk(chunk);
      if (goes_on_ && !goes_on_(answer_)) answer_.cancelled = true;
    }
  }

  void TakeChunk(const Json& chunk) {
    const Json* const choices = Member(chunk, "choices");
    if (choices != nullptr && choices->is_array() && !choices->empty()) TakeChoice(choices->at(0));
    if (const Json* const usage = Member(chunk, "usage")) TakeUsage(*usage);
    if (const Json* const timings = Member(chunk, "timings")) TakeTimings(*timings);
    if (const Json* const progress = Member(chunk, "prompt_progress")) TakeProgress(*progress);
  }

  void TakeChoice(const Json& choice) {
    if (const Json* const delta = Member(choice, "delta")) {
      TakeText(TextAt(*delta, "reasoning_content"), &answer_.reasoning);
      TakeText(TextAt(*delta, "content"), &answer_.content);
      const Json* const calls = Member(*delta, "tool_calls");
      if (calls != nullptr && !calls->empty()) SeeText();
    }
    const std::string reason = TextAt(choice, "finish_reason");
    if (!reason.empty()) answer_.finish_reason = reason;
  }

  void TakeText(const std::string& text, std::string* whole) {
    if (text.empty()) return;
    SeeText();
    *whole += text;
    if (on_text_) on_text_(text);
  }

  void SeeText() {
    if (!saw_text_) answer_.first_token_ms = clock_->NowMs() - begin_ms_;
    saw_text_ = true;
  }

  void TakeProgress(const Json& progress) {
    answer_.prompt_tokens = CountAt(progress, "total").value_or(answer_.prompt_tokens);
    answer_.processed_tokens = CountAt(progress, "processed").value_or(0);
    SetCached(CountAt(progress, "cache"));
  }

  void TakeUsage(const Json& usage) {
    const std::optional<size_t> prompt_tokens = CountAt(usage, "prompt_tokens");
    if (!prompt_tokens) return;
    has_usage_ = true;
    answer_.prompt_tokens = *prompt_tokens;
    answer_.answer_tokens = CountAt(usage, "completion_tokens").value_or(0);
    const Json* const details = Member(usage, "prompt_tokens_details");
    if (details != nullptr) SetCached(CountAt(*details, "cached_tokens"));
  }

  void TakeTimings(const Json& timings) {
    const std::optional<size_t> cached = CountAt(timings, "cache_n");
    const std::optional<size_t> read = CountAt(timings, "prompt_n");
    if (cached && read) {
      has_usage_ = true;
      answer_.prompt_tokens = *cached + *read;
      answer_.processed_tokens = answer_.prompt_tokens;
      SetCached(cached);
    }
    answer_.answer_tokens = CountAt(timings, "predicted_n").value_or(answer_.answer_tokens);
    answer_.prompt_ms = NumberAt(timings, "prompt_ms").value_or(0);
    answer_.answer_ms = NumberAt(timings, "predicted_ms").value_or(0);
  }

  void SetCached(std::optional<size_t> cached) {
    if (cached && *cached <= answer_.prompt_tokens) answer_.cached_tokens = *cached;
  }

  const Clock* const clock_;
  const OnText on_text_;
  const GoesOn goes_on_;
  const double begin_ms_;
  SseParser parser_;
  ChatAnswer answer_;
  std::optional<Error> error_;
  bool saw_text_ = false;
  bool has_usage_ = false;
  bool done_ = false;
};

Result<std::string> ConversationBody(const std::vector<ChatMessage>& messages,
                                     const std::string& tools_json) {
  Json body = {{"messages", MessagesJson(messages)}};
  if (Status added = AddTools(tools_json, &body); !added) {
    return tl::unexpected<Error>(added.error());
  }
  return ToText(body);
}

Result<ChatAnswer> ChatClient::Send(const std::vector<ChatMessage>& messages,
                                    const ChatParams& params, AnswerReader* reader,
                                    ChatHead* head) const {
  const Result<std::string> body = RequestBody(messages, params);
  if (!body) return tl::unexpected<Error>(body.error());
  const auto on_chunk = [&](std::string_view bytes) { return reader->Feed(bytes); };
  int status = 0;
  std::string error_body;
  HttpReply reply;
  const Status sent =
      http_.PostStream("/v1/chat/completions", *body, on_chunk, &status, &error_body, &reply);
  if (head != nullptr) *head = {status, RetryAfter(reply)};
  if (reader->failed()) return reader->Finish();
  if (!sent) return tl::unexpected<Error>(sent.error());
  if (status != 200) {
    return Fail(CodeOf(status),
                "the server answered " + std::to_string(status) + ": " + ErrorText(error_body));
  }
  return reader->Finish();
}

Result<ChatAnswer> ChatClient::Ask(
    const std::vector<ChatMessage>& messages, const ChatParams& params,
    const std::function<void(std::string_view text)>& on_text) const {
  AnswerReader reader(clock_, on_text, nullptr);
  return Send(messages, params, &reader, nullptr);
}

Result<ChatAnswer> ChatClient::AskWhile(
    const std::vector<ChatMessage>& messages, const ChatParams& params,
    const std::function<bool(const ChatAnswer& so_far)>& goes_on, ChatHead* head) const {
  AnswerReader reader(clock_, nullptr, goes_on);
  return Send(messages, params, &reader, head);
}

}  // namespace cairn
