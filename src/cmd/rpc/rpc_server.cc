#include "cmd/rpc/rpc_server.h"

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <string>

#include "cmd/lib/print_log.h"
#include "engine/llama/backend/llama_backend.h"

namespace cairn {

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

}  // namespace cairn
