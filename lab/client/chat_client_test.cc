// ChatClient against a server that plays recorded streams from testdata/chat_streams/. The result
// of each is compared as text with a golden file.

#include "lab/client/chat_client.h"

#include <gtest/gtest.h>

#include <functional>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "base/json.h"
#include "testing/base/golden_file.h"
#include "testing/http/server_fixture.h"

namespace cairn {
namespace {

// Each reading of the clock advances it by 5 ms.
class CountingClock final : public Clock {
 public:
  double NowMs() const override { return now_ms_ += 5; }

 private:
  mutable double now_ms_ = 0;
};

class ChatClientTest : public HttpServerTest {
 protected:
  // Answers every chat with `body` as a stream, in parts of `piece_bytes`.
  void ServeStream(const std::string& body, size_t piece_bytes) {
    Serve([body, piece_bytes] {
      HttpResponse response;
      response.content_type = "text/event-stream";
      response.stream.next = [body, piece_bytes, sent = size_t{0}](std::string* chunk) mutable {
        *chunk = body.substr(sent, piece_bytes);
        sent += chunk->size();
        return sent < body.size();
      };
      return response;
    });
  }

  void ServeError(int status, const std::string& body) {
    Serve([status, body] {
      HttpResponse response;
      response.status = status;
      response.body = body;
      return response;
    });
  }

  Result<ChatAnswer> Ask() {
    const ChatClient client("http://127.0.0.1:" + std::to_string(server_->port()), &clock_);
    pieces_.clear();
    return client.Ask({{"system", "s"}, {"user", "What is a cairn?"}}, {},
                      [this](std::string_view text) { pieces_.emplace_back(text); });
  }

  // Returns the result of the stream with that name as text.
  std::string Drawn(const std::string& name, size_t piece_bytes) {
    StopServer();
    ServeStream(ReadSourceFile("testdata/chat_streams/" + name + ".sse"), piece_bytes);
    const Result<ChatAnswer> answer = Ask();
    std::ostringstream text;
    if (!answer) {
      text << "error " << static_cast<int>(answer.error().code) << ": " << answer.error().message
           << "\n";
    } else {
      text << "content: " << answer->content << "\nreasoning: " << answer->reasoning
           << "\nfinish: " << answer->finish_reason << "\nprompt: " << answer->prompt_tokens
           << ", cached " << answer->cached_tokens << ", read " << answer->read_tokens() << ", "
           << answer->prompt_ms << " ms\nanswer: " << answer->answer_tokens << " tokens, "
           << answer->answer_ms << " ms\nfirst token: " << answer->first_token_ms
           << " ms, total: " << answer->total_ms << " ms\n";
    }
    for (const std::string& piece : pieces_) text << "piece: " << piece << "\n";
    return text.str();
  }

  Json LastBody() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return Json::parse(body_);
  }

 private:
  void Serve(const std::function<HttpResponse()>& respond) {
    MakeServer().Handle("POST", "/v1/chat/completions",
                        [this, respond](const HttpRequest& request) {
                          const std::lock_guard<std::mutex> lock(mutex_);
                          body_ = request.body;
                          return respond();
                        });
    StartServer();
  }

  CountingClock clock_;
  std::vector<std::string> pieces_;
  std::mutex mutex_;
  std::string body_;  // guarded by mutex_
};

TEST_F(ChatClientTest, ReadsStreamsAsTheyAreMeant) {
  for (const char* name :
       {"answer", "empty_answer", "broken_off", "error_inside", "no_usage", "not_json"}) {
    const std::string drawn = Drawn(name, 1'000'000);
    ExpectGolden(std::string("chat_") + name + ".txt", drawn);
    EXPECT_EQ(Drawn(name, 7), drawn) << name << " in small pieces";
  }
}

TEST_F(ChatClientTest, SendsTheConversationAndAsksForUsage) {
  ServeStream(ReadSourceFile("testdata/chat_streams/answer.sse"), 1'000'000);
  ASSERT_TRUE(Ask());
  const Json expected = {{"max_tokens", 48},
                         {"messages",
                          {{{"content", "s"}, {"role", "system"}},
                           {{"content", "What is a cairn?"}, {"role", "user"}}}},
                         {"stream", true},
                         {"stream_options", {{"include_usage", true}}},
                         {"temperature", 0.0}};
  EXPECT_EQ(LastBody(), expected);
}

TEST_F(ChatClientTest, GivesTheServersReasonForRefusing) {
  ServeError(400, R"({"error":{"code":400,"message":"the prompt is too long"}})");
  const Result<ChatAnswer> refused = Ask();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused.error().message, "the server answered 400: the prompt is too long");
  StopServer();
  ServeError(503, "come back later");
  const Result<ChatAnswer> busy = Ask();
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(busy.error().message, "the server answered 503: 'come back later'");
}

TEST_F(ChatClientTest, SaysWhenNobodyListens) {
  ServeError(500, "");
  StopServer();
  const Result<ChatAnswer> answer = Ask();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace cairn
