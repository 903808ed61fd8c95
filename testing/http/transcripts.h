// For the transcripts of testdata/transcripts/: a complete server on an engine with scripted
// answers, and the recording of requests and answers.

#ifndef CAIRN_TESTING_HTTP_TRANSCRIPTS_H_
#define CAIRN_TESTING_HTTP_TRANSCRIPTS_H_

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <regex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/json.h"
#include "chat/template/builtin_templates.h"
#include "routes/page.h"
#include "routes/routes.h"
#include "sched/scheduler.h"
#include "testing/base/golden_file.h"
#include "testing/base/memory_fs.h"
#include "testing/engine/fake_engine.h"
#include "testing/http/server_fixture.h"

namespace cairn::test {

// Answers every prompt with the texts of a script, each of them one token. Prompts must be ASCII:
// the tokens above belong to the script.
class ScriptEngine final : public FakeEngine {
 public:
  explicit ScriptEngine(std::vector<std::string> script)
      : FakeEngine(Options()), script_(std::move(script)) {}

  std::string Piece(Token token, bool special) const override {
    const size_t index = static_cast<size_t>(token) - kFirst;
    return token >= kFirst && index < script_.size() ? script_[index]
                                                     : FakeEngine::Piece(token, special);
  }
  std::unique_ptr<Sampler> MakeSampler(const SamplingParams& /*params*/) override {
    return std::make_unique<Player>(script_.size());
  }

 private:
  static constexpr Token kFirst = 128;

  static FakeEngineOptions Options() {
    FakeEngineOptions options;
    options.context_tokens = 1024;
    options.slots = 2;
    options.adapters = 2;
    return options;
  }

  class Player final : public Sampler {
   public:
    explicit Player(size_t size) : size_(size) {}
    Token Sample(std::span<const float> /*logits*/) override {
      return next_ < size_ ? kFirst + static_cast<Token>(next_++) : kMessageEnd;
    }

   private:
    const size_t size_;
    size_t next_ = 0;
  };

  const std::vector<std::string> script_;
};

inline const std::vector<std::string> kText = {"A pile ", "of ", "stones.", "\n"};
inline const std::vector<std::string> kThoughtAndCall = {"<think>",
                                                         "\nWhere ",
                                                         "is that?",
                                                         "\n</think>",
                                                         "\n\n",
                                                         "I look ",
                                                         "it up.",
                                                         "<tool_call>",
                                                         "\n{\"name\": \"weather\", ",
                                                         "\"arguments\": {\"city\": \"Rome\"}}",
                                                         "\n</tool_call>"};

inline constexpr std::array<PageFile, 2> kPage = {
    {{"index.html", "<p>A page.</p>\n"}, {"0", "bytes\n"}}};

inline std::string Quoted(const std::string& text) {
  return Json(text).dump();
}

// The last digits of logarithms differ by machine, and what is allocated by run.
inline std::string WithoutNumbers(const std::string& text) {
  static const std::regex logprobs(R"re("logprob":( ?)-?[0-9.e+-]+)re");
  static const std::regex heap(R"re((\ncairn_heap_used_bytes) [0-9.e+-]+)re");
  return std::regex_replace(std::regex_replace(text, logprobs, R"("logprob":$1"NUMBER")"), heap,
                            "$1 NUMBER");
}

inline std::string WithoutTimes(const std::string& text) {
  static const std::regex json_times(
      R"re("(begun|created|created_at|[a-z_]+_(?:ms|per_second|duration|minutes))":)re"
      R"re((?:-?[0-9.e+-]+|"[^"]*"))re");
  static const std::regex metric_times(R"re((\n[a-z:_]*seconds[a-z_]*(\{[^}]*\})?) [0-9.e+-]+)re");
  return std::regex_replace(std::regex_replace(text, json_times, R"("$1":"TIME")"), metric_times,
                            "$1 TIME");
}

class TranscriptsTest : public testing::Test {
 protected:
  ~TranscriptsTest() override { StopServing(); }

  void Serve(const std::vector<std::string>& script, bool loaded = true,
             const std::vector<std::string>& keys = {}) {
    StopServing();
    world_ = std::make_unique<World>(script, keys);
    if (slot_files_) world_->served.slot_files = &world_->slot_files;
    if (loaded) world_->served.service.store(&world_->service, std::memory_order_release);
    ASSERT_TRUE(world_->server.Bind());
    world_->server_thread = std::thread([this] { world_->server.Serve(); });
    world_->context_thread = std::thread([this] { world_->scheduler.Run(); });
  }

  // REQUIRES: no request is in progress.
  void UseReranker(const Rerank* rerank) { world_->served.rerank = rerank; }
  void UseInfillTokens(const InfillTokens& tokens) { world_->served.infill.tokens = tokens; }

  void Get(const std::string& path) { Record("GET", path, ""); }
  void Post(const std::string& path, const std::string& body) { Record("POST", path, body); }

  void Record(const std::string& method, const std::string& path, const std::string& body,
              const std::string& header = "") {
    RawClient client(world_->server.port());
    // HTTP/1.0, so that streams are not chunked.
    client.Send(method + " " + path + " HTTP/1.0\r\nHost: localhost\r\n" +
                (header.empty() ? "" : header + "\r\n") +
                "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    const std::string& answer = client.ReadAll();
    transcript_ += "> " + method + " " + path + "\n";
    if (!header.empty()) transcript_ += "> " + header + "\n";
    if (!body.empty()) transcript_ += "> " + (body.size() > 1000 ? "(a long one)" : body) + "\n";
    transcript_ += "< " + std::to_string(StatusOf(answer)) + " " + ContentType(answer) + "\n";
    transcript_ += Readable(WithoutNumbers(WithoutTimes(BodyOf(answer))));
    transcript_ += "\n";
  }

  void ExpectTranscript(const std::string& name) {
    ExpectSourceFile("testdata/transcripts/" + name + ".txt", transcript_);
  }

 private:
  // All parts behind a server, in the order of construction.
  struct World {
    World(const std::vector<std::string>& script, const std::vector<std::string>& keys)
        : engine(script),
          cache(CacheOptions{}, *MakePlacement("user-turns"), *MakeEviction("lru"), MakeRamStore()),
          scheduler(&engine, &cache, &clock, {}),
          chat_template(*ChatTemplate::Parse(std::string(*BuiltinTemplate("qwen")), "",
                                             engine.info().eos_text)),
          service(&engine, chat_template.get(), &scheduler),
          slot_files(&fs, &scheduler.slots(), &clock, SlotFilesOf(engine)),
          server(Options(keys)) {
      EXPECT_TRUE(fs.MakeFolders(kSlotFolder).has_value());
      served.model.alias = "m";
      served.model.version = "0";
      served.responses = std::make_unique<StoredResponses>(&clock, StoredResponsesOptions{});
      AddRoutes(&server, &served);
      AddPageRoutes(&server, kPage);
    }
    static HttpServerOptions Options(const std::vector<std::string>& keys) {
      HttpServerOptions options;
      options.port = 0;
      options.error_body = HttpErrorBody;
      options.keys = *ApiKeys::Make(keys);
      return options;
    }

    static SlotFilesOptions SlotFilesOf(const Engine& engine) {
      SlotFilesOptions options;
      options.folder = kSlotFolder;
      options.saved_as.name_spaces = {{0, 0}};
      options.needs_snapshots = engine.traits().NeedsSnapshots();
      return options;
    }
    static constexpr const char* kSlotFolder = "/slots";

    SteadyClock clock;
    MemoryFs fs;
    ScriptEngine engine;
    CheckpointCache cache;
    Scheduler scheduler;
    std::unique_ptr<ChatTemplate> chat_template;
    ChatService service;
    SlotFiles slot_files;
    Served served;
    HttpServer server;
    std::thread server_thread;
    std::thread context_thread;
  };

  void StopServing() {
    if (world_ == nullptr) return;
    world_->server.Stop();
    world_->server_thread.join();
    world_->scheduler.Stop();
    world_->context_thread.join();
    world_ = nullptr;
  }

  static std::string ContentType(const std::string& answer) {
    const std::string name = "\r\nContent-Type: ";
    const size_t at = answer.find(name);
    if (at == std::string::npos) return "";
    const size_t begin = at + name.size();
    return answer.substr(begin, answer.find("\r\n", begin) - begin);
  }

  // Leaves out the templates, which have their own tests and change.
  static std::string Readable(const std::string& body) {
    Json json = Json::parse(body, nullptr, false);
    if (json.is_discarded()) return body;
    for (const char* name : {"chat_template", "template"}) {
      if (json.is_object() && json.contains(name)) json[name] = "TEMPLATE";
    }
    return json.dump(2) + "\n";
  }

  std::unique_ptr<World> world_;
  std::string transcript_;

 protected:
  bool slot_files_ = false;  // applies to the next server
};

}  // namespace cairn::test

#endif  // CAIRN_TESTING_HTTP_TRANSCRIPTS_H_
