#include "cmd/doctor/doctor.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <exception>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <utility>

#include "api/record/doctor.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "cmd/lib/server_client.h"

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
  return text + "     cure     " + OnOneLine(cause.at("cure").text()) + "\n";
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

// The sums of a trace are those of all its lines, whenever they were written.
constexpr int64_t kNoTime = 0;
// JSON's integers are exact up to here.
constexpr uint64_t kTokenNumberMax = uint64_t{1} << 53U;

// The fields of a line.
struct Line {
  size_t prompt_tokens = 0;
  size_t reused_tokens = 0;
  double prompt_ms = 0;
  bool reuse = true;
  uint64_t name_space = 0;
  size_t header_end = 0;
  size_t messages_end = 0;
  std::vector<std::pair<size_t, bool>> turns = {};  // the place, and whether it is a user's
  std::vector<std::pair<uint64_t, uint64_t>> numbers = {};
};

// Returns a number of tokens; 0 if the field is left out. The JSON's errors are exceptions.
size_t TokensOf(const Json& line, const char* name) {
  if (!line.contains(name)) return 0;
  const auto tokens = line.at(name).get<int64_t>();
  if (tokens < 0) throw std::range_error(name);
  return static_cast<size_t>(tokens);
}

// Nullopt if it is no line of a trace.
std::optional<Line> ParseLine(const std::string& text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  try {
    Line line;
    line.prompt_tokens = json.at("input_length").get<size_t>();
    line.reused_tokens = std::min(TokensOf(json, "reused"), line.prompt_tokens);
    line.header_end = TokensOf(json, "header_end");
    line.messages_end = TokensOf(json, "messages_end");
    line.name_space = TokensOf(json, "namespace");
    if (json.contains("prompt_ms")) line.prompt_ms = json.at("prompt_ms").get<double>();
    if (json.contains("reuse")) line.reuse = json.at("reuse").get<bool>();
    if (json.contains("turns")) {
      for (const Json& turn : json.at("turns")) {
        line.turns.emplace_back(turn.at(0).get<size_t>(), turn.at(1).get<int64_t>() != 0);
      }
    }
    for (const Json& range : json.at("token_ids")) {
      line.numbers.emplace_back(range.at(0).get<uint64_t>(), range.at(1).get<uint64_t>());
      const auto [first, last] = line.numbers.back();
      if (last < first || last > kTokenNumberMax) throw std::range_error("token_ids");
    }
    return line;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

// Returns how many of the prompt's first tokens have numbers below `next`, the first that no
// earlier line has.
size_t SharedTokens(const Line& line, uint64_t next) {
  size_t shared = 0;
  for (const auto& [first, last] : line.numbers) {
    if (first >= next) break;
    shared += std::min(last + 1, next) - first;
    if (last >= next) break;
  }
  return std::min(shared, line.prompt_tokens);
}

// Returns the number of the token at a position of the prompt, which stands for all up to it.
uint64_t NumberAt(const Line& line, size_t position) {
  for (const auto& [first, last] : line.numbers) {
    if (position <= last - first) return first + position;
    position -= last - first + 1;
  }
  return 0;
}

PromptSketch SketchOf(const Line& line) {
  PromptSketch sketch;
  sketch.header_end = line.header_end;
  if (line.header_end > 0) sketch.system = NumberAt(line, line.header_end - 1) + 1;
  for (size_t i = 0; i < line.turns.size(); ++i) {
    if (sketch.messages.size() == PromptSketch::kMessagesMax) break;
    const auto [begin, is_user] = line.turns[i];
    const bool last = i + 1 == line.turns.size();
    const size_t end = last ? line.messages_end : line.turns[i + 1].first;
    if (end < begin) break;
    sketch.messages.push_back(
        {is_user ? Role::kUser : Role::kTool, HashMix(1, end - begin), 0, end});
  }
  return sketch;
}

DiagnosedRequest RequestOf(const Line& line, size_t shared) {
  DiagnosedRequest request{line.prompt_tokens, line.reused_tokens};
  const size_t known = std::max(line.messages_end, line.header_end);
  if (!line.reuse) {
    request.why = Explanation::Why::kNotAllowed;
  } else if (shared < std::min(known, line.prompt_tokens)) {
    request.why = Explanation::Why::kDiverged;
  } else {
    request.why = Explanation::Why::kNoCheckpoint;
  }
  return request;
}

Result<size_t> NoteLines(const std::string& path, Doctor* doctor, size_t* broken) {
  std::ifstream file(path);
  if (!file) return Fail(ErrorCode::kNotFound, path + " cannot be read");
  size_t lines = 0;
  size_t number = 0;
  uint64_t next = 0;
  for (std::string text; std::getline(file, text);) {
    ++number;
    if (text.empty()) continue;
    const auto line = ParseLine(text);
    if (!line) {
      ++*broken;
      continue;
    }
    ++lines;
    const Doctor::Client client{0, path + ", key " + std::to_string(line->name_space),
                                "of the trace"};
    const size_t shared = SharedTokens(*line, next);
    for (const auto& [first, last] : line->numbers) next = std::max(next, last + 1);
    const Diagnosis diagnosis = doctor->Look(client, SketchOf(*line), RequestOf(*line, shared));
    Doctor::Ended ended{.id = "line " + std::to_string(number), .begun_unix_s = kNoTime};
    ended.prompt_tokens = line->prompt_tokens;
    ended.reused_tokens = line->reused_tokens;
    ended.prompt_ms = line->prompt_ms;
    ended.diagnosis = diagnosis;
    doctor->Note(client, ended);
  }
  return lines;
}

Result<std::string> OfServer(const DoctorOptions& options) {
  return BodyOf(ServerClient(options.url, options.api_key),
                "/cairn/doctor?hours=" + std::to_string(options.hours),
                "; is it a Cairn server of this version?");
}

}  // namespace

Result<std::string> DoctorView(std::string_view report) {
  const Json parsed = Json::parse(report, nullptr, /*allow_exceptions=*/false);
  try {
    std::string text;
    for (const Json& client : parsed.at("clients")) {
      text += (text.empty() ? "" : "\n") + ClientText(client);
    }
    return text.empty() ? "No requests were seen.\n" : text;
  } catch (const std::exception&) {
    return Fail(ErrorCode::kCorrupt, "the answer is not one of GET /cairn/doctor");
  }
}

Result<std::string> DoctorOfTraces(const std::vector<std::string>& paths, std::string* notes) {
  Doctor doctor;
  for (const std::string& path : paths) {
    size_t broken = 0;
    const auto lines = NoteLines(path, &doctor, &broken);
    if (!lines) return tl::unexpected(lines.error());
    if (*lines == 0) {
      return Fail(ErrorCode::kInvalidArgument,
                  path +
                      " has no line of a trace; expected a file that cairn serve --trace-out "
                      "of this version wrote");
    }
    if (broken > 0) {
      *notes += "cairn doctor: " + std::to_string(broken) + " lines of " + path +
                " are cut or of another version, and are left out\n";
    }
  }
  return ToText(doctor.Report(0, 1, kNoTime));
}

CLI::App* AddDoctor(CLI::App* app, DoctorOptions* options) {
  CLI::App* doctor = app->add_subcommand(
      "doctor", "Say what each client's prompts cost, why, and what would cure it");
  doctor->add_option("--url", options->url, "Address of the server, as http://host:port")
      ->capture_default_str();
  doctor->add_option("--api-key", options->api_key, "API key of the server")
      ->envname("CAIRN_API_KEY");
  doctor->add_option("--hours", options->hours, "The last so many hours of the running server")
      ->check(CLI::Range(1, 72))
      ->capture_default_str();
  doctor->add_option("--trace", options->traces,
                     "File of cairn serve --trace-out, instead of a running server; may be "
                     "repeated. It has no text, so places are not named");
  return doctor;
}

int RunDoctor(const DoctorOptions& options) {
  std::string notes;
  const auto report =
      options.traces.empty() ? OfServer(options) : DoctorOfTraces(options.traces, &notes);
  const auto text = report ? DoctorView(*report) : tl::unexpected(report.error());
  std::fputs(notes.c_str(), stderr);
  if (!text) {
    std::fprintf(stderr, "cairn doctor: %s\n", text.error().message.c_str());
    return 1;
  }
  std::fputs(text->c_str(), stdout);
  return 0;
}

}  // namespace cairn
