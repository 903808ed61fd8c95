// `cairn serve --context-overflow`: a conversation that outgrows its context continues.

#include <gtest/gtest.h>

#include <string>

#include "served.h"

namespace cairn {
namespace {

using test::Flags;
using test::Join;

class ContextOverflow : public test::ServedTest {
 protected:
  static Flags Small(const Flags& flags) {
    return Join({"--cache-disk", "0", "-c", "2048"}, flags);
  }
};

void Say(const std::string& role, const std::string& content, Json* body) {
  (*body)["messages"].push_back({{"role", role}, {"content", content}});
}

TEST_F(ContextOverflow, AConversationGoesOnWithoutItsOldestTurns) {
  Serve(Small({"--context-overflow", "truncate"}));
  Json body = {{"max_tokens", 8}, {"temperature", 0}};
  Say("system", std::string(300, 's'), &body);
  size_t before = 0;
  size_t steps = 0;
  for (int turn = 0; turn < 20; ++turn) {
    Say("user", std::string(150, 'q') + std::to_string(turn), &body);
    const Json timings = Ask(body)["timings"];
    const size_t dropped = timings.value("dropped_messages", size_t{0});
    EXPECT_GE(dropped, before);
    if (dropped > before) ++steps;
    // While the number of dropped messages stays the same, each turn resumes from the last one.
    if (turn > 0 && dropped == before) {
      EXPECT_LT(timings["prompt_n"].get<int>(), 500) << turn;
    }
    before = dropped;
    Say("assistant", std::string(100, 'a') + std::to_string(turn), &body);
  }
  // 20 turns of 300 tokens; the window is 2048.
  EXPECT_GE(steps, 3u);
  EXPECT_LE(steps, 8u);
  EXPECT_EQ(server_->Stop(), 0) << server_->LastLines();
}

TEST_F(ContextOverflow, IsAnErrorWhereTheServerIsNotTold) {
  Serve(Small({}));
  Json body = {{"max_tokens", 8}};
  for (int turn = 0; turn < 20; ++turn) Say("user", std::string(150, 'q'), &body);
  EXPECT_EQ(Post("/v1/chat/completions", body).status, 400);
}

TEST_F(ContextOverflow, MovingWhatWasReadIsRefusedBesideExactReuse) {
  for (const Flags& flags : {Flags{"--context-shift"}, Flags{"--cache-reuse", "256"}}) {
    const std::string refusal = Refusal(Small(Join(flags, {"--reuse", "exact"})));
    EXPECT_NE(refusal.find(flags[0]), std::string::npos) << refusal;
  }
  // Accepted without effect: this model's memory cannot be shifted.
  Serve(Small({"--context-shift", "--cache-reuse", "256"}));
  EXPECT_NE(Log().find("have no effect"), std::string::npos) << Log();
}

}  // namespace
}  // namespace cairn
