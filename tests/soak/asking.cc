#include "soak/asking.h"

#include <utility>

#include "http/http_client.h"

namespace cairn::soak {
namespace {

HttpClient ClientOf(const std::string& url, const std::string& key, int timeout_ms) {
  HttpClientOptions options;
  options.timeout_ms = timeout_ms;
  if (!key.empty()) options.headers = {{"Authorization", "Bearer " + key}};
  return HttpClient(url, std::move(options));
}

void TakeRefusal(const HttpReply& got, const std::string& body, Reply* reply) {
  reply->kind = Reply::Kind::kRefused;
  reply->retry_after = !got.Header("Retry-After").empty();
  reply->detail = body;
}

Reply AskWhole(const HttpClient& client, const Question& question) {
  Reply reply;
  const auto got = client.Post(PathOf(question.api), question.body.dump());
  if (!got) {
    reply.detail = got.error().message;
    return reply;
  }
  reply.status = got->status;
  if (got->status != 200) {
    TakeRefusal(*got, got->body, &reply);
    return reply;
  }
  auto answer = ParseWhole(question.api, got->body);
  reply.kind = answer ? Reply::Kind::kWhole : Reply::Kind::kGarbled;
  if (answer) reply.answer = std::move(*answer);
  if (!answer) reply.detail = got->body;
  return reply;
}

std::string CancelPath(Api api, const std::string& id) {
  return (api == Api::kNative ? "/v1/completions" : PathOf(api)) + "/" + id;
}

Reply AskStreamed(const std::string& url, const HttpClient& client, const Question& question,
                  const Manner& manner) {
  Reply reply;
  AnswerStream stream(question.api);
  bool left = false;
  bool cancelled = false;
  const auto on_chunk = [&](std::string_view chunk) {
    stream.Feed(chunk);
    if (manner.events_max == 0 || stream.events() < manner.events_max || cancelled) return true;
    cancelled = manner.cancels && !stream.answer().id.empty();
    left = !cancelled;
    if (cancelled) {
      Send(url, manner.key, "DELETE", CancelPath(question.api, stream.answer().id), "", nullptr);
    }
    return !left;
  };
  Json body = question.body;
  body["stream"] = true;
  HttpReply head;
  std::string error_body;
  const Status sent = client.PostStream(PathOf(question.api), body.dump(), on_chunk, &reply.status,
                                        &error_body, &head);
  reply.answer = stream.answer();
  reply.detail = sent ? reply.answer.failure : sent.error().message;
  if (reply.status != 0 && reply.status != 200) {
    TakeRefusal(head, error_body, &reply);
  } else if (!stream.complaint().empty()) {
    reply.kind = Reply::Kind::kGarbled;
    reply.detail = stream.complaint();
  } else if (left || cancelled) {
    reply.kind = Reply::Kind::kLeft;
    reply.answer.ended = false;
  } else if (reply.answer.ended && reply.answer.failure.empty()) {
    reply.kind = Reply::Kind::kWhole;
  } else if (reply.status == 200) {
    reply.kind = Reply::Kind::kCut;
    reply.answer.ended = false;
    if (reply.detail.empty()) reply.detail = "the stream ended before the answer did";
  }
  return reply;
}

}  // namespace

Reply Ask(const std::string& url, const Question& question, const Manner& manner) {
  const HttpClient client = ClientOf(url, manner.key, manner.timeout_ms);
  if (manner.streamed) return AskStreamed(url, client, question, manner);
  return AskWhole(client, question);
}

int Send(const std::string& url, const std::string& key, const std::string& method,
         const std::string& path, const std::string& body, std::string* answer) {
  constexpr int kTimeoutMs = 600'000;
  const HttpClient client = ClientOf(url, key, kTimeoutMs);
  const auto got = method == "GET"      ? client.Get(path)
                   : method == "DELETE" ? client.Delete(path)
                                        : client.Post(path, body);
  if (!got) return 0;
  if (answer != nullptr) *answer = got->body;
  return got->status;
}

}  // namespace cairn::soak
