#include "cmd/top.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <thread>

#include "cmd/lib/server_client.h"
#include "cmd/top_view.h"

namespace cairn {
namespace {

// Moves the cursor to the top left and clears the screen.
constexpr const char* kFromTheTop = "\x1b[H\x1b[2J";

Result<std::string> Screen(const HttpClient& client) {
  const auto cache = BodyOf(client, "/cairn/cache");
  if (!cache) return tl::unexpected(cache.error());
  const auto requests = BodyOf(client, "/cairn/requests");
  if (!requests) return tl::unexpected(requests.error());
  TopInput input{client.url(), *cache, *requests};
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
    input.columns = size.ws_col;
    input.lines = size.ws_row - 1U;
  }
  return TopView(input);
}

}  // namespace

CLI::App* AddTop(CLI::App* app, TopOptions* options) {
  CLI::App* top =
      app->add_subcommand("top", "Show a running server's cache and the cost of its last requests");
  top->add_option("--url", options->url, "Address of the server, as http://host:port")
      ->capture_default_str();
  top->add_option("--api-key", options->api_key, "API key of the server")->envname("CAIRN_API_KEY");
  top->add_option("--interval", options->interval_s, "Refresh interval in seconds")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  top->add_flag("--once", options->once, "Print one screen and exit");
  return top;
}

int RunTop(const TopOptions& options) {
  const HttpClient client = ServerClient(options.url, options.api_key);
  const bool refreshes = !options.once && isatty(STDOUT_FILENO) != 0;
  while (true) {
    const auto screen = Screen(client);
    if (!screen) {
      std::fprintf(stderr, "cairn top: %s\n", screen.error().message.c_str());
      return 1;
    }
    std::printf("%s%s", refreshes ? kFromTheTop : "", screen->c_str());
    std::fflush(stdout);
    if (options.once) return 0;
    std::this_thread::sleep_for(std::chrono::duration<double>(options.interval_s));
  }
}

}  // namespace cairn
