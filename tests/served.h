// ServedTest: a test that runs `cairn serve` on a synthetic model and sends it HTTP requests.

#ifndef CAIRN_TESTS_SERVED_H_
#define CAIRN_TESTS_SERVED_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/fs.h"
#include "base/json.h"
#include "http/http_client.h"
#include "lab/client/server_process.h"
#include "made_model.h"

namespace cairn::test {

using Flags = std::vector<std::string>;

// One file for all tests.
inline const std::string& MadeModel() {
  static const std::string path = WriteMadeModel("served");
  return path;
}

inline Flags Join(Flags flags, const Flags& more) {
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

// Returns the command of `cairn serve` on a free port, with small sizes unless `flags` set them.
// One thread, because threads of several servers spent half of these tests' time on waiting.
inline Flags ServeCommand(const Flags& flags, const std::string& model = MadeModel()) {
  Flags command = {CAIRN_PROGRAM, "serve", "-m", model, "--port", "0"};
  for (const Flags& small : {Flags{"-c", "4096"}, Flags{"-t", "1"}, Flags{"--grid", "64"}}) {
    if (std::find(flags.begin(), flags.end(), small.front()) == flags.end()) {
      command = Join(std::move(command), small);
    }
  }
  return Join(std::move(command), flags);
}

// Returns the body of a conversation's first question, and of the one after its answer.
inline Json FirstTurn(int tokens_max = 16, size_t header_bytes = 1500) {
  return {{"max_tokens", tokens_max},
          {"temperature", 0},
          {"messages",
           {{{"role", "system"}, {"content", std::string(header_bytes, 's')}},
            {{"role", "user"}, {"content", "first question"}}}}};
}
inline Json NextTurn(Json body, const Json& reply,
                     const std::string& question = "second question") {
  body["messages"].push_back(reply["choices"][0]["message"]);
  body["messages"].push_back({{"role", "user"}, {"content", question}});
  return body;
}
inline int ReadTokens(const Json& reply) {
  return reply["timings"]["prompt_n"].get<int>();
}
// The most tokens that a turn of a cached conversation prefills: a message, the template's text
// around it, and a grid step.
inline constexpr int kNewTokensMax = 100 + 64;

inline double MetricOf(const ServerProcess& server, const std::string& name) {
  const std::string metrics = HttpClient(server.url()).Get("/metrics")->body;
  const size_t found = metrics.find("\n" + name + " ");
  EXPECT_NE(found, std::string::npos) << name;
  return found == std::string::npos ? 0 : std::stod(metrics.substr(found + name.size() + 2));
}

class ServedTest : public ::testing::Test {
 protected:
  ServedTest() {
    std::filesystem::remove_all(files_);
    std::filesystem::create_directories(files_);
  }
  ~ServedTest() override {
    server_.reset();  // its destructor waits for pending writes
    std::filesystem::remove_all(files_);
  }

  // Starts a server in place of the running one, if any.
  void Serve(const Flags& flags = {}, const std::string& model = MadeModel()) {
    ServeAs({.argv = ServeCommand(flags, model)});
  }
  void ServeAs(ServerProcessOptions options) {
    server_.reset();
    options.log_path = log_;
    auto server = ServerProcess::Start(std::move(options));
    ASSERT_TRUE(server.has_value()) << server.error().message;
    server_ = std::move(*server);
  }
  // Returns the error of a server that must not start.
  std::string Refusal(const Flags& flags, const std::string& model = MadeModel()) const {
    const auto server =
        ServerProcess::Start({.argv = ServeCommand(flags, model), .log_path = log_});
    EXPECT_FALSE(server.has_value());
    return server ? std::string() : server.error().message;
  }

  HttpClient ClientOf(const std::string& key) const {
    HttpClientOptions options;
    if (!key.empty()) options.headers = {{"x-api-key", key}};
    return HttpClient(server_->url(), options);
  }
  HttpReply Post(const std::string& path, const Json& body, const std::string& key = "") const {
    auto reply = ClientOf(key).Post(path, body.dump());
    EXPECT_TRUE(reply.has_value()) << path << ": " << reply.error().message;
    return reply.value_or(HttpReply{});
  }
  HttpReply Get(const std::string& path, const std::string& key = "") const {
    auto reply = ClientOf(key).Get(path);
    EXPECT_TRUE(reply.has_value()) << path << ": " << reply.error().message;
    return reply.value_or(HttpReply{});
  }
  Json Ask(const Json& body, const std::string& key = "") const {
    const HttpReply reply = Post("/v1/chat/completions", body, key);
    EXPECT_EQ(reply.status, 200) << reply.body;
    return reply.status == 200 ? Json::parse(reply.body) : Json();
  }
  double Metric(const std::string& name) const { return MetricOf(*server_, name); }

  template <typename Condition>
  void WaitUntil(const std::string& what, const Condition& condition) const {
    constexpr std::chrono::milliseconds kStep(20);
    for (std::chrono::milliseconds waited(0); waited < std::chrono::minutes(1); waited += kStep) {
      if (condition()) return;
      std::this_thread::sleep_for(kStep);
    }
    FAIL() << "in vain until " << what << ":\n" << server_->LastLines();
  }
  // Waits until a power failure would lose nothing.
  void WaitUntilSaved() const {
    WaitUntil("all is saved", [&] { return Metric("cairn_disk_unsynced_bytes") == 0; });
  }
  bool Sleeps() const { return Json::parse(Get("/props").body)["is_sleeping"].get<bool>(); }
  void WaitUntilAsleep() const {
    WaitUntil("it sleeps", [&] { return Sleeps(); });
  }

  // Returns the logs of this test's servers, one after the other.
  std::string Log() const { return ReadFile(log_).value_or(std::string()); }
  void WaitUntilLogged(std::string_view said, size_t from = 0) const {
    WaitUntil("the log says " + std::string(said),
              [&] { return Log().find(said, from) != std::string::npos; });
  }
  // Sends SIGHUP and waits until the log has the result.
  void Hup(std::string_view said) const {
    const size_t before = Log().size();
    server_->Signal(SIGHUP);
    WaitUntilLogged(said, before);
  }

  // A folder of this test alone, removed after it.
  const std::string files_ = OwnPath("served");
  const std::string log_ = files_ + "/log";
  std::unique_ptr<ServerProcess> server_;
};

}  // namespace cairn::test

#endif  // CAIRN_TESTS_SERVED_H_
