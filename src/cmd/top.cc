#include "cmd/top.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <thread>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cmd/lib/server_client.h"

namespace cairn {
namespace {

constexpr double kBytesPerMib = 1024.0 * 1024;
constexpr size_t kBarWidth = 24;
// Lines of the screen above the list of requests.
constexpr size_t kOtherLines = 9;

std::string SizeText(double bytes) {
  std::array<char, 32> text{};
  const bool large = bytes >= 1024 * kBytesPerMib;
  std::snprintf(text.data(), text.size(), "%.1f %s",
                bytes / (large ? 1024 * kBytesPerMib : kBytesPerMib), large ? "GiB" : "MiB");
  return text.data();
}

std::string Bar(double share) {
  const auto full = static_cast<size_t>(std::lround(std::clamp(share, 0.0, 1.0) * kBarWidth));
  return "[" + std::string(full, '#') + std::string(kBarWidth - full, '.') + "]";
}

// Counts characters, not bytes, because the server's texts may be any UTF-8.
std::string Cut(const std::string& line, size_t columns) {
  size_t seen = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    if (!IsContinuationByte(line[i]) && seen++ == columns) return line.substr(0, i);
  }
  return line;
}

std::string Padded(const std::string& text, size_t width, bool right) {
  const std::string space(width > text.size() ? width - text.size() : 0, ' ');
  return right ? space + text : text + space;
}

std::string TierLine(const char* name, const Json& tier) {
  const double bytes = tier.at("bytes").get<double>();
  const Json& max = tier.at("bytes_max");
  std::string line = Padded(name, 6, false);
  if (max.is_number() && max.get<double>() > 0) {
    line += Bar(bytes / max.get<double>()) + " " + SizeText(bytes) + " of " +
            SizeText(max.get<double>());
  } else {
    line += SizeText(bytes);
  }
  if (tier.contains("objects")) {
    line += ", " + WithCommas(tier.at("objects").get<size_t>()) + " objects";
  }
  return line;
}

std::string SlotsLine(const Json& slots) {
  std::string line = "slots ";
  for (const Json& slot : slots) {
    line += std::to_string(slot.at("id").get<size_t>());
    line += slot.at("busy").get<bool>() ? " * " : "   ";
    line += WithCommas(slot.at("tokens").get<size_t>()) + "   ";
  }
  return line;
}

std::string CheckpointsLine(const Json& classes) {
  std::string line;
  for (const Json& one : classes) {
    line += line.empty() ? "" : ", ";
    line +=
        WithCommas(one.at("checkpoints").get<size_t>()) + " " + one.at("class").get<std::string>();
    if (one.at("tier") == "disk") line += " (disk)";
  }
  return "held  " + (line.empty() ? "none" : line);
}

std::string ReuseLine(const Json& requests) {
  size_t prompt = 0;
  size_t reused = 0;
  size_t prefetched = 0;
  for (const Json& request : requests) {
    if (!request.contains("reuse")) continue;
    prompt += request["reuse"].at("prompt_tokens").get<size_t>();
    reused += request["reuse"].at("reused_tokens").get<size_t>();
    prefetched += request["reuse"].at("prefetched_tokens").get<size_t>();
  }
  if (prompt == 0) return "reuse no requests yet";
  std::array<char, 32> share{};
  std::snprintf(share.data(), share.size(), "%.1f %%",
                100 * static_cast<double>(reused) / static_cast<double>(prompt));
  return "reuse " + std::string(share.data()) + " of " + WithCommas(prompt) + " prompt tokens, " +
         WithCommas(prefetched) + " of them prefetched; " + WithCommas(prompt - reused) +
         " computed";
}

std::string RequestLine(const Json& request) {
  std::string line = Padded(request.at("id").get<std::string>(), 26, false) + " " +
                     Padded(request.at("state").get<std::string>(), 10, false);
  if (request.contains("status")) {
    return line + std::to_string(request.at("status").get<int>()) + " " +
           request.at("message").get<std::string>();
  }
  if (!request.contains("reuse")) return line;
  const Json& reuse = request["reuse"];
  line += Padded(WithCommas(reuse.at("prompt_tokens").get<size_t>()), 9, true);
  line += Padded(WithCommas(reuse.at("reused_tokens").get<size_t>()), 9, true);
  const bool ended = request.contains("prompt_ms");
  const double wait_ms =
      ended ? request.at("queue_ms").get<double>() + request.at("prompt_ms").get<double>() : 0;
  line += Padded(MsText(wait_ms), 10, true) + "  ";
  const Json& explanation = reuse.at("explanation");
  if (explanation.at("reason") == "all_known") return line;
  return line + explanation.at("sentence").get<std::string>();
}

std::string ShownView(const TopInput& input) {
  const Json cache = Json::parse(input.cache);
  const Json requests = Json::parse(input.requests).at("requests");
  std::vector<std::string> lines = {"cairn at " + std::string(input.url), ""};
  lines.push_back(TierLine("ram", cache.at("tiers").at("ram")));
  if (cache["tiers"].at("disk").is_object()) {
    lines.push_back(TierLine("disk", cache["tiers"]["disk"]));
  }
  lines.push_back(SlotsLine(cache.at("slots")));
  lines.push_back(CheckpointsLine(cache.at("classes")));
  lines.push_back(ReuseLine(requests));
  lines.emplace_back();
  lines.push_back(Padded("request", 27, false) + Padded("state", 10, false) +
                  Padded("prompt", 9, true) + Padded("reused", 9, true) +
                  Padded("waited", 10, true) + "  reason");
  const size_t room = input.lines > kOtherLines ? input.lines - kOtherLines : 1;
  for (size_t i = 0; i < std::min(room, requests.size()); ++i) {
    lines.push_back(RequestLine(requests[i]));
  }
  std::string text;
  for (const std::string& line : lines) text += Cut(line, input.columns) + "\n";
  return text;
}

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

Result<std::string> TopView(const TopInput& input) {
  try {
    return ShownView(input);
  } catch (const Json::exception& error) {
    return Fail(ErrorCode::kCorrupt, "the server at " + std::string(input.url) +
                                         " did not answer like a Cairn server: " + error.what());
  }
}

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
