// `cairn serve` with a draft model (--model-draft), over restarts.

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "served.h"

namespace cairn {
namespace {

using test::FirstTurn;
using test::Flags;
using test::Join;
using test::kNewTokensMax;
using test::MadeModel;
using test::MetricOf;
using test::NextTurn;
using test::ReadTokens;

// A text that both models have prefilled.
constexpr int kLongTokens = 1400;

class DraftModelServed : public test::ServedTest {
 protected:
  void ServeDrafting(const Flags& flags = {}) {
    Serve(Join({"--cache-dir", files_ + "/cache", "-md", MadeModel(), "-np", "1"}, flags));
  }
  double DraftPrefilled() const {
    return MetricOf(*server_, "cairn_draft_model_prefill_tokens_total");
  }
  double DraftReused() const { return MetricOf(*server_, "cairn_draft_model_reused_tokens_total"); }
};

TEST_F(DraftModelServed, ANextTurnAfterARestartIsPrefilledInNeitherModel) {
  ServeDrafting();
  const Json reply = Ask(FirstTurn(64));
  EXPECT_GT(DraftPrefilled(), kLongTokens) << server_->LastLines();
  EXPECT_GT(reply["timings"].value("draft_n", 0), 0);
  ASSERT_EQ(server_->Stop(), 0) << server_->LastLines();
  ServeDrafting();
  const Json next = Ask(NextTurn(FirstTurn(64), reply));
  EXPECT_LT(ReadTokens(next), kNewTokensMax) << server_->LastLines();
  EXPECT_GT(DraftReused(), kLongTokens);
  EXPECT_LT(DraftPrefilled(), kNewTokensMax);
}

TEST_F(DraftModelServed, APromptWhoseAnswerARestartInterruptedIsPrefilledInNeitherModel) {
  ServeDrafting({"--shutdown-timeout", "1"});
  std::thread client([this] {
    // The server ends in the middle of the answer.
    (void)ClientOf("").Post("/v1/chat/completions", FirstTurn(2000).dump());
  });
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (DraftPrefilled() < kLongTokens && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(server_->Stop(), 0) << server_->LastLines();
  client.join();
  ServeDrafting();
  const Json again = Ask(FirstTurn(64));
  EXPECT_LT(ReadTokens(again), kNewTokensMax) << server_->LastLines();
  EXPECT_GT(DraftReused(), kLongTokens);
  EXPECT_LT(DraftPrefilled(), kNewTokensMax);
}

TEST_F(DraftModelServed, FlagsThatDoNotFitAreRefusedWithTheReason) {
  EXPECT_NE(Refusal({"--spec-type", "draft-simple"}).find("give one with --model-draft"),
            std::string::npos);
  EXPECT_NE(Refusal({"-md", files_ + "/none.gguf"}).find("--model-draft: "), std::string::npos);
}

}  // namespace
}  // namespace cairn
