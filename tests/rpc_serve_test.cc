// `cairn serve --rpc` on a synthetic model that is split over two workers, `cairn rpc-server`, on
// this machine. The tests are skipped where ggml's RPC backend is not installed, and fail there if
// CAIRN_NEEDS_RPC is 1 (make test-rpc).

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/fs.h"
#include "served.h"

namespace cairn {
namespace {

using test::FirstTurn;
using test::Flags;
using test::Join;
using test::kNewTokensMax;
using test::NextTurn;
using test::ReadTokens;

constexpr int kPatienceMs = 60'000;

int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const address = reinterpret_cast<sockaddr*>(&place);
  socklen_t size = sizeof(place);
  EXPECT_EQ(bind(fd, address, size), 0);
  EXPECT_EQ(getsockname(fd, address, &size), 0);
  close(fd);
  return ntohs(place.sin_port);
}

// A running `cairn rpc-server` with further flags; its output goes to a file.
class Worker {
 public:
  Worker(int port, const std::string& log, const Flags& flags = {}) : log_(log) {
    std::filesystem::remove(log_);
    Flags command = Join(
        {CAIRN_PROGRAM, "rpc-server", "--port", std::to_string(port), "--threads", "1"}, flags);
    std::vector<char*> arguments;
    for (std::string& word : command) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_ = fork();
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int output = open(log_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  ~Worker() { Kill(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Waits until it listens or has ended. Returns whether it listens.
  bool Await() {
    for (int waited_ms = 0; waited_ms < kPatienceMs; waited_ms += 10) {
      if (Log().find("listening on") != std::string::npos) return true;
      if (HasEnded()) return false;
      usleep(10'000);
    }
    return false;
  }
  std::string Log() const { return ReadFile(log_).value_or(""); }
  bool HasEnded() {
    if (pid_ > 0 && waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
    return pid_ <= 0;
  }
  void Kill() {
    if (HasEnded()) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  const std::string log_;
  pid_t pid_ = -1;
};

std::string MadeModelOf(const std::string& architecture) {
  const std::string file = testing::TempDir() + "rpc_" + architecture + ".gguf";
  ModelShape shape;
  shape.architecture = architecture;
  const auto recipe = MakeRecipe(shape);
  EXPECT_TRUE(recipe.has_value());
  EXPECT_TRUE(WriteModel(*recipe, file, {}).has_value());
  return file;
}

class RpcServeTest : public test::ServedTest {
 protected:
  void SetUp() override {
    for (size_t i = 0; i < ports_.size(); ++i) {
      if (StartWorker(i)) continue;
      const std::string why = workers_[i]->Log();
      const char* const needed = std::getenv("CAIRN_NEEDS_RPC");
      const bool may_skip = needed == nullptr || std::string(needed) != "1";
      if (may_skip && why.find("not installed") != std::string::npos) {
        GTEST_SKIP() << "no libggml-rpc.so (CAIRN_BACKENDS=rpc make setup): " << why;
      }
      FAIL() << why;
    }
  }

  bool StartWorker(size_t i, const Flags& flags = {}) {
    workers_[i].reset();
    workers_[i] =
        std::make_unique<Worker>(ports_[i], files_ + "/worker" + std::to_string(i), flags);
    return workers_[i]->Await();
  }
  std::string Address(size_t i) const { return "127.0.0.1:" + std::to_string(ports_[i]); }
  Flags RpcFlags() const { return {"--rpc", Address(0) + "," + Address(1)}; }
  void ServeSplit(const Flags& flags = {}, const std::string& model = test::MadeModel()) {
    Serve(Join(RpcFlags(), Join({"--cache-dir", files_ + "/cache"}, flags)), model);
  }
  // Returns the texts of the facts that the folders of the cache belong to.
  std::string Identities() const {
    std::string all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(files_ + "/cache")) {
      if (entry.path().filename() == "identity.txt") all += ReadFile(entry.path()).value_or("");
    }
    return all;
  }

  const std::array<int, 2> ports_ = {FreePort(), FreePort()};
  std::array<std::unique_ptr<Worker>, 2> workers_;
};

TEST_F(RpcServeTest, EachWorkerHasLayersAndTheLogSaysHowMany) {
  ServeSplit();
  const std::string log = Log();
  for (size_t i = 0; i < ports_.size(); ++i) {
    const std::string device = "RPC" + std::to_string(i) + " (" + Address(i) + "): ";
    const size_t at = log.find(device);
    ASSERT_NE(at, std::string::npos) << log;
    EXPECT_NE(log.substr(at, device.size() + 20).find(" layers"), std::string::npos) << log;
  }
}

TEST_F(RpcServeTest, TheFitTakesTheWorkersMemoryIntoAccount) {
  // No machine has as much memory as this leaves free, so no layer is left for the workers.
  ServeSplit({"--fit-target", "100000000"});
  EXPECT_NE(Log().find("chosen to fit: --gpu-layers 0 of "), std::string::npos) << Log();
  EXPECT_NE(Log().find("of GPU and worker memory"), std::string::npos) << Log();
  EXPECT_NE(Log().find(" layers on the CPU, though there is RPC0"), std::string::npos) << Log();
  Ask(FirstTurn());
  ASSERT_EQ(server_->Stop(), 0);
  const size_t before = Log().size();
  ServeSplit({"--fit-target", "100000000", "--fit", "off"});
  EXPECT_EQ(Log().find("chosen to fit", before), std::string::npos) << Log();
  EXPECT_NE(Log().find(" layers on RPC0", before), std::string::npos) << Log();
}

TEST_F(RpcServeTest, AChatOfSixTurnsWithARestartPrefillsWhatIsNewAndAnswersAsWithoutACache) {
  constexpr int kTurns = 6;
  const Flags exact = {"--reuse", "exact", "-c", "8192"};
  for (const char* architecture : {"qwen35", "llama"}) {
    SCOPED_TRACE(architecture);
    const std::string model = MadeModelOf(architecture);
    ServeSplit(exact, model);
    Json body = FirstTurn();
    std::vector<Json> bodies;
    std::vector<Json> replies;
    for (int turn = 0; turn < kTurns; ++turn) {
      if (turn == kTurns / 2) {
        ASSERT_EQ(server_->Stop(), 0) << server_->LastLines();
        ServeSplit(exact, model);
      }
      const Json reply = Ask(body);
      if (turn > 0) {
        EXPECT_LT(ReadTokens(reply), kNewTokensMax + 16) << turn;
      }
      bodies.push_back(body);
      replies.push_back(reply);
      body = NextTurn(body, reply, "question " + std::to_string(turn));
    }
    ASSERT_EQ(server_->Stop(), 0) << server_->LastLines();
    ServeSplit(Join(exact, {"--cache-ram", "0"}), model);
    for (int turn = 0; turn < kTurns; ++turn) {
      // The slot must not hold the turn before.
      Ask({{"max_tokens", 1}, {"messages", {{{"role", "user"}, {"content", "another talk"}}}}});
      const Json cold = Ask(bodies[turn]);
      EXPECT_GT(ReadTokens(cold), 1500) << turn;
      EXPECT_EQ(cold["choices"], replies[turn]["choices"]) << turn;
    }
    server_.reset();  // a worker serves one server at a time
  }
}

TEST_F(RpcServeTest, StatesOfOneSplitAreNotUsedByAnother) {
  ServeSplit();
  Ask(FirstTurn());
  ASSERT_EQ(server_->Stop(), 0);
  ServeSplit({"-ts", "7,1"});
  EXPECT_GT(ReadTokens(Ask(FirstTurn())), 1500);
  ASSERT_EQ(server_->Stop(), 0);
  ServeSplit();
  EXPECT_LT(ReadTokens(Ask(FirstTurn())), kNewTokensMax);
  const std::string identities = Identities();
  const size_t first = identities.find("\nlayers=RPC0 ");
  ASSERT_NE(first, std::string::npos) << identities;
  const size_t second = identities.find("\nlayers=RPC0 ", first + 1);
  ASSERT_NE(second, std::string::npos) << identities;
  EXPECT_NE(identities.substr(first, identities.find('\n', first + 1) - first),
            identities.substr(second, identities.find('\n', second + 1) - second));
}

TEST_F(RpcServeTest, ALostWorkerEndsRequestsWithAnErrorAndARestartGoesOnFromDisk) {
  ServeSplit({"-c", "32768"});
  const Json reply = Ask(FirstTurn());
  WaitUntilSaved();
  Json endless = NextTurn(FirstTurn(), reply);
  endless["max_tokens"] = 12'000;
  endless["ignore_eos"] = true;
  Json streamed = endless;
  streamed["stream"] = true;
  const auto ask = [this](const Json& body, HttpReply* got) {
    auto answered = HttpClient(server_->url()).Post("/v1/chat/completions", body.dump());
    if (answered) *got = *std::move(answered);
  };
  HttpReply whole;
  HttpReply stream;
  std::thread asks(ask, endless, &whole);
  std::thread streams(ask, streamed, &stream);
  WaitUntil("both are answered", [&] { return Metric("cairn_slots_busy") == 2; });
  workers_[1]->Kill();
  EXPECT_EQ(server_->WaitForExit(kPatienceMs), 1) << server_->LastLines();
  asks.join();
  streams.join();
  EXPECT_EQ(whole.status, 503) << whole.body;
  EXPECT_NE(whole.body.find("is lost"), std::string::npos) << whole.body;
  EXPECT_NE(stream.body.find("is lost"), std::string::npos)
      << stream.body.substr(stream.body.size() - std::min<size_t>(stream.body.size(), 500));
  EXPECT_NE(Log().find("RPC worker lost: " + Address(1)), std::string::npos) << Log();
  ASSERT_TRUE(StartWorker(1)) << workers_[1]->Log();
  ServeSplit({"-c", "32768"});
  const Json next = Ask(NextTurn(FirstTurn(), reply));
  EXPECT_LT(ReadTokens(next), kNewTokensMax) << server_->LastLines();
}

TEST_F(RpcServeTest, AWorkerThatServesAnotherServerIsRefusedAndServesOn) {
  Serve({"--rpc", Address(0)});
  const std::string why = Refusal({"--rpc", Address(0)});
  EXPECT_NE(why.find("one server at a time"), std::string::npos) << why;
  Ask(FirstTurn());
  ASSERT_EQ(server_->Stop(), 0);
  Serve({"--rpc", Address(0)});
  Ask(FirstTurn());
}

TEST_F(RpcServeTest, WorkersThatCannotBeUsedAreErrorsThatSayWhatToDo) {
  workers_[1].reset();
  const std::string down = Refusal(RpcFlags());
  EXPECT_NE(down.find(Address(1) + " cannot be reached"), std::string::npos) << down;
  EXPECT_NE(down.find("cairn rpc-server"), std::string::npos) << down;
  const std::string beyond = Refusal({"--rpc", "192.0.2.1:50052"});
  EXPECT_NE(beyond.find("--rpc-insecure"), std::string::npos) << beyond;
  const std::string malformed = Refusal({"--rpc", "nowhere"});
  EXPECT_NE(malformed.find("expected HOST:PORT"), std::string::npos) << malformed;
  const std::string twice = Refusal({"--rpc", Address(0) + "," + Address(0)});
  EXPECT_NE(twice.find("twice"), std::string::npos) << twice;
}

TEST_F(RpcServeTest, AWorkerKeepsLargeTensorsForTheNextLoad) {
  const std::string kept = files_ + "/tensors";
  ASSERT_TRUE(StartWorker(0, {"--cache-dir", kept})) << workers_[0]->Log();
  const std::string model = testing::TempDir() + "rpc_wide.gguf";
  ModelShape shape;
  shape.architecture = "llama";
  shape.layers = 1;
  shape.width = 1024;
  shape.ff = 12'288;  // tensors of 12 MiB and more: the backend keeps none below 10 MiB
  const auto recipe = MakeRecipe(shape);
  ASSERT_TRUE(recipe.has_value()) << recipe.error().message;
  ASSERT_TRUE(WriteModel(*recipe, model, {}).has_value());
  std::vector<Json> choices;
  for (int load = 0; load < 2; ++load) {
    Serve({"--rpc", Address(0), "--cache-ram", "0"}, model);
    choices.push_back(Ask(FirstTurn())["choices"]);
    ASSERT_EQ(server_->Stop(), 0);
    EXPECT_FALSE(std::filesystem::is_empty(kept));
  }
  EXPECT_EQ(choices[0], choices[1]);
  std::filesystem::remove(model);
}

TEST_F(RpcServeTest, AWorkerThatCannotBeginSaysWhy) {
  const std::string log = files_ + "/refused";
  const auto refusal = [&](int port, const Flags& flags) {
    Worker worker(port, log, flags);
    EXPECT_FALSE(worker.Await());
    return worker.Log();
  };
  const std::string taken = refusal(ports_[0], {});
  EXPECT_NE(taken.find("the port is in use"), std::string::npos) << taken;
  const std::string beyond = refusal(FreePort(), {"--host", "0.0.0.0"});
  EXPECT_NE(beyond.find("--rpc-insecure"), std::string::npos) << beyond;
  const std::string device = refusal(FreePort(), {"--device", "Abacus0"});
  EXPECT_NE(device.find("'Abacus0'"), std::string::npos) << device;
  EXPECT_NE(device.find("CPU"), std::string::npos) << device;
}

TEST(RpcBackend, ThatIsMissingIsNamedWithTheWayToGetIt) {
  const std::string empty = test::OwnPath("no_backends");
  std::filesystem::create_directories(empty);
  const auto server = ServerProcess::Start(
      {.argv = test::ServeCommand({"--rpc", "127.0.0.1:" + std::to_string(FreePort())}),
       .environment = {{"CAIRN_BACKENDS_DIR", empty}}});
  std::filesystem::remove_all(empty);
  ASSERT_FALSE(server.has_value());
  EXPECT_NE(server.error().message.find("CAIRN_BACKENDS=rpc make setup"), std::string::npos)
      << server.error().message;
}

}  // namespace
}  // namespace cairn
