#include "cmd/rpc/lost_worker.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <utility>

#include "base/text.h"
#include "engine/llama/backend/llama_abort.h"
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
