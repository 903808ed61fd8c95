// Every workload against a server that is played: a letter is a token, and every prompt has 100
// tokens of which 40 were known.

#include "play/load_workload.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <set>

#include "play/load_figures.h"
#include "play/load_fixture.h"

namespace cairn {
namespace {

class LoadWorkloadTest : public test::LoadServerTest {
 protected:
  LoadRun Play(const std::string& workload) {
    options_.url = Url();
    options_.clock = &clock_;
    return PlayLoad(workload, options_);
  }

  // Whether all went well, and every figure is one that reports know.
  static void ExpectWell(const LoadRun& run) {
    EXPECT_EQ(run.error, "");
    EXPECT_TRUE(run.faults.empty()) << run.faults.begin()->first;
    for (const auto& [key, value] : run.figures) {
      const bool known =
          std::any_of(LoadFigures().begin(), LoadFigures().end(), [&](const LoadFigureInfo& info) {
            return info.workload == run.workload && info.key == key;
          });
      EXPECT_TRUE(known) << key;
    }
  }

  static LoadOptions Small() {
    LoadOptions options;
    options.scale = 0.01;
    options.clients = 3;
    options.long_tokens = 50;
    options.answer_tokens_max = 100'000;
    options.turns = 3;
    options.pause_ms = 0;
    options.streams = 5;
    options.seconds = 0.3;
    return options;
  }

  LoadOptions options_ = Small();
};

TEST_F(LoadWorkloadTest, SpeedIsMeasuredForOneClientAndForSeveral) {
  StartChats();
  const LoadRun run = Play("speed");
  ExpectWell(run);
  EXPECT_DOUBLE_EQ(run.figures.at("prompt_1"), 60 * 1000 / 30.0) << "as the server says";
  EXPECT_DOUBLE_EQ(run.figures.at("answer_1"), 64 * 1000 / 10.0);
  for (const char* key : {"prompt_1_seen", "prompt_n_seen", "answer_1_seen", "answer_n_seen"}) {
    EXPECT_GT(run.figures.at(key), 0) << key;
  }
  EXPECT_EQ(run.figures.at("clients"), 3);
}

TEST_F(LoadWorkloadTest, SpeedAsksForNothingTwice) {
  StartChats();
  ExpectWell(Play("speed"));
  options_.repetition = 1;
  ExpectWell(Play("speed"));
  std::set<std::string> texts;
  for (const auto& body : Bodies()) texts.insert(body["messages"].dump());
  EXPECT_EQ(texts.size(), Bodies().size());
}

TEST_F(LoadWorkloadTest, MixedPlaysTheWholeScheduleAndTellsChatsFromLongPrompts) {
  StartChats([](size_t chat) { return chat == 3 ? Refusal("0") : HttpResponse(); });
  const LoadRun run = Play("mixed");
  ExpectWell(run);
  EXPECT_EQ(run.figures.at("requests"), (6 * 12) + 7);
  EXPECT_EQ(run.samples.at("chat_first_token").size(), 6U * 12U);
  EXPECT_EQ(run.samples.at("long_first_token").size(), 7U);
  EXPECT_EQ(run.figures.at("busy"), 1);
  EXPECT_EQ(run.figures.at("read_tokens"), 60 * 79);
}

TEST_F(LoadWorkloadTest, GapsAreThoseBeforeAndWhileTheLongPromptIsRead) {
  StartChats();
  const LoadRun run = Play("gaps");
  ExpectWell(run);
  EXPECT_GT(run.figures.at("before_p50_ms"), 0);
  EXPECT_GE(run.figures.at("before_max_ms"), run.figures.at("before_p99_ms"));
  EXPECT_GT(run.figures.at("long_first_token_ms"), 0);
  EXPECT_DOUBLE_EQ(run.figures.at("watched"), 1);
}

TEST_F(LoadWorkloadTest, GapsSayWhenAnswersWereTooShort) {
  StartChats();
  options_.answer_tokens_max = 10;
  EXPECT_EQ(Play("gaps").error, "not all answers streamed at once");
}

TEST_F(LoadWorkloadTest, TurnsCountWhatWasReadBesideTheNewMessage) {
  StartChats();
  const LoadRun run = Play("turns");
  EXPECT_EQ(run.error, "");
  EXPECT_EQ(run.faults.size(), 1U) << "the server's answers are others than was decided";
  ASSERT_EQ(run.turns.size(), 3U);
  EXPECT_EQ(run.turns[1].message_tokens, 16U);
  EXPECT_EQ(run.turns[1].read_tokens, 60U);
  EXPECT_DOUBLE_EQ(run.figures.at("read_over_message"), 60.0 / 16);
  const auto bodies = Bodies();
  ASSERT_EQ(bodies.size(), 3U);
  EXPECT_EQ(bodies[2]["messages"].size(), 6U) << "answers are sent back";
  EXPECT_TRUE(std::string(bodies[0]["grammar"]).starts_with("root ::= \"<think>\\nSo "));
}

TEST_F(LoadWorkloadTest, TheScriptHoldsTheAnswersOfTheGrammar) {
  StartChats();
  Play("turns");
  const auto answer = Json::parse(TurnsScript(options_))["rules"][0]["answer"];
  EXPECT_EQ(Bodies().at(0)["grammar"], "root ::= \"<think>\\n" + std::string(answer["reasoning"]) +
                                           "\\n</think>\\n\\n" + std::string(answer["content"]) +
                                           "\"");
}

TEST_F(LoadWorkloadTest, StreamsCountWholeOnesRefusalsAndMemory) {
  options_.pid = getpid();
  StartChats([](size_t chat) { return chat == 2 ? Refusal("0") : HttpResponse(); });
  const LoadRun run = Play("streams");
  ExpectWell(run);
  EXPECT_GE(run.figures.at("whole"), 5);
  EXPECT_EQ(run.figures.at("broken"), 0);
  EXPECT_EQ(run.figures.at("failed"), 0);
  EXPECT_EQ(run.figures.at("busy"), 1);
  EXPECT_GE(run.figures.at("memory_peak_mib"), run.figures.at("memory_before_mib"));
  EXPECT_GT(run.figures.at("memory_before_mib"), 1);
}

TEST_F(LoadWorkloadTest, StreamsTellBrokenOnesFromFailures) {
  StartChats([](size_t chat) {
    return chat == 0 ? Stream(Letter()) : chat == 1 ? Refusal("") : HttpResponse();
  });
  const LoadRun run = Play("streams");
  EXPECT_EQ(run.figures.at("broken"), 1);
  EXPECT_EQ(run.figures.at("failed"), 1);
  EXPECT_EQ(run.faults.size(), 2U);
  EXPECT_EQ(run.faults.at("503 without Retry-After"), 1U);
}

TEST_F(LoadWorkloadTest, AnUnknownNameSaysWhichThereAre) {
  StartChats();
  EXPECT_EQ(Play("none").error,
            "there is no workload 'none'; there are speed mixed gaps turns streams");
}

}  // namespace
}  // namespace cairn
