// The runner against a fake server: every answer is "A cairn (càrn) is a heap.", after the
// reasoning "Stones, then.".

#include "lab/bench/bench_runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <regex>
#include <string>
#include <vector>

#include "base/json.h"
#include "testing/base/golden_file.h"
#include "testing/http/server_fixture.h"

namespace cairn {
namespace {

class BenchRunnerTest : public HttpServerTest {
 protected:
  BenchRunnerTest() : stream_(ReadSourceFile("testdata/chat_streams/answer.sse")) {}

  // The fake's tokens are bytes, and its prompt is the concatenated contents of the messages.
  void AddTokenizer() {
    server_->Handle("POST", "/apply-template", [](const HttpRequest& request) {
      std::string prompt;
      const Json body = Json::parse(request.body);
      for (const Json& message : body["messages"]) {
        prompt += message["content"].text() + "|";
      }
      return Text(Json{{"prompt", prompt}}.dump());
    });
    server_->Handle("POST", "/tokenize", [](const HttpRequest& request) {
      Json tokens = Json::array();
      const std::string text = Json::parse(request.body)["content"].text();
      for (const char c : text) {
        tokens.push_back(static_cast<int>(c));
      }
      return Text(Json{{"tokens", tokens}}.dump());
    });
  }

  void AddChat() {
    server_->Handle("POST", "/v1/chat/completions", [this](const HttpRequest& request) {
      const std::lock_guard<std::mutex> lock(mutex_);
      bodies_.push_back(Json::parse(request.body));
      HttpResponse response = Text(first_prefills_ && bodies_.size() == 1 ? Prefilled() : stream_);
      response.content_type = "text/event-stream";
      return response;
    });
  }

  // Returns the answer of a server that had nothing of the prompt.
  std::string Prefilled() const {
    std::string text =
        std::regex_replace(stream_, std::regex("\"cached_tokens\":5947"), "\"cached_tokens\":0");
    text = std::regex_replace(text, std::regex("\"cache_n\":5947"), "\"cache_n\":0");
    return std::regex_replace(text, std::regex("\"prompt_n\":227"), "\"prompt_n\":6174");
  }

  PlayedScenario Play(std::vector<Step> steps) {
    PlayOptions options;
    options.url = "http://127.0.0.1:" + std::to_string(server_->port());
    options.clock = &clock_;
    options.restart = [this] { return restart_; };
    options.on_progress = [this](size_t done) { done_.push_back(done); };
    Scenario scenario;
    scenario.name = "s";
    scenario.steps = std::move(steps);
    return PlayScenario(scenario, options);
  }

  // Returns the messages of a request, a line each.
  std::string Sent(size_t request) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::string text;
    for (const Json& message : bodies_.at(request)["messages"]) {
      text += message["role"].text() + ": " + message["content"].text();
      if (message.contains("reasoning_content")) {
        text += " (" + message["reasoning_content"].text() + ")";
      }
      text += "\n";
    }
    return text;
  }

  static AskStep Asking(size_t conversation, Keep keep, const std::string& what = "w") {
    struct Ask ask;
    ask.conversation = conversation;
    ask.what = what;
    ask.keep = keep;
    ask.instead = {"assistant", "scripted"};
    return {{ask}};
  }

  const SteadyClock clock_;
  const std::string stream_;
  bool first_prefills_ = false;  // the first request of all is answered as Prefilled()
  Status restart_;
  std::mutex mutex_;
  std::vector<Json> bodies_;
  std::vector<size_t> done_;
};

TEST_F(BenchRunnerTest, DoesToTheConversationWhatTheStepsSay) {
  MakeServer();
  AddChat();
  StartServer();
  Play({AddStep{0, {{"system", "s"}, {"user", "1"}}}, Asking(0, Keep::kAnswer),
        AddStep{0, {{"user", "2"}}}, Asking(0, Keep::kContent), AddStep{0, {{"user", "3"}}},
        Asking(0, Keep::kDiscard), Asking(0, Keep::kInstead), CopyStep{0, 7},
        RewriteStep{7, 1, "one"}, EraseStep{7, 2, 2}, AddStep{7, {{"user", "4"}}},
        ToolsStep{7, R"([{"type":"function"}])"}, Asking(7, Keep::kDiscard), CutStep{0, 2},
        Asking(0, Keep::kDiscard)});
  ASSERT_EQ(bodies_.size(), 6u);
  const std::string answer = "assistant: A cairn (càrn) is a heap.";
  EXPECT_EQ(Sent(3), "system: s\nuser: 1\n" + answer + " (Stones, then.)\nuser: 2\n" + answer +
                         "\nuser: 3\n");
  EXPECT_EQ(Sent(2), Sent(3));
  EXPECT_EQ(Sent(4),
            "system: s\nuser: one\n" + answer + "\nuser: 3\nassistant: scripted\nuser: 4\n");
  EXPECT_EQ(Sent(5), "system: s\nuser: 1\n");
  EXPECT_EQ(bodies_[4]["tools"], Json::parse(R"([{"type":"function"}])"));
  EXPECT_FALSE(bodies_[5].contains("tools"));
  EXPECT_EQ(done_, (std::vector<size_t>{1, 2, 3, 4, 5, 6}));
}

TEST_F(BenchRunnerTest, CountsWhatNothingBeforeBeginsWith) {
  MakeServer();
  AddChat();
  AddTokenizer();
  StartServer();
  const PlayedScenario played =
      Play({AddStep{0, {{"system", "abc"}, {"user", "de"}}}, Asking(0, Keep::kInstead, "first"),
            AddStep{0, {{"user", "fgh"}}}, Asking(0, Keep::kDiscard), Asking(0, Keep::kDiscard),
            CutStep{0, 1}, AddStep{0, {{"user", "dz"}}}, Asking(0, Keep::kDiscard)});
  ASSERT_EQ(played.run.error, "");
  std::vector<size_t> lower_bound;
  for (const RequestFigures& request : played.run.requests) {
    lower_bound.push_back(request.lower_bound_tokens);
  }
  // "abc|de|"; then "scripted|fgh|" after it, where the answer began with an "S" too; then the same
  // again; then "z|".
  EXPECT_EQ(lower_bound, (std::vector<size_t>{7, 13, 1, 2}));
  EXPECT_EQ(played.run.requests[0].what, "first");
  EXPECT_EQ(played.run.requests[0].prompt_tokens, 6174u);
  EXPECT_EQ(played.run.requests[0].read_tokens, 227u);
  EXPECT_EQ(played.run.requests[0].answer_tokens, 9u);
  EXPECT_EQ(played.run.requests[0].answer, "Stones, then.A cairn (càrn) is a heap.");
  ASSERT_EQ(played.notes.size(), 3u);
  EXPECT_EQ(played.notes[0],
            "the prompts of 4 requests have other numbers of tokens by /tokenize than by the "
            "server's usage");
  // The server claims that it had most of the very first prompt.
  EXPECT_TRUE(played.notes[1].starts_with("the server knew how this begins")) << played.notes[1];
  EXPECT_EQ(played.notes[2], "the server does not say what it read in all");
}

TEST_F(BenchRunnerTest, CountsPromptsAtTheSameTimeInTheirOrder) {
  MakeServer();
  AddChat();
  AddTokenizer();
  StartServer();
  AskStep together = Asking(0, Keep::kAnswer);
  together.asks.push_back(Asking(0, Keep::kDiscard).asks[0]);
  together.asks.push_back(Asking(1, Keep::kAnswer).asks[0]);
  const PlayedScenario played = Play({AddStep{0, {{"system", "abc"}, {"user", "de"}}},
                                      AddStep{1, {{"system", "abc"}, {"user", "xyz"}}}, together,
                                      AddStep{0, {{"user", "f"}}}, Asking(0, Keep::kDiscard)});
  ASSERT_EQ(played.run.requests.size(), 4u);
  EXPECT_EQ(played.run.requests[0].lower_bound_tokens, 7u);
  EXPECT_EQ(played.run.requests[1].lower_bound_tokens, 1u);
  EXPECT_EQ(played.run.requests[2].lower_bound_tokens, 4u);
  // Only one of the two answers was kept.
  EXPECT_EQ(Sent(3),
            "system: abc\nuser: de\nassistant: A cairn (càrn) is a heap. (Stones, then.)\n"
            "user: f\n");
}

TEST_F(BenchRunnerTest, LetsOneOfTheFirstAtTheSameTimePrefillForAll) {
  MakeServer();
  AddChat();
  StartServer();
  AskStep together = Asking(0, Keep::kDiscard);
  together.asks.push_back(Asking(1, Keep::kDiscard).asks[0]);
  const std::vector<Step> steps = {AddStep{0, {{"user", "1"}}}, AddStep{1, {{"user", "2"}}},
                                   together};
  const auto knew = [](const PlayedScenario& played) {
    return std::any_of(played.notes.begin(), played.notes.end(), [](const std::string& note) {
      return note.starts_with("the server knew how this begins");
    });
  };
  first_prefills_ = true;
  EXPECT_FALSE(knew(Play(steps)));
  EXPECT_TRUE(knew(Play(steps))) << "neither prefilled";
}

TEST_F(BenchRunnerTest, SaysWhenTheServerDoesNotTokenise) {
  MakeServer();
  AddChat();
  StartServer();
  const PlayedScenario played = Play({AddStep{0, {{"user", "1"}}}, Asking(0, Keep::kAnswer)});
  EXPECT_EQ(played.run.error, "");
  EXPECT_EQ(played.run.requests.at(0).lower_bound_tokens, 0u);
  ASSERT_EQ(played.notes.size(), 3u);
  EXPECT_TRUE(played.notes[0].starts_with("the server has no /apply-template or no /tokenize"));
}

TEST_F(BenchRunnerTest, GivesUpRequestsThatItIsToldToGiveUp) {
  MakeServer();
  AddChat();
  AddTokenizer();
  StartServer();
  AskStep step = Asking(0, Keep::kDiscard);
  step.asks[0].cancel = Cancel::kAnswering;
  const PlayedScenario played = Play({AddStep{0, {{"user", "12"}}}, step});
  ASSERT_EQ(played.run.requests.size(), 1u);
  EXPECT_TRUE(played.run.requests[0].cancelled);
  EXPECT_EQ(played.run.requests[0].total_ms, 0);
  EXPECT_EQ(bodies_[0]["return_progress"], true);
  EXPECT_EQ(bodies_[0]["timings_per_token"], true);
}

TEST_F(BenchRunnerTest, EndsAtTheRequestThatFailsAndAtARestartThatDoes) {
  MakeServer();
  AddChat();
  StartServer();
  restart_ = Fail(ErrorCode::kUnavailable, "it will not start");
  const std::vector<Step> steps = {AddStep{0, {{"user", "1"}}}, Asking(0, Keep::kDiscard, "ask"),
                                   RestartStep{}, Asking(0, Keep::kDiscard)};
  const PlayedScenario unstarted = Play(steps);
  EXPECT_EQ(unstarted.run.error, "it will not start");
  EXPECT_EQ(unstarted.run.requests.size(), 1u);
  StopServer();
  const PlayedScenario alone = Play(steps);
  EXPECT_TRUE(alone.run.error.starts_with("ask: POST http://")) << alone.run.error;
  EXPECT_TRUE(alone.run.requests.empty());
}

}  // namespace
}  // namespace cairn
