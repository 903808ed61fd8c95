// The wall clock jumps by years while a server runs: only `created` may show it.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <ctime>

#include "faulty_server.h"

namespace cairn {
namespace {

constexpr int64_t kYear = int64_t{365} * 86'400;

class ClockTest : public test::FaultyServerTest {
 protected:
  // Sends a request on the caller's thread, and records how many were answered before it.
  void AskInLine(const Json& body, std::atomic<int>* answered, int* place) const {
    EXPECT_EQ(Post("/v1/chat/completions", body).status, 200);
    *place = (*answered)++;
  }
  // Prefilled in a third of a Talk's time, with hardly fewer bytes: so worth less than a Talk even
  // on a machine whose load changes.
  static Json ShortTalk(int number) {
    Json body = Talk(number);
    body["messages"][0]["content"] = std::to_string(number) + std::string(250, 's');
    return body;
  }
};

TEST_F(ClockTest, NoRequestFailsWhenTheClockJumpsAndCreatedIsWhatItSays) {
  ServeFaulty({"--request-timeout", "600", "--save-after-ms", "0"});
  const int64_t began = std::time(nullptr);
  int talk = 0;
  for (const int64_t jump : {int64_t{0}, 10 * kYear, -10 * kYear, 3 * kYear, int64_t{0}}) {
    SCOPED_TRACE(jump / kYear);
    world_.MoveClock(jump);
    const Json reply = Ask(Talk(talk));
    EXPECT_EQ(reply["choices"][0]["message"]["content"], PlainAnswer(Talk(talk)));
    const int64_t created = reply["created"].get<int64_t>() - jump;
    EXPECT_GE(created, began);
    EXPECT_LE(created, std::time(nullptr));
    EXPECT_LT(AskAndCompare(Talk(talk)), kReadAgainMax);
    EXPECT_TRUE(IsHealthy());
    ++talk;
  }
  WaitUntilSaved();
  EXPECT_EQ(Metric("cairn_disk_errors_total"), 0);
  EXPECT_EQ(LinesWith("disk cache:"), 0u);
}

// One stream that was begun before the jump, and requests that wait behind it.
TEST_F(ClockTest, WhoWaitsIsAnsweredInOrderWhenTheClockJumps) {
  ServeFaulty({"--request-timeout", "600"});
  Json lengthy = Talk(0);
  lengthy["max_tokens"] = 600;
  lengthy["ignore_eos"] = true;
  std::vector<std::thread> clients;
  std::atomic<int> answered{0};
  std::vector<int> places(3, -1);
  clients.emplace_back([&] { AskInLine(lengthy, &answered, &places[0]); });
  WaitUntil("it answers", [&] { return Metric("cairn_slots_busy") == 1; });
  world_.MoveClock(20 * kYear);
  clients.emplace_back([&] { AskInLine(Talk(1), &answered, &places[1]); });
  WaitUntil("one waits", [&] { return Metric("cairn_requests_waiting") == 1; });
  world_.MoveClock(-20 * kYear);
  clients.emplace_back([&] { AskInLine(Talk(2), &answered, &places[2]); });
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(places, (std::vector<int>{0, 1, 2}));
}

// Files written while the clock was ahead must not be kept for years in place of new ones.
TEST_F(ClockTest, AFolderFilledWhileTheClockWasYearsAheadTakesNewFiles) {
  const std::vector<std::string> small = {"--cache-disk", "0.004", "--save-after-ms", "0"};
  world_.MoveClock(10 * kYear);
  ServeFaulty(small);
  int talk = 0;
  while (talk < 100 && Metric("cairn_disk_evicted_total") == 0) {
    AskAndCompare(ShortTalk(talk++));
    WaitUntilSaved();
  }
  ASSERT_GT(Metric("cairn_disk_evicted_total"), 0) << "the folder is not full";
  world_.MoveClock(0);
  AskAndCompare(Talk(100));
  AskAndCompare(Talk(101));
  WaitUntilSaved();
  ASSERT_EQ(server_->Stop(), 0);
  ServeFaulty(small);
  // At least one of them: which one is worth its bytes depends on the times of their prefills.
  const auto first = AskAndCompare(Talk(100));
  const auto second = AskAndCompare(Talk(101));
  EXPECT_LT(std::min(first, second), kReadAgainMax);
}

}  // namespace
}  // namespace cairn
