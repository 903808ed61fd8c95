// Tests two keys on one server: one that uses as much as it can, and one that sends single
// requests.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "http/http_client.h"
#include "testing/base/memory_fs.h"
#include "testing/http/whole_server.h"

namespace cairn::two_keys_test {
namespace {

using test::WholeServer;

constexpr size_t kContextTokens = 65'536;
constexpr size_t kEndless = 4;  // one more than there are slots
constexpr size_t kQueue = 64;   // SchedulerOptions::queue_limit

HttpClient ClientOf(const WholeServer& server, const std::string& key) {
  HttpClientOptions options;
  options.headers = {{"Authorization", "Bearer " + key}};
  return HttpClient(server.url(), options);
}

// A request whose answer only ends at the end of the context.
std::string Endless(const std::string& prompt) {
  return R"({"stream":true,"ignore_eos":true,"prompt":")" + prompt + R"("})";
}

// A client that holds all slots, the whole queue and 64 answers of one request, and retries
// whenever it is refused.
class GreedyClient {
 public:
  explicit GreedyClient(const HttpClient& client) : client_(client) {
    for (size_t i = 0; i < kEndless + kQueue; ++i) {
      threads_.emplace_back([this, i] {
        while (!done_) Stream("greedy " + std::to_string(i));
      });
    }
    threads_.emplace_back([this] {
      const std::string many = R"({"n":64,"max_tokens":50,"ignore_eos":true,)"
                               R"("messages":[{"role":"user","content":"all"}]})";
      while (!done_) {
        const auto reply = client_.Post("/v1/chat/completions", many);
        if (!reply || reply->status != 200) std::this_thread::sleep_for(kPause);
      }
    });
  }
  ~GreedyClient() { Leave(); }
  GreedyClient(const GreedyClient&) = delete;
  GreedyClient& operator=(const GreedyClient&) = delete;

  void Leave() {
    done_ = true;
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }
  size_t tokens() const { return tokens_; }
  size_t refusals() const { return refusals_; }
  // Refusals inside a stream that had begun with 200.
  size_t late_refusals() const { return late_refusals_; }
  size_t without_retry_after() const { return without_retry_after_; }

 private:
  static constexpr std::chrono::milliseconds kPause{5};

  void Stream(const std::string& prompt) {
    int status = 0;
    std::string error;
    HttpReply head;
    const auto hear = [this](std::string_view chunk) {
      if (chunk.find("other clients have fewer") != std::string_view::npos) ++late_refusals_;
      ++tokens_;
      return !done_;
    };
    const Status heard =
        client_.PostStream("/v1/completions", Endless(prompt), hear, &status, &error, &head);
    if (!heard || status == 200) return;
    if (status == 503 && head.Header("Retry-After").empty()) ++without_retry_after_;
    ++refusals_;
    std::this_thread::sleep_for(kPause);
  }

  const HttpClient client_;
  std::atomic<bool> done_ = false;
  std::atomic<size_t> tokens_ = 0;
  std::atomic<size_t> refusals_ = 0;
  std::atomic<size_t> late_refusals_ = 0;
  std::atomic<size_t> without_retry_after_ = 0;
  std::vector<std::thread> threads_;
};

// One key keeps the queue and all slots full. The other's first token came after as many steps as
// one of the answers had tokens, if its request was accepted at all.
TEST(TwoKeys, OneThatWantsEverythingLeavesTheOtherItsTurn) {
  MemoryFs fs;
  WholeServer server(&fs, {MemoryClass::kHybrid, {"sk-greedy", "sk-other"}, 0, kContextTokens});
  GreedyClient greedy(ClientOf(server, "sk-greedy"));
  // Full at least for a moment: a free place is taken again a little later.
  bool full = false;
  for (int tries = 0; tries < 4000 && !full; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    full = server.stats().open.waiting >= kQueue && greedy.refusals() > 0;
  }
  ASSERT_TRUE(full);
  size_t refused = 0;
  for (int turn = 0; turn < 3; ++turn) {
    const size_t before = greedy.tokens();
    size_t until_first = 0;
    int status = 0;
    std::string error;
    const Status heard = ClientOf(server, "sk-other")
                             .PostStream(
                                 "/v1/completions", Endless("other"),
                                 [&](std::string_view) {
                                   until_first = greedy.tokens() - before;
                                   return false;
                                 },
                                 &status, &error);
    ASSERT_TRUE(heard) << heard.error().message;
    ASSERT_TRUE(error.empty()) << status << ": " << error;
    // Five seconds of the server's clock, which the steps advance, are some thousand steps.
    EXPECT_LT(until_first, kContextTokens / 2);
    refused = greedy.refusals();
  }
  EXPECT_GT(refused, 0u);
  EXPECT_EQ(greedy.late_refusals(), 0u);
  EXPECT_EQ(greedy.without_retry_after(), 0u);
  greedy.Leave();
}

}  // namespace
}  // namespace cairn::two_keys_test
