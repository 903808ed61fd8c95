// For the tests of the load benchmark: a server of its own that answers every chat with as many
// letters as it may, a chunk each, and does wrong when a test says so.

#ifndef CAIRN_PLAY_LOAD_FIXTURE_H_
#define CAIRN_PLAY_LOAD_FIXTURE_H_

#include <atomic>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/clock.h"
#include "http/server_fixture.h"

namespace cairn::test {

class LoadServerTest : public HttpServerTest {
 protected:
  using Json = nlohmann::json;
  // Called for the n-th chat from 0; what it returns is answered in place of the letters if its
  // status is not 200 or its body not empty.
  using Instead = std::function<HttpResponse(size_t chat)>;

  void StartChats(Instead instead = nullptr) {
    MakeServer();
    server_->Handle("POST", "/v1/chat/completions", [this, instead](const HttpRequest& request) {
      const Json body = Json::parse(request.body);
      const size_t chat = chats_++;
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        bodies_.push_back(body);
      }
      if (instead) {
        HttpResponse other = instead(chat);
        if (other.status != 200 || !other.body.empty()) return other;
      }
      return Letters(body.at("max_tokens").get<size_t>());
    });
    server_->Handle("POST", "/tokenize", [](const HttpRequest& request) {
      const Json body = Json::parse(request.body);
      return Text(Json({{"tokens", Json::array_t(body.at("content").get<std::string>().size(), 1)}})
                      .dump());
    });
    StartServer();
  }

  std::string Url() const { return "http://127.0.0.1:" + std::to_string(server_->port()); }

  std::vector<Json> Bodies() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return bodies_;
  }

  static std::string Chunk(const Json& json) { return "data: " + json.dump() + "\n\n"; }
  static std::string Letter() { return Chunk({{"choices", {{{"delta", {{"content", "a"}}}}}}}); }
  static std::string Finish() {
    return Chunk({{"choices", {{{"delta", Json::object()}, {"finish_reason", "length"}}}}});
  }
  static std::string Usage(size_t tokens) {
    return Chunk({{"choices", Json::array()},
                  {"usage", {{"prompt_tokens", 100}, {"completion_tokens", tokens}}},
                  {"timings",
                   {{"cache_n", 40},
                    {"prompt_n", 60},
                    {"prompt_ms", 30},
                    {"predicted_n", tokens},
                    {"predicted_ms", 10}}}});
  }
  static std::string Done() { return "data: [DONE]\n\n"; }

  static HttpResponse Stream(std::string text) {
    HttpResponse response = Text(std::move(text));
    response.content_type = "text/event-stream";
    return response;
  }

  static HttpResponse Refusal(const std::string& retry_after) {
    HttpResponse response = Text(R"({"error": {"message": "come back later"}})");
    response.status = 503;
    if (!retry_after.empty()) response.headers.emplace_back("Retry-After", retry_after);
    return response;
  }

  const SteadyClock clock_;

 private:
  // A chunk a millisecond, so that answers at the same time overlap.
  static HttpResponse Letters(size_t count) {
    HttpResponse response;
    response.content_type = "text/event-stream";
    response.stream.next = [count, sent = size_t{0}](std::string* chunk) mutable {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (sent++ < count) {
        *chunk = Letter();
        return true;
      }
      *chunk = Finish() + Usage(count) + Done();
      return false;
    };
    return response;
  }

  std::atomic<size_t> chats_ = 0;
  std::mutex mutex_;
  std::vector<Json> bodies_;
};

}  // namespace cairn::test

#endif  // CAIRN_PLAY_LOAD_FIXTURE_H_
