#include "cmd/rpc/rpc_server.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/text.h"
#include "cmd/lib/progress_line.h"
#include "engine/llama/backend/llama_abort.h"
#include "engine/llama/backend/llama_backend.h"
#include "engine/llama/backend/rpc_backend.h"

namespace cairn {
namespace {

using std::chrono::milliseconds;

// Time for a connection thread to take the error and make an answer of it.
constexpr milliseconds kAnswersMs(300);
constexpr milliseconds kConnectionsMs(3'000);
constexpr double kDrainMs = 10'000;

std::string WhichOnes(const std::vector<std::string>& workers) {
  const std::vector<std::string> lost = LostRpcWorkers(workers);
  return lost.empty() ? "one of " + JoinNames(workers) : JoinNames(lost);
}

void EndServer(const LostWorkerParts& parts) {
  if (parts.scheduler == nullptr) return;
  parts.scheduler->LoseEngine(
      {ErrorCode::kUnavailable,
       "a machine that computes a part of the model is lost, and the server ends; send the request "
       "again when it has been restarted"});
  for (DiskStore* store : parts.stores) store->Drain(kDrainMs);
  std::this_thread::sleep_for(kAnswersMs);
  parts.http->Stop();
  parts.http_ended.wait_for(kConnectionsMs);
}

}  // namespace

CLI::App* AddRpcServer(CLI::App* app, RpcServerCommandOptions* options) {
  CLI::App* command =
      app->add_subcommand("rpc-server", "Compute layers for cairn serve --rpc on another machine");
  RpcServerOptions* server = &options->server;
  command
      ->add_option("-H,--host", server->address.host,
                   "IPv4 address or name to listen on; RPC has neither keys nor encryption, so an "
                   "address that other machines can reach needs --rpc-insecure")
      ->capture_default_str();
  command->add_option("-p,--port", server->address.port, "Port to listen on")
      ->capture_default_str()
      ->check(CLI::Range(1, 65535));
  command->add_flag("--rpc-insecure", server->beyond_loopback,
                    "Serve everyone who can reach --host; all machines on that network must be "
                    "yours");
  command
      ->add_option("-d,--device", server->devices,
                   "Devices to serve, such as CPU or Vulkan0,Vulkan1 (default: all GPUs, or the "
                   "CPU if there is none)")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      ->add_option("-t,--threads", server->threads,
                   "Number of threads of the CPU device (0: one per core)")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  command->add_option("--cache-dir", server->cache_folder,
                      "Keep large tensors in this folder, so that the next load of the same model "
                      "does not send them again (default: none)");
  command->add_flag("-v,--verbose", options->verbose, "Show ggml's log");
  return command;
}

int RunRpcServer(const RpcServerCommandOptions& options) {
  // A client that ends while it is sent an answer must not end the worker.
  std::signal(SIGPIPE, SIG_IGN);
  InitLlamaBackend([verbose = options.verbose](LogLevel level, std::string_view line) {
    if (verbose || level >= LogLevel::kWarning) PrintLogLine(level, line);
  });
  RpcServerOptions server = options.server;
  const std::string address = server.address.Text();
  server.ready = [&](const std::string& devices) {
    if (server.beyond_loopback) {
      PrintLogLine(LogLevel::kWarning, "cairn rpc-server: --rpc-insecure: everyone who can reach " +
                                           address + " can use and read this process's memory");
    }
    PrintLogLine(LogLevel::kInfo, "cairn rpc-server: listening on " + address + " for one server " +
                                      "at a time: " + devices);
  };
  const Status served = ServeDevices(server);
  std::fprintf(stderr, "cairn rpc-server: %s\n", served.error().message.c_str());
  return 1;
}

void WatchRpcWorkers(const std::vector<std::string>& workers, const ServerLog& log,
                     std::function<LostWorkerParts()> parts) {
  if (workers.empty()) return;
  // The backend writes to a worker's connection that may have ended.
  std::signal(SIGPIPE, SIG_IGN);
  OnLlamaAbort([workers, log, parts = std::move(parts)](std::string_view message) {
    EndServer(parts());
    log->error("RPC worker lost: {}; the server ends, and the cache on disk stays (ggml: {})",
               WhichOnes(workers), message);
    log->flush();
    std::_Exit(1);
  });
}

}  // namespace cairn
