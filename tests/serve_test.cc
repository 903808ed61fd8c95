// The program itself, over HTTP, on a synthetic hybrid model.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/json.h"
#include "lab/client/sse.h"
#include "served.h"

namespace cairn {
namespace {

using test::Flags;
using test::MadeModel;

std::unique_ptr<ServerProcess> Serve(const Flags& flags = {}) {
  ServerProcessOptions options;
  options.argv = test::ServeCommand(test::Join({"--cache-disk", "0"}, flags));
  auto server = ServerProcess::Start(options);
  EXPECT_TRUE(server.has_value()) << (server ? "" : server.error().message);
  return server ? std::move(*server) : nullptr;
}

Json Chat(const std::vector<std::pair<std::string, std::string>>& messages, int max_tokens) {
  Json body = {{"max_tokens", max_tokens}, {"temperature", 0}};
  for (const auto& [role, content] : messages) {
    body["messages"].push_back({{"role", role}, {"content", content}});
  }
  return body;
}

class ServeTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = Serve().release(); }
  static void TearDownTestSuite() {
    EXPECT_EQ(server_->Stop(), 0) << server_->LastLines();
    delete server_;
    server_ = nullptr;
  }

  static HttpClient Client() { return HttpClient(server_->url()); }
  static Json Ask(const Json& body) { return Post("/v1/chat/completions", body); }
  static Json Post(const std::string& path, const Json& body) {
    const auto reply = Client().Post(path, body.dump());
    EXPECT_TRUE(reply.has_value());
    EXPECT_EQ(reply->status, 200) << reply->body;
    return Json::parse(reply->body);
  }

  static int Metric(const std::string& metric) {
    const std::string metrics = Client().Get("/metrics")->body;
    const std::string name = "\n" + metric + " ";
    return std::stoi(metrics.substr(metrics.find(name) + name.size()));
  }
  // Returns the tokens of all answers so far.
  static int Generated() { return Metric("llamacpp:tokens_predicted_total"); }

  static ServerProcess* server_;
};

ServerProcess* ServeTest::server_ = nullptr;

TEST_F(ServeTest, AConversationReadsOnlyWhatIsNew) {
  const std::string document(1500, 'd');
  Json body = Chat({{"system", document}, {"user", "first question"}}, 16);
  const Json first = Ask(body);
  body["messages"].push_back(first["choices"][0]["message"]);
  body["messages"].push_back({{"role", "user"}, {"content", "second question"}});
  const Json second = Ask(body);
  EXPECT_LT(second["timings"]["prompt_n"].get<int>(), 200);
  EXPECT_GT(second["usage"]["prompt_tokens_details"]["cached_tokens"].get<int>(), 1500);
}

TEST_F(ServeTest, GoingBackToTheDocumentReadsFromItsCheckpoint) {
  const std::string document(1500, 'e');
  Ask(Chat({{"system", document}, {"user", "one question of many"}}, 16));
  const Json other = Ask(Chat({{"system", document}, {"user", "another way to ask"}}, 16));
  EXPECT_LT(other["timings"]["prompt_n"].get<int>(), 200);
}

TEST_F(ServeTest, RegeneratingGivesTheSameAnswerAndReadsNothing) {
  const Json body = Chat({{"user", std::string(900, 'r')}}, 24);
  const Json first = Ask(body);
  const Json again = Ask(body);
  EXPECT_EQ(again["choices"][0]["message"], first["choices"][0]["message"]);
  EXPECT_EQ(again["timings"]["prompt_n"], 0);
}

TEST_F(ServeTest, ConversationsThatTakeTurnsReadTheirHeaderOnceAndThemselvesNeverAgain) {
  constexpr size_t kConversations = 4;
  const std::string header(2000, 'h');
  std::vector<Json> bodies;
  for (size_t i = 0; i < kConversations; ++i) {
    bodies.push_back(Chat({{"system", header}, {"user", std::string(800, "abcd"[i])}}, 16));
  }
  for (int turn = 0; turn < 3; ++turn) {
    for (size_t i = 0; i < kConversations; ++i) {
      const Json reply = Ask(bodies[i]);
      const int read = reply["timings"]["prompt_n"].get<int>();
      if (turn == 0) {
        EXPECT_EQ(read > 2000, i == 0) << read;
      } else {
        EXPECT_LT(read, 150) << "turn " << turn << " of conversation " << i;
      }
      bodies[i]["messages"].push_back(reply["choices"][0]["message"]);
      bodies[i]["messages"].push_back({{"role", "user"}, {"content", "go on"}});
    }
  }
}

TEST_F(ServeTest, AStreamEndsWithUsageAndDone) {
  Json body = Chat({{"user", "stream please"}}, 8);
  body["stream"] = true;
  body["stream_options"] = {{"include_usage", true}};
  std::vector<std::string> events;
  SseParser parser;
  int status = 0;
  std::string error_body;
  ASSERT_TRUE(Client().PostStream(
      "/v1/chat/completions", body.dump(),
      [&](std::string_view chunk) {
        parser.Feed(chunk, [&](const SseEvent& event) { events.push_back(event.data); });
        return true;
      },
      &status, &error_body));
  EXPECT_EQ(status, 200);
  ASSERT_GE(events.size(), 4u);
  EXPECT_EQ(Json::parse(events.front())["choices"][0]["delta"]["role"], "assistant");
  EXPECT_EQ(events.back(), "[DONE]");
  std::string content;
  for (size_t i = 1; i + 3 < events.size(); ++i) {
    const auto piece = Json::parse(events[i])["choices"][0]["delta"]["content"].get<std::string>();
    EXPECT_FALSE(piece.empty());
    content += piece;
  }
  EXPECT_EQ(content.size(), 8u);
  EXPECT_EQ(Json::parse(events[events.size() - 2])["usage"]["completion_tokens"], 8);
  EXPECT_EQ(Json::parse(events[events.size() - 3])["choices"][0]["finish_reason"], "length");
}

TEST_F(ServeTest, AnthropicsMessagesShareThePrefixOfTheirConversation) {
  Json body = {{"max_tokens", 8},
               {"system", std::string(1500, 'm')},
               {"messages", {{{"role", "user"}, {"content", "first question"}}}}};
  const auto first = Client().Post("/v1/messages?beta=true", body.dump());
  ASSERT_TRUE(first.has_value());
  ASSERT_EQ(first->status, 200) << first->body;
  body["messages"].push_back(
      {{"role", "assistant"}, {"content", Json::parse(first->body)["content"]}});
  body["messages"].push_back({{"role", "user"}, {"content", "second question"}});
  const auto second = Client().Post("/v1/messages?beta=true", body.dump());
  ASSERT_TRUE(second.has_value());
  const Json usage = Json::parse(second->body)["usage"];
  EXPECT_GT(usage["cache_read_input_tokens"].get<int>(), 1500);
  EXPECT_LT(usage["input_tokens"].get<int>(), 200);
}

TEST_F(ServeTest, BadInputIsA4xxThatNamesTheField) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "not valid JSON"},
      {"{", "not valid JSON"},
      {"[]", "JSON object"},
      {R"({"messages":[]})", "messages"},
      {R"({"messages":[{"role":"user","content":{"a":1}}]})", "messages[0].content"},
      {R"({"messages":[{"role":"user","content":[{"type":"video"}]}]})", "'video'"},
      {R"({"messages":[{"role":"user","content":"x"}],"temperature":[]})", "temperature"},
      {Chat({{"user", std::string(9000, 'l')}}, 1).dump(), "exceeds the available context size"},
  };
  for (const auto& [body, expected] : cases) {
    const auto reply = Client().Post("/v1/chat/completions", body);
    ASSERT_TRUE(reply.has_value());
    EXPECT_EQ(reply->status, 400) << body.substr(0, 80);
    const auto message = Json::parse(reply->body)["error"]["message"].get<std::string>();
    EXPECT_NE(message.find(expected), std::string::npos) << message;
  }
  EXPECT_EQ(Client().Get("/v1/chat/completions")->status, 405);
  EXPECT_EQ(Client().Get("/nowhere")->status, 404);
  EXPECT_EQ(Client().Get("/health")->status, 200);
}

TEST_F(ServeTest, AClientThatGoesAwayStopsItsWork) {
  const int generated_before = Generated();
  const auto ended = [] { return Metric("cairn_requests_total"); };
  const int ended_before = ended();
  Json endless = Chat({{"user", "tell me everything"}}, -1);
  endless["stream"] = true;
  int status = 0;
  std::string error_body;
  ASSERT_TRUE(Client().PostStream(
      "/v1/chat/completions", endless.dump(), [](std::string_view) { return false; }, &status,
      &error_body));
  const auto busy = [] {
    const Json slots = Json::parse(Client().Get("/slots")->body);
    return std::any_of(slots.begin(), slots.end(),
                       [](const Json& slot) { return slot["is_processing"].get<bool>(); });
  };
  // Slot states are published after each step, and the first delta may arrive before that.
  for (int i = 0; i < 600 && ended() == ended_before; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_EQ(ended(), ended_before + 1);
  for (int i = 0; i < 600 && busy(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_FALSE(busy());
  // Without the disconnect it would have generated until the context was full.
  EXPECT_LT(Generated() - generated_before, 2000);
  const Json next = Ask(Chat({{"user", "still there?"}}, 1));
  EXPECT_EQ(next["usage"]["completion_tokens"], 1);
  const auto reply = Client().Get("/props");
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->status, 200);
}

TEST_F(ServeTest, ConversationsAtTheSameTimeShareTheirHeader) {
  constexpr size_t kConversations = 4;
  const std::string header(3000, 's');
  Ask(Chat({{"system", header}, {"user", "who comes first"}}, 4));
  std::vector<Json> replies(kConversations);
  std::vector<std::thread> clients;
  for (size_t i = 0; i < kConversations; ++i) {
    clients.emplace_back([&, i] {
      const std::string own(400, "efgh"[i]);
      replies[i] = Ask(Chat({{"system", header}, {"user", own}}, 24));
    });
  }
  for (std::thread& client : clients) client.join();
  for (const Json& reply : replies) {
    EXPECT_LT(reply["timings"]["prompt_n"].get<int>(), 600);
    EXPECT_EQ(reply["usage"]["completion_tokens"], 24);
  }
  const Json props = Json::parse(Client().Get("/props")->body);
  EXPECT_GT(props["cairn"]["cache"]["forked"].get<int>(), 0);
}

TEST_F(ServeTest, PlainCompletionsReuseWhatTheyShare) {
  const std::string text(1200, 'p');
  const Json first =
      Post("/completion", {{"prompt", text + "one"}, {"n_predict", 4}, {"temperature", 0}});
  EXPECT_EQ(first["tokens_predicted"], 4);
  const Json second =
      Post("/v1/completions", {{"prompt", text + "one"}, {"max_tokens", 4}, {"temperature", 0}});
  EXPECT_EQ(second["choices"][0]["text"], first["content"]);
  EXPECT_EQ(second["timings"]["prompt_n"], 0);
}

TEST_F(ServeTest, SlotsAndMetricsAreThere) {
  EXPECT_EQ(Json::parse(Client().Get("/slots")->body).size(), 4u);
  EXPECT_NE(Client().Get("/metrics")->body.find("# TYPE cairn_cache_bytes gauge"),
            std::string::npos);
}

TEST_F(ServeTest, SaysWhatItServes) {
  const Json props = Json::parse(Client().Get("/props")->body);
  EXPECT_EQ(props["cairn"]["memory_class"], "hybrid");
  EXPECT_EQ(props["default_generation_settings"]["n_ctx"], 4096);
  const Json models = Json::parse(Client().Get("/v1/models")->body);
  EXPECT_EQ(models["data"][0]["id"], "served_qwen35.gguf");
  const Json prompt = Json::parse(
      Client().Post("/apply-template", R"({"messages":[{"role":"user","content":"hi"}]})")->body);
  EXPECT_NE(prompt["prompt"].get<std::string>().find("<|im_start|>user\nhi<|im_end|>"),
            std::string::npos);
}

TEST(ServeProgram, ListsAllNamesOfAModel) {
  const auto server = Serve({"--alias", "second, first"});
  ASSERT_NE(server, nullptr);
  const Json model = Json::parse(HttpClient(server->url()).Get("/v1/models")->body)["data"][0];
  EXPECT_EQ(model["id"], "second");
  EXPECT_EQ(model["aliases"], Json::array({"second", "first"}));
}

TEST(ServeProgram, WithoutPlacementGoingBackReadsEverything) {
  const auto server = Serve({"--placement", "none"});
  ASSERT_NE(server, nullptr);
  const HttpClient client(server->url());
  const std::string document(1500, 'e');
  ASSERT_TRUE(client.Post("/v1/chat/completions",
                          Chat({{"system", document}, {"user", "one question"}}, 8).dump()));
  const auto other = client.Post("/v1/chat/completions",
                                 Chat({{"system", document}, {"user", "another"}}, 8).dump());
  ASSERT_TRUE(other.has_value());
  EXPECT_EQ(Json::parse(other->body)["timings"]["cache_n"], 0);
}

TEST(ServeProgram, KeysAreAskedForAndAreNamespaces) {
  const auto server = Serve({"--api-key", "one,two"});
  ASSERT_NE(server, nullptr);
  const std::string body = Chat({{"user", std::string(900, 'k')}}, 1).dump();
  EXPECT_EQ(HttpClient(server->url()).Post("/v1/chat/completions", body)->status, 401);
  const auto ask = [&](const std::string& key) {
    HttpClientOptions options;
    options.headers = {{"Authorization", "Bearer " + key}};
    const auto reply = HttpClient(server->url(), options).Post("/v1/chat/completions", body);
    EXPECT_EQ(reply->status, 200);
    return Json::parse(reply->body)["timings"]["cache_n"].get<int>();
  };
  EXPECT_EQ(ask("one"), 0);
  EXPECT_GT(ask("one"), 0);
  EXPECT_EQ(ask("two"), 0);
}

std::pair<int, std::string> RunProgram(const std::string& arguments) {
  const std::string out = test::OwnPath("serve_test_output.txt");
  const int code =
      std::system((std::string(CAIRN_PROGRAM) + " " + arguments + " >" + out + " 2>&1").c_str());
  std::ifstream file(out);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::filesystem::remove(out);
  return {WEXITSTATUS(code), text};
}

TEST(ServeProgram, AModelThatCannotLoadIsOneLineAndExitCode1) {
  const std::string not_a_model = test::OwnPath("not_a_model.gguf");
  std::ofstream(not_a_model) << "GGUF but not really";
  for (const std::string& path : {std::string("/no/such/file.gguf"), not_a_model}) {
    const auto [code, text] = RunProgram("serve --port 0 -m " + path);
    EXPECT_EQ(code, 1) << text;
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
    EXPECT_NE(text.find(path), std::string::npos) << text;
  }
  std::filesystem::remove(not_a_model);
}

TEST(ServeProgram, FlagsThatAreWrongSayWhatTheyTake) {
  const std::string model = "serve --port 0 -m " + MadeModel() + " ";
  EXPECT_NE(RunProgram(model + "--placement nowhere").second.find("eog, every-nb, every-nt"),
            std::string::npos);
  EXPECT_NE(RunProgram(model + "-ctk q99").second.find("f32, f16, bf16, q8_0"), std::string::npos);
  EXPECT_NE(RunProgram(model + "-np 0").second.find("--parallel 0"), std::string::npos);
  EXPECT_NE(RunProgram(model + "-np 9999").second.find("--parallel was given 9999"),
            std::string::npos);
  EXPECT_NE(RunProgram(model + "--host 0.0.0.0").second.find("--api-key"), std::string::npos);
  EXPECT_EQ(RunProgram(model + "--chat-template nothing").first, 1);
  EXPECT_NE(RunProgram(model + "--grid 128 --ubatch-size 64").second.find("--grid 128"),
            std::string::npos);
}

TEST(ServeProgram, CommandsAndFlagsThatAreMistypedSayWhatWasMeant) {
  const std::vector<std::pair<std::string, std::string>> meant = {
      {"serv", "did you mean cairn serve?"},
      {"-m " + MadeModel(), "did you mean cairn serve -m …?"},
      {"serve " + MadeModel(), "did you mean cairn serve -m " + MadeModel() + "?"},
      {"serve --ctx-szie 4096", "did you mean --ctx-size?"},
      {"serve --log-level warnin", "did you mean warning?"},
  };
  for (const auto& [arguments, hint] : meant) {
    const auto [code, said] = RunProgram(arguments);
    EXPECT_EQ(code, 1) << arguments;
    EXPECT_NE(said.find(hint), std::string::npos) << said;
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  }
}

using SlotContextTest = test::ServedTest;

TEST_F(SlotContextTest, IsAPartWhereSlotsAreGivenAndAllOfItInOneBuffer) {
  const Json long_prompt = {{"prompt", std::string(1500, 'p')}, {"max_tokens", 1}};
  Serve({"-np", "4"});  // of 4096 tokens
  EXPECT_EQ(Json::parse(Get("/props").body)["default_generation_settings"]["n_ctx"], 1024);
  const HttpReply refused = Post("/v1/completions", long_prompt);
  EXPECT_EQ(refused.status, 400) << refused.body;
  EXPECT_EQ(Json::parse(refused.body)["error"]["n_ctx"], 1024);
  Serve({"-np", "4", "--kv-unified"});
  EXPECT_EQ(Json::parse(Get("/props").body)["default_generation_settings"]["n_ctx"], 4096);
  EXPECT_EQ(Post("/v1/completions", long_prompt).status, 200);
}

TEST(ServeProgram, ExactReuseOfSeveralSlotsExcludesOneBuffer) {
  const std::string model = "serve --port 0 -m " + MadeModel() + " --reuse exact -np 2 ";
  for (const char* flag : {"--kv-unified", "-kvu"}) {
    const auto [code, said] = RunProgram(model + flag);
    EXPECT_EQ(code, 1);
    EXPECT_NE(said.find("--kv-unified lets slots change"), std::string::npos) << said;
  }
}

// The texts to which a prompt's volatile texts are pinned depend on earlier requests.
TEST(ServeProgram, ExactReuseAndPinnedTextsExcludeEachOther) {
  const auto [code, said] =
      RunProgram("serve --port 0 -m " + MadeModel() + " --reuse exact --pin-volatile '[0-9]+'");
  EXPECT_EQ(code, 1);
  EXPECT_NE(said.find("remove one of them"), std::string::npos) << said;
}

TEST(ServeProgram, ExactReuseAndValuesToldLateExcludeEachOther) {
  const std::string model = "serve --port 0 -m " + MadeModel() + " --reuse exact --volatile ";
  for (const char* values : {"late", "keep"}) {
    const auto [code, said] = RunProgram(model + values);
    EXPECT_EQ(code, 1);
    EXPECT_NE(said.find("--volatile " + std::string(values) + " makes prompts depend"),
              std::string::npos)
        << said;
  }
}

}  // namespace
}  // namespace cairn
