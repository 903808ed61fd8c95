// The cost of a kill (kill -9) some time after an answer: the tokens of the conversation's next
// turn that are prefilled again after the restart, as a distribution over the time between both.
//
// CAIRN_CRASHES: four times the number of kills; 20 if unset.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "served.h"

namespace cairn {
namespace {

using test::MetricOf;

constexpr size_t kHeaderBytes = 8000;
constexpr int kTurnsOfAConversation = 8;

int Kills() {
  constexpr int kUsual = 20;
  const char* asked = std::getenv("CAIRN_CRASHES");
  return std::max(1, (asked == nullptr ? kUsual : std::atoi(asked)) / 4);
}

// The cost of one turn after a kill.
struct Cost {
  double waited_s = 0;          // from the answer to the kill
  bool said_saved = false;      // cairn_disk_unsynced_bytes was 0 before the kill
  int again_tokens = 0;         // prefilled a second time
  int last_turn_tokens = 0;     // added by the turn before the kill, with its answer
  int conversation_tokens = 0;  // the whole conversation
};

// A range of waiting times in seconds, and the number of kills per cost.
struct Row {
  double from_s;
  double to_s;
  int nothing = 0;
  int last_turn = 0;
  int more = 0;
};

void Print(const std::vector<Cost>& costs) {
  std::array<Row, 4> rows = {{{0, 0.5}, {0.5, 1}, {1, 2}, {2, 1e9}}};
  int tokens_max = 0;
  for (const Cost& cost : costs) {
    tokens_max = std::max(tokens_max, cost.conversation_tokens);
    for (Row& row : rows) {
      if (cost.waited_s < row.from_s || cost.waited_s >= row.to_s) continue;
      const bool last = cost.again_tokens <= cost.last_turn_tokens;
      ++(cost.again_tokens == 0 ? row.nothing : last ? row.last_turn : row.more);
    }
  }
  std::printf("killed after   nothing   the last turn   more     (up to %d tokens)\n", tokens_max);
  for (const Row& row : rows) {
    char range[32];
    std::snprintf(range, sizeof(range), row.to_s > 1e8 ? "%.1f s on" : "%.1f-%.1f s", row.from_s,
                  row.to_s);
    std::printf("%-12s %9d %15d %6d\n", range, row.nothing, row.last_turn, row.more);
  }
}

class CrashCostTest : public test::ServedTest {
 protected:
  void Start() { Serve({"--cache-dir", files_ + "/cache", "-c", "16384", "--reuse", "live"}); }
};

TEST_F(CrashCostTest, WhatIsSaidToBeSavedIsNotPrefilledAgain) {
  std::mt19937 random(20261124);
  std::vector<Cost> costs;
  Json body;
  Json reply;
  int turn = 0;
  int before_tokens = 0;
  Start();
  for (int kill = 0; kill < Kills(); ++turn) {
    const bool first = turn % kTurnsOfAConversation == 0;
    if (first) {
      body = test::FirstTurn(16, kHeaderBytes);
      body["messages"][0]["content"] =
          "conversation " + std::to_string(turn) + std::string(kHeaderBytes, 's');
    } else {
      body = test::NextTurn(body, reply, "question " + std::string(400, 'q'));
    }
    const Json asked = Json::parse(Post("/v1/chat/completions", body).body);
    ASSERT_TRUE(asked.contains("timings")) << asked.dump();
    const int all = asked["usage"]["total_tokens"].get<int>();
    const int added = first ? all : all - before_tokens;
    if (!first) {
      Cost& cost = costs.back();
      cost.again_tokens = std::max(0, test::ReadTokens(asked) - added - test::kNewTokensMax);
      cost.conversation_tokens = all;
      EXPECT_TRUE(!cost.said_saved || cost.again_tokens == 0)
          << cost.again_tokens << " of " << all << " tokens were prefilled again, " << cost.waited_s
          << " s after the answer";
    }
    reply = asked;
    before_tokens = all;
    if (turn % kTurnsOfAConversation == kTurnsOfAConversation - 1) continue;
    Cost cost;
    cost.last_turn_tokens = added;
    cost.waited_s = static_cast<double>(random() % 2500) / 1000;
    std::this_thread::sleep_for(std::chrono::duration<double>(cost.waited_s));
    cost.said_saved = MetricOf(*server_, "cairn_disk_unsynced_bytes") == 0;
    server_->Signal(SIGKILL);
    Start();
    costs.push_back(cost);
    ++kill;
  }
  // The last kill has no next turn.
  costs.pop_back();
  Print(costs);
}

}  // namespace
}  // namespace cairn
