// The load benchmark's client and every workload against a fake server: a letter is a token, and
// every prompt has 100 tokens of which 40 are cached.

#include "lab/load/load_workload.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "lab/load/load_client.h"
#include "testing/base/golden_file.h"
#include "testing/http/server_fixture.h"

namespace cairn {
namespace {

// Answers every chat with max_tokens letters, a chunk each, and misbehaves as a test says. See
// Instead.
class LoadServerTest : public HttpServerTest {
 protected:
  // Called for the n-th chat from 0. Its response replaces the letters if the status is not 200 or
  // the body is not empty.
  using Instead = std::function<HttpResponse(size_t chat)>;

  void StartChats(const Instead& instead = nullptr) {
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
      const std::vector<int> tokens(body.at("content").text().size(), 1);
      return Text(Json{{"tokens", tokens}}.dump());
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
  // Sends a chunk per millisecond, so that concurrent answers overlap.
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

using Kind = LoadReply::Kind;

class LoadClientTest : public LoadServerTest {
 protected:
  LoadClient Client() const { return {Url(), &clock_, {}}; }

  static LoadAsk Asking(size_t tokens) {
    LoadAsk ask;
    ask.messages = {{"user", "Hello"}};
    ask.params.tokens_max = tokens;
    ask.params.ignore_end = true;
    return ask;
  }

  // Returns the client's reply if the server answers a request for three tokens with `response`.
  LoadReply Answered(const HttpResponse& response) {
    StartChats([response](size_t) { return response; });
    return Client().Ask(Asking(3));
  }
};

TEST_F(LoadClientTest, TimesEveryPieceOfAWholeAnswer) {
  StartChats();
  const double begin_ms = clock_.NowMs();
  const LoadReply reply = Client().Ask(Asking(12));
  ASSERT_EQ(reply.kind, Kind::kWhole) << reply.fault << reply.detail;
  EXPECT_EQ(reply.answer.answer_tokens, 12U);
  EXPECT_EQ(reply.answer.read_tokens(), 60U);
  ASSERT_EQ(reply.pieces.at_ms.size(), 12U);
  EXPECT_TRUE(reply.pieces.ended);
  EXPECT_EQ(reply.pieces.tokens, 12U);
  EXPECT_TRUE(std::is_sorted(reply.pieces.at_ms.begin(), reply.pieces.at_ms.end()));
  EXPECT_GE(reply.asked_ms, begin_ms);
  EXPECT_GE(reply.pieces.at_ms.front(), reply.asked_ms);
  EXPECT_EQ(Bodies().at(0)["ignore_eos"], true);
  EXPECT_FALSE(Bodies().at(0).contains("grammar"));
}

TEST_F(LoadClientTest, GivesAnAnswerUpWhenNoMoreIsWanted) {
  StartChats();
  LoadAsk ask = Asking(100'000);
  ask.goes_on = [](size_t pieces) { return pieces < 5; };
  const LoadReply reply = Client().Ask(ask);
  EXPECT_EQ(reply.kind, Kind::kGivenUp);
  EXPECT_EQ(reply.pieces.at_ms.size(), 5U);
  EXPECT_FALSE(reply.pieces.ended);
}

TEST_F(LoadClientTest, A503WithRetryAfterIsARefusal) {
  const LoadReply reply = Answered(Refusal("2"));
  EXPECT_EQ(reply.kind, Kind::kBusy);
  EXPECT_EQ(reply.retry_after_s, 2);
}

TEST_F(LoadClientTest, A503WithoutItIsAFault) {
  const LoadReply reply = Answered(Refusal(""));
  EXPECT_EQ(reply.kind, Kind::kFailed);
  EXPECT_EQ(reply.fault, "503 without Retry-After");
  EXPECT_NE(reply.detail.find("come back later"), std::string::npos) << reply.detail;
}

TEST_F(LoadClientTest, AnyOtherStatusIsAFault) {
  HttpResponse response = Text("no");
  response.status = 500;
  const LoadReply reply = Answered(response);
  EXPECT_EQ(reply.kind, Kind::kFailed);
  EXPECT_EQ(reply.fault, "status 500");
}

TEST_F(LoadClientTest, NobodyThereIsAFault) {
  const LoadClient client("http://127.0.0.1:1", &clock_, {});
  const LoadReply reply = client.Ask(Asking(3));
  EXPECT_EQ(reply.kind, Kind::kFailed);
  EXPECT_EQ(reply.fault, "no answer");
}

TEST_F(LoadClientTest, AStreamWithoutDoneIsBroken) {
  EXPECT_EQ(Answered(Stream(Letter() + Letter() + Letter() + Finish() + Usage(3))).kind,
            Kind::kBroken);
}

TEST_F(LoadClientTest, AStreamWithoutAFinishReasonIsBroken) {
  const LoadReply reply = Answered(Stream(Letter() + Letter() + Letter() + Usage(3) + Done()));
  EXPECT_EQ(reply.kind, Kind::kBroken);
  EXPECT_EQ(reply.fault, "the stream has no finish reason");
}

TEST_F(LoadClientTest, AStreamWithFewerTokensThanWereAskedForIsBroken) {
  EXPECT_EQ(Answered(Stream(Letter() + Letter() + Finish() + Usage(2) + Done())).kind,
            Kind::kBroken);
}

TEST_F(LoadClientTest, AnErrorInTheMiddleIsBroken) {
  EXPECT_EQ(Answered(Stream(Letter() + Chunk({{"error", {{"message", "oh"}}}}))).kind,
            Kind::kBroken);
}

TEST_F(LoadClientTest, ComesBackUntilItIsServed) {
  StartChats([](size_t chat) { return chat < 2 ? Refusal("0") : HttpResponse(); });
  std::atomic<size_t> busy = 0;
  const LoadReply reply =
      Client().AskPatiently(Asking(3), std::numeric_limits<double>::infinity(), &busy);
  EXPECT_EQ(reply.kind, Kind::kWhole);
  EXPECT_EQ(busy, 2U);
}

TEST_F(LoadClientTest, DoesNotWaitForATimeThatComesTooLate) {
  StartChats([](size_t) { return Refusal("3600"); });
  std::atomic<size_t> busy = 0;
  const LoadReply reply = Client().AskPatiently(Asking(3), clock_.NowMs() + 1000, &busy);
  EXPECT_EQ(reply.kind, Kind::kBusy);
  EXPECT_EQ(busy, 1U);
}

TEST(BackOff, DoublesFromWhatTheServerAsksForUpToALimit) {
  EXPECT_EQ(BackOffMs(0, 1), 250);
  EXPECT_EQ(BackOffMs(0, 3), 1000);
  EXPECT_EQ(BackOffMs(1, 1), 1000);
  EXPECT_EQ(BackOffMs(1, 4), 2000);
  EXPECT_EQ(BackOffMs(3600, 1), kBackOffMsMax);
  EXPECT_EQ(BackOffMs(0, 1000), kBackOffMsMax);
}

class LoadWorkloadTest : public LoadServerTest {
 protected:
  LoadRun Play(const std::string& workload) {
    options_.url = Url();
    options_.clock = &clock_;
    return PlayLoad(workload, options_);
  }

  // Expects no faults, and a title on the report's pages for every figure.
  static void ExpectWell(const LoadRun& run) {
    EXPECT_EQ(run.error, "");
    EXPECT_TRUE(run.faults.empty()) << run.faults.begin()->first;
    const std::string titles = ReadSourceFile("lab/report/load_figures.py");
    for (const auto& [key, value] : run.figures) {
      const std::string entry = "Figure(\"" + run.workload + "\", \"" + key + "\",";
      EXPECT_NE(titles.find(entry), std::string::npos) << entry;
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

TEST_F(LoadWorkloadTest, CrowdsOfEachSizeAskWithNewPromptsAndComeBackWithTheirNextTurns) {
  StartChats();
  options_.crowd_max = 10;
  const LoadRun run = Play("crowds");
  ExpectWell(run);
  for (const char* key : {"new_1", "next_1", "new_4", "next_4", "new_8", "next_8"}) {
    EXPECT_GT(run.figures.at(std::string(key) + "_tokens_per_s"), 0) << key;
    EXPECT_GT(run.figures.at(std::string(key) + "_first_p50_ms"), 0) << key;
    EXPECT_GE(run.figures.at(std::string(key) + "_first_max_ms"),
              run.figures.at(std::string(key) + "_first_p50_ms"));
    EXPECT_GE(run.figures.at(std::string(key) + "_gap_max_ms"), 0) << key;
  }
  EXPECT_FALSE(run.figures.contains("new_16_tokens_per_s"));
  std::multiset<size_t> messages;
  for (const auto& body : Bodies()) messages.insert(body["messages"].size());
  EXPECT_EQ(messages.count(1), 1U + 1 + 4 + 8);
  EXPECT_EQ(messages.count(3), 1U + 4 + 8) << "with the answer before";
}

TEST_F(LoadWorkloadTest, CrowdsEndWhereOneIsNotAnswered) {
  StartChats([](size_t chat) { return chat == 4 ? Refusal("") : HttpResponse(); });
  EXPECT_EQ(Play("crowds").error, "4 clients: not all were answered");
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
  EXPECT_TRUE(bodies[0]["grammar"].text().starts_with("root ::= \"<think>\\nSo "));
}

TEST_F(LoadWorkloadTest, TheScriptHoldsTheAnswersOfTheGrammar) {
  StartChats();
  Play("turns");
  const auto answer = Json::parse(TurnsScript(options_))["rules"][0]["answer"];
  EXPECT_EQ(Bodies().at(0)["grammar"], "root ::= \"<think>\\n" + answer["reasoning"].text() +
                                           "\\n</think>\\n\\n" + answer["content"].text() + "\"");
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

TEST_F(LoadWorkloadTest, StreamsCountClientsThatWereRefusedToTheEnd) {
  StartChats([](size_t) { return Refusal("0"); });
  const LoadRun run = Play("streams");
  ExpectWell(run);
  EXPECT_EQ(run.figures.at("whole"), 0);
  EXPECT_EQ(run.figures.at("unserved"), 5);
  EXPECT_GE(run.figures.at("busy"), 5);
}

TEST_F(LoadWorkloadTest, AnUnknownNameSaysWhichThereAre) {
  StartChats();
  EXPECT_EQ(Play("none").error,
            "there is no workload 'none'; there are speed crowds mixed gaps turns streams");
}

}  // namespace
}  // namespace cairn
