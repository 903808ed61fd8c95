#include "cmd/front/front_file.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>
#include <utility>

#include "base/process/start_thread.h"
#include "base/process/try_work.h"
#include "cmd/lib/print_log.h"
#include "http/http_client.h"

namespace cairn {
namespace {

namespace fs = std::filesystem;

// Replaces the file by a rename, so that a reader sees the old content or the new one. Everybody
// may read it: the front is another user.
Status ReplaceFile(const std::string& path, const std::string& content) {
  const std::string part = path + ".part" + std::to_string(getpid());
  const auto failed = [&](const std::string& why) {
    std::error_code ignored;
    fs::remove(part, ignored);
    return Fail(ErrorCode::kUnavailable, path + " cannot be written: " + why);
  };
  std::ofstream file(part, std::ios::binary | std::ios::trunc);
  file << content;
  file.close();
  if (!file) return failed("its folder is missing, full or closed to this user");
  std::error_code error;
  fs::permissions(part, fs::perms(0644), error);
  if (!error) fs::rename(part, path, error);
  if (error) return failed(error.message());
  return {};
}

}  // namespace

Health CheckHealth(const Endpoint& endpoint, int timeout_ms) {
  HttpClientOptions options;
  options.timeout_ms = options.total_timeout_ms = timeout_ms;
  options.connect_timeout_ms = std::min(timeout_ms, options.connect_timeout_ms);
  const auto reply = HttpClient("http://" + endpoint.Text(), options).Get("/health");
  if (!reply) return Health::kNoAnswer;
  return reply->status == 200 ? Health::kOk : Health::kRefuses;
}

FrontFile::FrontFile(Endpoints endpoints, EndpointLabels labels, const FrontFileOptions& options,
                     std::function<void(const std::string& line)> say)
    : endpoints_(std::move(endpoints)),
      labels_(std::move(labels)),
      out_(options.out),
      timeout_ms_(static_cast<int>(options.timeout_s * 1000)),
      say_(std::move(say)) {}

Result<FrontFile> FrontFile::Make(const FrontFileOptions& options,
                                  std::function<void(const std::string& line)> say) {
  auto servers = ParseEndpoints(options.servers);
  if (!servers) return tl::unexpected(servers.error());
  auto labels = ParseEndpointLabels(options.labels);
  if (!labels) return tl::unexpected(labels.error());
  return FrontFile(Endpoints(std::move(*servers), options.fall), std::move(*labels), options,
                   std::move(say));
}

Status FrontFile::Round() {
  const std::vector<Endpoint>& servers = endpoints_.all();
  // One that cannot be checked is as one that does not answer.
  std::vector<Health> healths(servers.size(), Health::kNoAnswer);
  std::vector<std::thread> checks;
  checks.reserve(servers.size());
  for (size_t i = 0; i < servers.size(); ++i) {
    const auto check = [&, i] {
      static_cast<void>(TryWork([&] { healths[i] = CheckHealth(servers[i], timeout_ms_); }));
    };
    // Where the system starts no more threads, this one checks the rest, one after the other.
    if (!StartThread(&checks, check)) check();
  }
  for (std::thread& check : checks) check.join();
  for (const std::string& change : endpoints_.Update(healths)) say_(change);

  std::string content = endpoints_.Yaml(labels_);
  std::error_code ignored;
  if (content == written_ && fs::exists(out_, ignored)) return {};
  written_.clear();
  if (Status replaced = ReplaceFile(out_, content); !replaced) return replaced;
  written_ = std::move(content);
  return {};
}

CLI::App* AddFrontFile(CLI::App* app, FrontFileOptions* options) {
  CLI::App* command = app->add_subcommand(
      "front-file",
      "Keep a file of the servers whose /health is good, for llm-d's endpoint picker");
  command
      ->add_option("--servers", options->servers,
                   "The servers, as HOST:PORT,... with IPv4 addresses")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->required();
  command
      ->add_option("--out", options->out,
                   "The file, which the plugin file-discovery watches; it is replaced by a rename "
                   "when a server joins or leaves")
      ->required();
  command
      ->add_option("--label", options->labels,
                   "A label of every endpoint, as KEY=VALUE; repeat it for several")
      ->allow_extra_args(false)
      ->capture_default_str();
  command->add_option("--interval", options->interval_s, "Seconds between two checks")
      ->check(CLI::Range(0.05, 3600.0))
      ->capture_default_str();
  command->add_option("--timeout", options->timeout_s, "Seconds to wait for the answer to a check")
      ->check(CLI::Range(0.05, 60.0))
      ->capture_default_str();
  command
      ->add_option("--fall", options->fall,
                   "Checks in a row without an answer after which a server leaves the file; one "
                   "that answers with another status than 200 leaves at once")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_flag("--once", options->once, "Write the file once and exit");
  return command;
}

int RunFrontFile(const FrontFileOptions& options) {
  auto file = FrontFile::Make(options, [](const std::string& line) {
    PrintLogLine(LogLevel::kInfo, "cairn front-file: " + line);
  });
  Status written = file ? file->Round() : Status(tl::unexpected(file.error()));
  if (!written) {
    std::fprintf(stderr, "cairn front-file: %s\n", written.error().message.c_str());
    return 1;
  }
  while (!options.once) {
    std::this_thread::sleep_for(std::chrono::duration<double>(options.interval_s));
    const Status again = file->Round();
    // Said when it begins, not in every round.
    if (!again && written) {
      PrintLogLine(LogLevel::kWarning, "cairn front-file: " + again.error().message);
    }
    written = again;
  }
  return 0;
}

}  // namespace cairn
