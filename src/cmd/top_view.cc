#include "cmd/top_view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"

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

}  // namespace

Result<std::string> TopView(const TopInput& input) {
  try {
    return ShownView(input);
  } catch (const Json::exception& error) {
    return Fail(ErrorCode::kCorrupt, "the server at " + std::string(input.url) +
                                         " did not answer like a Cairn server: " + error.what());
  }
}

}  // namespace cairn
