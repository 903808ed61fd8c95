#include "cmd/doctor/doctor_view.h"

#include <ctime>
#include <exception>

#include "base/json.h"
#include "base/text.h"

namespace cairn {
namespace {

std::string TokenText(const Json& object, const char* name) {
  return WithCommas(object.at(name).get<size_t>());
}

std::string RequestsText(const Json& object) {
  const auto requests = object.at("requests").get<size_t>();
  return WithCommas(requests) + (requests == 1 ? " request" : " requests");
}

std::string MinutesText(double minutes) {
  return Fixed(minutes, minutes < 10 ? 1 : 0) + " min";
}

// Returns a time in UTC; empty for one that is not known.
std::string UtcText(int64_t unix_s) {
  const auto time = static_cast<std::time_t>(unix_s);
  std::tm parts{};
  char text[32];
  if (unix_s <= 0 || gmtime_r(&time, &parts) == nullptr) return "";
  if (std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M UTC", &parts) == 0) return "";
  return text;
}

// Texts of a prompt are shown on one line, and control no terminal.
std::string OnOneLine(std::string_view text) {
  std::string line;
  for (const char c : text) line += static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? ' ' : c;
  return line;
}

std::string ExampleText(const Json& example) {
  std::string text;
  const auto member = [&](const char* name) {
    return example.contains(name) ? OnOneLine(example.at(name).text()) : std::string();
  };
  text += "     example  " + member("request") + ": " + member("sentence") + "\n";
  if (!example.contains("sentence")) text = "     example  " + member("request") + "\n";
  const std::string stored = member("stored_excerpt");
  const std::string sent = member("prompt_excerpt");
  if (!stored.empty() || !sent.empty()) {
    text += "              stored: " + stored + "\n              sent:   " + sent + "\n";
  }
  return text;
}

std::string CauseText(size_t rank, const Json& cause) {
  std::string text = "  " + std::to_string(rank) + ". " + cause.at("sentence").text() + "\n     " +
                     RequestsText(cause) + ", " + TokenText(cause, "tokens") + " tokens, " +
                     MinutesText(cause.at("minutes").get<double>());
  const std::string since = UtcText(cause.at("since").get<int64_t>());
  text += since.empty() ? "\n" : ", since " + since + "\n";
  text += ExampleText(cause.at("example"));
  text += "     cure     " + OnOneLine(cause.at("cure").text()) + "\n";
  if (!cause.contains("saved_tokens")) return text;
  return text + "              saves " + TokenText(cause, "saved_tokens") + " tokens, " +
         MinutesText(cause.at("saved_minutes").get<double>()) + ", in a replay\n";
}

std::string ReplayText(const Json& replay) {
  return "\nReplays are of a simulated " + replay.at("model_profile").text() + " with " +
         WithCommas(replay.at("cache_ram_mib").get<size_t>()) + " MiB for the cache and " +
         std::to_string(replay.at("slots").get<size_t>()) + " slots.\n";
}

std::string ClientText(const Json& client) {
  const std::string agent = OnOneLine(client.at("agent").text());
  std::string text = (agent.empty() ? "a client without a name" : agent) + ", model " +
                     OnOneLine(client.at("model").text()) + ": " + RequestsText(client) + "\n";
  text += "  prompt tokens  " + TokenText(client, "prompt_tokens") + " sent, " +
          TokenText(client, "reused_tokens") + " reused, " + TokenText(client, "prefilled_tokens") +
          " prefilled: " + TokenText(client, "unavoidable_tokens") + " unavoidable, " +
          TokenText(client, "avoidable_tokens") + " avoidable\n";
  text += "  waited         " + MinutesText(client.at("prompt_minutes").get<double>()) +
          " for prompts, " + MinutesText(client.at("avoidable_minutes").get<double>()) +
          " of them for what was avoidable\n";
  size_t rank = 0;
  for (const Json& cause : client.at("causes")) text += CauseText(++rank, cause);
  if (rank == 0) text += "  Nothing to cure.\n";
  return text;
}

}  // namespace

Result<std::string> DoctorView(std::string_view report) {
  const Json parsed = Json::parse(report, nullptr, /*allow_exceptions=*/false);
  try {
    std::string text;
    for (const Json& client : parsed.at("clients")) {
      text += (text.empty() ? "" : "\n") + ClientText(client);
    }
    if (text.empty()) return "No requests were seen.\n";
    return parsed.contains("replay") ? text + ReplayText(parsed.at("replay")) : text;
  } catch (const std::exception&) {
    return Fail(ErrorCode::kCorrupt, "the answer is not one of GET /cairn/doctor");
  }
}

}  // namespace cairn
