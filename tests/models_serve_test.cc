// Several models behind one port, with the real program: swaps keep every conversation, dead
// processes are replaced, and nothing is left behind.
//
// CAIRN_ROUTER_TURNS and CAIRN_ROUTER_KILLS: the numbers of turns and kills; 24 and 5 if unset.
// `make models-test` sets 200 and 50.

#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "served.h"

namespace cairn {
namespace {

using test::Flags;
using test::Join;
using test::kNewTokensMax;
using test::ReadTokens;

constexpr std::array<const char*, 3> kArchitectures = {"gemma3", "llama", "qwen35"};
constexpr int kPatienceMs = 60'000;

size_t NumberFrom(const char* variable, size_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::stoul(text);
}

// A folder with a model of each kind of memory, for all tests of this process.
const std::string& ModelsFolder() {
  static const std::string folder = [] {
    const std::string made = test::OwnPath("models");
    std::filesystem::create_directories(made);
    for (const char* architecture : kArchitectures) {
      ModelShape shape;
      shape.architecture = architecture;
      const auto recipe = MakeRecipe(shape);
      EXPECT_TRUE(recipe.has_value());
      EXPECT_TRUE(WriteModel(*recipe, made + "/" + architecture + ".gguf", {}).has_value());
    }
    return made;
  }();
  return folder;
}

// The processes whose parent is `parent`, with zombies.
std::set<pid_t> ChildrenOf(pid_t parent) {
  std::set<pid_t> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::string text;
    if (!std::getline(file, text)) continue;
    std::istringstream fields(text.substr(text.rfind(')') + 2));
    std::string state;
    pid_t of = 0;
    fields >> state >> of;
    if (of == parent) children.insert(std::stoi(entry.path().filename().string()));
  }
  return children;
}

// Whether the process runs: a zombie, which nobody may wait for, does not.
bool Runs(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return false;
  return text[text.rfind(')') + 2] != 'Z';
}

size_t DescriptorsOf(pid_t pid) {
  const std::filesystem::directory_iterator folder("/proc/" + std::to_string(pid) + "/fd");
  return static_cast<size_t>(std::distance(begin(folder), end(folder)));
}

size_t ThreadsOf(pid_t pid) {
  const std::filesystem::directory_iterator folder("/proc/" + std::to_string(pid) + "/task");
  return static_cast<size_t>(std::distance(begin(folder), end(folder)));
}

// Memory of the process that no file backs.
int64_t OwnMemoryKib(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  constexpr std::string_view kName = "RssAnon:";
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kName)) return std::stoll(line.substr(kName.size()));
  }
  ADD_FAILURE() << "the memory of process " << pid << " is unknown";
  return 0;
}

class ModelsServeTest : public test::ServedTest {
 protected:
  static void TearDownTestSuite() { std::filesystem::remove_all(ModelsFolder()); }

  void ServeModels(const Flags& flags = {}, const Flags& context = {"-c", "4096"}) {
    const Flags command = {CAIRN_PROGRAM, "serve", "--models-dir", ModelsFolder(),
                           "--port",      "0",     "-t",           "1",
                           "--grid",      "64",    "--cache-dir",  files_ + "/cache"};
    ServeAs({.argv = Join(Join(command, context), flags)});
  }
  void WritePreset(const std::string& text) const { std::ofstream(files_ + "/preset.ini") << text; }

  static Json Question(const std::string& model, const std::string& text, int tokens_max = 8) {
    return {{"model", model},
            {"max_tokens", tokens_max},
            {"temperature", 0},
            {"messages", {{{"role", "user"}, {"content", text}}}}};
  }
  std::string StatusOf(const std::string& model, const std::string& key = "") const {
    const Json list = Json::parse(Get("/models", key).body);
    for (const Json& one : list["data"]) {
      if (one["id"].text() == model) return one["status"]["value"].text();
    }
    return "absent";
  }
  double ModelMetric(const std::string& name, const std::string& model) const {
    return Metric(name + "{model=\"" + model + "\"}");
  }
  pid_t OnlyChild() const {
    const auto children = ChildrenOf(server_->pid());
    EXPECT_EQ(children.size(), 1u);
    return children.empty() ? 0 : *children.begin();
  }
};

constexpr int kTalkTokensMax = 3000;
// A stream for each slot: in one KV buffer for all slots, the cells of one lie between those of
// another, in another order after a swap, and the last bits of long prompts differ.
const Flags kStreams = {"-c", "16384", "--no-kv-unified"};

// One person's conversation with a model. The conversations of one model share their header, and
// no part of a message: a cut inside a message lies elsewhere where a slot holds the shared part
// than where the disk does, and then the last bits differ.
struct Talk {
  std::string model;
  Json body;
  int tokens = 0;  // of the last prompt and its answer

  // `begun`: conversations so far; no two questions begin with the same letter.
  void Begin(size_t begun) {
    body = test::FirstTurn(8, 300 + 100 * model.size());
    body["model"] = model;
    body["logprobs"] = true;
    body["messages"][1]["content"] =
        std::string(1, static_cast<char>('A' + begun)) + " is the first question";
    tokens = 0;
  }
};

TEST_F(ModelsServeTest, SwapsLoseNothingOfAnyConversation) {
  const size_t turns = NumberFrom("CAIRN_ROUTER_TURNS", 24);
  ServeModels({"--models-max", "1"}, kStreams);
  std::map<std::string, std::unique_ptr<ServerProcess>> alone;
  for (const char* model : kArchitectures) {
    auto server = ServerProcess::Start(
        {.argv = test::ServeCommand(Join({"--cache-dir", files_ + "/alone-" + model}, kStreams),
                                    ModelsFolder() + "/" + model + ".gguf"),
         .log_path = files_ + "/alone-log"});
    ASSERT_TRUE(server.has_value()) << server.error().message;
    alone[model] = std::move(*server);
  }
  std::vector<Talk> talks(6);
  for (size_t i = 0; i < talks.size(); ++i) {
    talks[i].model = kArchitectures[i % kArchitectures.size()];
    talks[i].Begin(i);
  }
  size_t begun = talks.size();
  std::mt19937 random(28);
  std::string loaded;
  size_t swaps = 0;
  int swapped_tokens = 0;
  int lower_bound = 0;
  for (size_t turn = 0; turn < turns; ++turn) {
    Talk& talk = talks[random() % talks.size()];
    const Json reply = Ask(talk.body);
    const auto expected =
        HttpClient(alone[talk.model]->url()).Post("/v1/chat/completions", talk.body.dump());
    ASSERT_TRUE(expected.has_value());
    const Json expected_reply = Json::parse(expected->body);
    EXPECT_EQ(reply["choices"].dump(), expected_reply["choices"].dump())
        << "turn " << turn << " of " << talk.model;
    const int prompt_tokens = reply["usage"]["prompt_tokens"].get<int>();
    if (loaded != talk.model && talk.tokens > 0) {
      ++swaps;
      swapped_tokens += ReadTokens(reply);
      // What is new, and the last token of the answer before, which was never decoded.
      const int new_tokens = prompt_tokens - talk.tokens + 1;
      lower_bound += new_tokens;
      EXPECT_LE(ReadTokens(reply), new_tokens)
          << "turn " << turn << " of " << talk.model << "; alone " << ReadTokens(expected_reply);
    }
    loaded = talk.model;
    talk.tokens = prompt_tokens + reply["usage"]["completion_tokens"].get<int>();
    if (talk.tokens > kTalkTokensMax) {
      talk.Begin(begun++);
    } else {
      talk.body = test::NextTurn(talk.body, reply, std::to_string(turn) + " is a question");
    }
  }
  RecordProperty("swaps", static_cast<int>(swaps));
  RecordProperty("prefilled_after_swaps", swapped_tokens);
  RecordProperty("lower_bound", lower_bound);
  std::printf("%zu turns, %zu swaps: %d tokens prefilled after them, the lower bound is %d\n",
              turns, swaps, swapped_tokens, lower_bound);
  EXPECT_GT(swaps, turns / 4);
  EXPECT_EQ(ChildrenOf(server_->pid()).size(), 1u);
}

TEST_F(ModelsServeTest, EndsStreamsOfAKilledModelAndAnswersTheNextRequest) {
  const size_t kills = NumberFrom("CAIRN_ROUTER_KILLS", 5);
  ServeModels();
  const Json question = Question("qwen35", "what is it?");
  const std::string answer = Ask(question)["choices"].dump();
  const size_t descriptors = DescriptorsOf(server_->pid());
  const size_t threads = ThreadsOf(server_->pid());
  Json long_question = Question("qwen35", "tell me more", 2000);
  long_question["stream"] = true;
  int64_t memory_kib = 0;  // after the first kill
  for (size_t kill_number = 0; kill_number < kills; ++kill_number) {
    const pid_t child = OnlyChild();
    std::string seen;
    int status = 0;
    std::string error;
    const Status posted = HttpClient(server_->url())
                              .PostStream(
                                  "/v1/chat/completions", long_question.dump(),
                                  [&](std::string_view chunk) {
                                    if (seen.find("content") == std::string::npos &&
                                        chunk.find("content") != std::string_view::npos) {
                                      kill(child, SIGKILL);
                                    }
                                    seen += chunk;
                                    return true;
                                  },
                                  &status, &error);
    ASSERT_TRUE(posted.has_value()) << posted.error().message;
    const size_t last = seen.rfind("data: ");
    ASSERT_NE(last, std::string::npos);
    EXPECT_TRUE(seen.substr(last).starts_with("data: {\"error\":")) << seen.substr(last);
    EXPECT_EQ(Ask(question)["choices"].dump(), answer);
    if (kill_number == 0) memory_kib = OwnMemoryKib(server_->pid());
  }
  EXPECT_EQ(ModelMetric("cairn_model_deaths_total", "qwen35"), static_cast<double>(kills));
  EXPECT_EQ(ModelMetric("cairn_model_requests", "qwen35"), 0);
  EXPECT_EQ(ChildrenOf(server_->pid()).size(), 1u);
  // Connections and threads of requests that have just ended may still be there.
  WaitUntil("descriptors are closed", [&] {
    return DescriptorsOf(server_->pid()) <= descriptors && ThreadsOf(server_->pid()) <= threads + 1;
  });
  const int64_t grown_kib = OwnMemoryKib(server_->pid()) - memory_kib;
  std::printf(
      "%zu kills: %zu descriptors before and %zu after, %zu threads and %zu; memory grew "
      "by %lld KiB from %lld KiB\n",
      kills, descriptors, DescriptorsOf(server_->pid()), threads, ThreadsOf(server_->pid()),
      static_cast<long long>(grown_kib), static_cast<long long>(memory_kib));
  EXPECT_LT(grown_kib, 4096);
}

TEST_F(ModelsServeTest, LeavesNoProcessWhenItIsKilled) {
  ServeModels();
  Ask(Question("llama", "hello"));
  Ask(Question("gemma3", "hello"));
  const auto children = ChildrenOf(server_->pid());
  EXPECT_EQ(children.size(), 2u);
  server_->Signal(SIGKILL);
  EXPECT_EQ(server_->WaitForExit(kPatienceMs), 128 + SIGKILL);
  WaitUntil("the children have ended",
            [&] { return std::none_of(children.begin(), children.end(), Runs); });
}

TEST_F(ModelsServeTest, FinishesAnswersAndSavesBeforeItEnds) {
  ServeModels({"--save-after-ms", "1000000"});
  Json body = Question("qwen35", "tell me more", 200);
  const Json reply = Ask(body);
  body["stream"] = true;
  std::string seen;
  int status = 0;
  std::string error;
  bool asked = false;
  const Status posted = HttpClient(server_->url())
                            .PostStream(
                                "/v1/chat/completions", body.dump(),
                                [&](std::string_view chunk) {
                                  seen += chunk;
                                  if (!std::exchange(asked, true)) server_->Signal(SIGTERM);
                                  return true;
                                },
                                &status, &error);
  ASSERT_TRUE(posted.has_value()) << posted.error().message;
  EXPECT_TRUE(seen.ends_with("data: [DONE]\n\n")) << seen;
  EXPECT_EQ(server_->WaitForExit(kPatienceMs), 0);
  EXPECT_NE(Log().find("[qwen35] "), std::string::npos);
  EXPECT_NE(Log().find("saved to"), std::string::npos);
  // The conversation is there again.
  ServeModels();
  body = test::NextTurn(Question("qwen35", "tell me more", 8), reply);
  EXPECT_LE(ReadTokens(Ask(body)), kNewTokensMax);
}

TEST_F(ModelsServeTest, SaysWhyAModelCannotBeLoadedAndDoesNotTryForEver) {
  std::ofstream(files_ + "/broken.gguf") << "no model";
  WritePreset("[broken]\nmodel = " + files_ + "/broken.gguf\n");
  ServeModels({"--models-preset", files_ + "/preset.ini"});
  for (int i = 0; i < 3; ++i) {
    const HttpReply reply = Post("/v1/chat/completions", Question("broken", "hello"));
    EXPECT_EQ(reply.status, 503);
    EXPECT_NE(reply.body.find("could not be loaded: it exited with code 1"), std::string::npos)
        << reply.body;
  }
  const Json list = Json::parse(Get("/models").body);
  EXPECT_EQ(list["data"][0]["id"].text(), "broken");
  EXPECT_TRUE(list["data"][0]["status"]["failed"].get<bool>());
  EXPECT_LE(ModelMetric("cairn_model_starts_total", "broken"), 2);
  EXPECT_TRUE(ChildrenOf(server_->pid()).empty());
  // The others are served.
  Ask(Question("llama", "hello"));
}

TEST_F(ModelsServeTest, KeepsWhatTheKeysOfClientsSaidApart) {
  std::ofstream(files_ + "/keys") << "anna\nbert\n";
  ServeModels({"--api-key-file", files_ + "/keys", "--models-max", "1"});
  Json body = test::FirstTurn(4);
  body["model"] = "qwen35";
  const auto reused = [](const Json& reply) {
    return reply["usage"]["prompt_tokens_details"]["cached_tokens"].get<int>();
  };
  EXPECT_EQ(Post("/v1/chat/completions", body).status, 401);
  Ask(body, "anna");
  EXPECT_EQ(reused(Ask(body, "bert")), 0);
  Ask(Question("llama", "hello"), "bert");
  EXPECT_GT(reused(Ask(body, "anna")), 1000);
  // A new key is known to the router and to models that run.
  std::ofstream(files_ + "/keys") << "bert\ncarl\n";
  Hup("reloaded, 2 API keys");
  WaitUntil("the model knows the key",
            [&] { return Post("/v1/chat/completions", body, "carl").status == 200; });
  EXPECT_EQ(Post("/v1/chat/completions", body, "anna").status, 401);
}

TEST_F(ModelsServeTest, WarnsOnSighupOfAKeyFileThatOthersCanRead) {
  const std::string keys = files_ + "/keys";
  std::ofstream(keys) << "anna\n";
  using std::filesystem::perms;
  std::filesystem::permissions(keys, perms::owner_all);
  ServeModels({"--api-key-file", keys});
  EXPECT_EQ(Log().find("every user of this machine can read it"), std::string::npos) << Log();
  std::filesystem::permissions(keys, perms::owner_all | perms::others_read);
  Hup("--api-key-file " + keys + ": every user of this machine can read it");
}

TEST_F(ModelsServeTest, LoadsAndUnloadsModelsByRequest) {
  WritePreset("[llama]\nalias = small\n[*]\nctx-size = 2048\n");
  ServeModels({"--models-preset", files_ + "/preset.ini", "--no-models-autoload"});
  EXPECT_EQ(StatusOf("llama"), "unloaded");
  EXPECT_EQ(Post("/v1/chat/completions", Question("llama", "hello")).status, 400);
  EXPECT_EQ(Post("/models/load", {{"model", "small"}}).status, 200);
  WaitUntil("it is loaded", [&] { return StatusOf("llama") == "loaded"; });
  const Json reply = Ask(Question("small", "hello"));
  EXPECT_EQ(reply["model"].text(), "llama");
  EXPECT_EQ(Post("/models/unload", {{"model", "llama"}}).status, 200);
  WaitUntil("it is unloaded", [&] { return StatusOf("llama") == "unloaded"; });
  EXPECT_TRUE(ChildrenOf(server_->pid()).empty());
}

TEST_F(ModelsServeTest, DividesTheBudgetOfTheCacheAmongTheModelsThatRun) {
  constexpr double kMib = 1 << 20;
  ServeModels({"--cache-ram", "64"});
  const auto limit = [&](const char* model) {
    return ModelMetric("cairn_cache_limit_bytes", model) / kMib;
  };
  Ask(Question("llama", "hello"));
  EXPECT_EQ(limit("llama"), 64);
  Ask(Question("gemma3", "hello"));
  WaitUntil("both have half", [&] { return limit("llama") == 32 && limit("gemma3") == 32; });
  EXPECT_EQ(Post("/models/unload", {{"model", "gemma3"}}).status, 200);
  WaitUntil("one has all", [&] { return limit("llama") == 64; });
  // No client reaches the path by which the router says so.
  EXPECT_EQ(Post("/cairn/cache/limit", {{"bytes", 0}, {"model", "llama"}}).status, 404);
}

TEST_F(ModelsServeTest, UnloadsModelsForTheMemoryOfAnother) {
  ServeModels({"--models-memory", "1"});
  Ask(Question("llama", "hello"));
  WaitUntil("its process has said what it takes",
            [&] { return ModelMetric("cairn_model_memory_bytes", "llama") > 1 << 20; });
  Ask(Question("gemma3", "hello"));
  EXPECT_EQ(StatusOf("gemma3"), "loaded");
  EXPECT_EQ(StatusOf("llama"), "unloaded");
}

TEST_F(ModelsServeTest, UnloadsAModelThatIsNotUsed) {
  ServeModels({"--models-ttl", "1"});
  Ask(Question("llama", "hello"));
  WaitUntil("it is unloaded", [&] { return StatusOf("llama") == "unloaded"; });
  Ask(Question("llama", "hello"));
}

}  // namespace
}  // namespace cairn
