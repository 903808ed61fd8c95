#include "engine/llama/backend/rpc_backend.h"

#include <ggml-backend.h>
#include <ggml-rpc.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <set>
#include <system_error>
#include <thread>

#include "base/process/threads.h"
#include "base/text.h"
#include "engine/llama/backend/rpc_hello.h"
#include "engine/llama/backend/rpc_sockets.h"

namespace cairn {
namespace {

constexpr int kGreetMs = 5'000;
constexpr int kLookMs = 1'000;
constexpr std::chrono::milliseconds kPortPoll(5);

// ggml's backends are loaded at run time, so their functions are found by name.
template <typename Function>
Result<Function> RpcFunction(const char* name) {
  ggml_backend_reg_t const backend = ggml_backend_reg_by_name("RPC");
  void* const found =
      backend == nullptr ? nullptr : ggml_backend_reg_get_proc_address(backend, name);
  if (found == nullptr) {
    return Fail(ErrorCode::kUnsupported,
                "ggml's RPC backend is not installed; install it (Debian: libggml0-backend-rpc, or "
                "with the number of your libggml), or run CAIRN_BACKENDS=rpc make setup");
  }
  return reinterpret_cast<Function>(found);
}

Status AddWorker(const RpcAddress& worker, bool beyond_loopback) {
  const std::string endpoint = worker.Text();
  // ggml names the registry of a worker so. To greet a worker that is in use would take for ever.
  if (ggml_backend_reg_by_name(("RPC[" + endpoint + "]").c_str()) != nullptr) return {};
  const auto ip = ResolveRpcHost(worker, beyond_loopback);
  if (!ip) return tl::unexpected(ip.error());
  const auto add =
      RpcFunction<decltype(&ggml_backend_rpc_add_server)>("ggml_backend_rpc_add_server");
  if (!add) return tl::unexpected(add.error());
  if (Status greeted = GreetRpcWorker(worker, *ip, kGreetMs); !greeted) return greeted;
  ggml_backend_reg_t const added = (*add)(endpoint.c_str());
  if (added == nullptr || ggml_backend_reg_dev_count(added) == 0) {
    return Fail(ErrorCode::kUnavailable,
                "the RPC worker " + endpoint + " has no device; see its own log");
  }
  ggml_backend_register(added);
  return {};
}

bool IsGpu(ggml_backend_dev_t device) {
  const enum ggml_backend_dev_type type = ggml_backend_dev_type(device);
  return type == GGML_BACKEND_DEVICE_TYPE_GPU || type == GGML_BACKEND_DEVICE_TYPE_IGPU;
}

Result<std::vector<ggml_backend_dev_t>> ServedDevices(const std::vector<std::string>& names) {
  std::vector<ggml_backend_dev_t> devices;
  std::vector<std::string> known;
  for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
    ggml_backend_dev_t const device = ggml_backend_dev_get(i);
    known.emplace_back(ggml_backend_dev_name(device));
    if (names.empty() && IsGpu(device)) devices.push_back(device);
  }
  for (const std::string& name : names) {
    ggml_backend_dev_t const device = ggml_backend_dev_by_name(name.c_str());
    if (device == nullptr) {
      return Fail(ErrorCode::kInvalidArgument,
                  "--device names '" + name + "'; this machine has: " + JoinNames(known));
    }
    devices.push_back(device);
  }
  if (devices.empty()) {
    ggml_backend_dev_t const cpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    if (cpu == nullptr) return Fail(ErrorCode::kUnsupported, "ggml found no device to serve");
    devices.push_back(cpu);
  }
  return devices;
}

std::string NamesOf(const std::vector<ggml_backend_dev_t>& devices) {
  std::vector<std::string> names;
  for (ggml_backend_dev_t const device : devices) {
    names.push_back(std::string(ggml_backend_dev_name(device)) + " (" +
                    ggml_backend_dev_description(device) + ")");
  }
  return JoinNames(names);
}

Status MakeFolder(const std::string& folder) {
  if (folder.empty()) return {};
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error) return {};
  return Fail(ErrorCode::kInvalidArgument,
              "--cache-dir " + folder + " cannot be made: " + error.message());
}

std::vector<RpcPeer> PeersOf(const std::vector<std::string>& workers) {
  std::vector<RpcPeer> peers;
  for (const std::string& worker : workers) {
    const auto address = ParseRpcAddress(worker);
    const auto ip = address ? ResolveRpcHost(*address, true) : Result<std::string>();
    if (address && ip) peers.push_back({*ip, address->port});
  }
  return peers;
}

}  // namespace

Result<std::vector<RpcAddress>> ParseRpcWorkers(const std::vector<std::string>& workers) {
  if (workers.size() > GGML_RPC_MAX_SERVERS) {
    return Fail(ErrorCode::kInvalidArgument, "--rpc names " + std::to_string(workers.size()) +
                                                 " workers; ggml takes at most " +
                                                 std::to_string(GGML_RPC_MAX_SERVERS));
  }
  std::vector<RpcAddress> addresses;
  std::set<std::string> seen;
  for (const std::string& worker : workers) {
    auto address = ParseRpcAddress(worker);
    if (!address) return tl::unexpected(address.error());
    if (!seen.insert(address->Text()).second) {
      return Fail(ErrorCode::kInvalidArgument,
                  "--rpc names " + worker + " twice; a worker serves one client at a time");
    }
    addresses.push_back(std::move(*address));
  }
  return addresses;
}

Status AddRpcWorkers(const std::vector<std::string>& workers, bool beyond_loopback) {
  const auto addresses = ParseRpcWorkers(workers);
  if (!addresses) return tl::unexpected(addresses.error());
  for (const RpcAddress& address : *addresses) {
    if (Status added = AddWorker(address, beyond_loopback); !added) return added;
  }
  return {};
}

void KeepRpcWorkersAlive(const std::vector<std::string>& workers) {
  if (!workers.empty()) KeepConnectionsAlive(PeersOf(workers));
}

std::vector<std::string> LostRpcWorkers(const std::vector<std::string>& workers) {
  std::vector<std::string> lost;
  for (const std::string& worker : workers) {
    const auto address = ParseRpcAddress(worker);
    const auto ip = address ? ResolveRpcHost(*address, true) : Result<std::string>();
    if (address && ip && AcceptsConnections(*address, *ip, kLookMs)) continue;
    lost.push_back(worker);
  }
  return lost;
}

Status ServeDevices(const RpcServerOptions& options) {
  const auto ip = ResolveRpcHost(options.address, options.beyond_loopback);
  if (!ip) return tl::unexpected(ip.error());
  const auto start =
      RpcFunction<decltype(&ggml_backend_rpc_start_server)>("ggml_backend_rpc_start_server");
  if (!start) return tl::unexpected(start.error());
  auto devices = ServedDevices(options.devices);
  if (!devices) return tl::unexpected(devices.error());
  if (Status made = MakeFolder(options.cache_folder); !made) return made;
  const int port = options.address.port;
  std::atomic<bool> ended = false;
  // The backend opens the port itself and says nothing, so another thread looks for the socket.
  const auto look = [&] {
    while (!ended && !KeepAcceptedAlive(port)) std::this_thread::sleep_for(kPortPoll);
    if (!ended && options.ready) options.ready(NamesOf(*devices));
  };
  std::vector<std::thread> looks;
  if (!StartThread(&looks, [&] { static_cast<void>(TryWork(look)); })) {
    return Fail(ErrorCode::kUnavailable, "the system starts no more threads");
  }
  const int threads = options.threads > 0
                          ? options.threads
                          : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const std::string endpoint = RpcAddress{*ip, port}.Text();
  (*start)(endpoint.c_str(), options.cache_folder.empty() ? nullptr : options.cache_folder.c_str(),
           static_cast<size_t>(threads), devices->size(), devices->data());
  ended = true;
  looks.front().join();
  return Fail(ErrorCode::kUnavailable,
              "cannot listen on " + endpoint +
                  ": the port is in use, or the address is not this machine's; choose others with "
                  "--host and --port");
}

}  // namespace cairn
