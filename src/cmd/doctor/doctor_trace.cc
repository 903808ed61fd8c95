#include "cmd/doctor/doctor_trace.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <utility>

#include "api/record/doctor.h"
#include "base/hash.h"
#include "base/json.h"

namespace cairn {
namespace {

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

}  // namespace

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

}  // namespace cairn
