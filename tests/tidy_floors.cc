// The rules on the structure inside the folders of src/ and fleet/: the direction of includes
// between sub-folders, and units that are too small to stand alone.

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "tidy_rules.h"

namespace cairn::tidy {
namespace {

constexpr size_t kUnitLinesMin = 60;
constexpr size_t kJoinedLinesMax = 600;

using Floors = std::vector<std::string>;

// The sub-folders of each folder of src/ and fleet/ that has some, from the lowest floor to the
// highest; "." is the folder without its sub-folders.
const std::map<std::string, Floors>& FloorsOfFolders() {
  static const std::map<std::string, Floors> floors = {
      {"api",
       {".", "media", "grammar/pattern", "grammar/rules", "grammar/schema", "grammar", "record",
        "request", "prompt/order", "prompt", "service", "answer", "openai", "anthropic",
        "llama_server", "ollama", "admin", "render"}},
      {"base", {".", "memory", "net", "process", "gguf"}},
      {"cache", {"objects", "disk", "."}},
      {"chat", {"text", "syntax", "calls", "learn", "template", "parse", "spans"}},
      {"cmd", {"lib",          "llama_flags",    "serve/base",   "serve/source",
               "serve/device", "serve/adapters", "serve/media",  "serve/events",
               "serve/remote", "serve/stop",     "serve/trace",  "rpc",
               "model",        "front",          "cache",        "clients",
               "doctor",       "serve",          "serve/models", "."}},
      {"download", {"web", "hub", "."}},
      {"engine",
       {"grammar", "adapters", "embed", ".", "llama/backend", "llama/gguf", "llama/heads",
        "llama/model", "llama/fit", "llama/proof", "llama/state", "llama/mtp", "llama",
        "llama/embed", "media"}},
      {"http", {"connections", "."}},
      {"jinja", {"value", "run", "builtin", "syntax", "."}},
      {"media", {".", "child", "decode"}},
      {"remote", {".", "tier", "valkey", "s3"}},
      {"router", {"presets", "children", "."}},
      {"sched",
       {"media", "draft", "answer", "request", "slots", "context", "queue", "upkeep", "steps",
        "."}},
      {"store", {".", "codec", "disk", "folder"}},
      {"trace", {".", "replay"}},
  };
  return floors;
}

// Returns the folder of src/ or fleet/ and the sub-folder: "sched" and "slots" for
// src/sched/slots/slot.h.
std::pair<std::string, std::string> PlaceOf(std::string_view path) {
  path = InHouse(path);
  const size_t first = path.find('/');
  const size_t last = path.rfind('/');
  if (first == std::string_view::npos) return {};
  return {std::string(path.substr(0, first)),
          first == last ? "." : std::string(path.substr(first + 1, last - first - 1))};
}

// The path in the repository of an included header of the server.
std::string PathOf(const Include& include) {
  return InHouse(include.path).empty() ? "src/" + include.path : include.path;
}

// A header and its source, or one of them.
struct Unit {
  size_t lines = 0;
  std::map<std::string, size_t> lines_of;  // by ending
  std::set<std::string> users;             // other units that include its header
  bool in_header = false;                  // a header of these does
};

std::string StemOf(const std::string& path) {
  return path.substr(0, path.rfind('.'));
}

std::map<std::string, Unit> UnitsOf(const std::vector<SourceFile>& files) {
  std::map<std::string, Unit> units;
  for (const SourceFile& file : files) {
    if (file.IsTest()) continue;
    Unit& unit = units[StemOf(file.path)];
    const size_t lines = Lines(file.text).size();
    unit.lines += lines;
    unit.lines_of[file.path.substr(file.path.rfind('.'))] = lines;
  }
  for (const SourceFile& file : files) {
    if (file.IsTest()) continue;
    for (const Include& include : Includes(file.text)) {
      const auto found = units.find(StemOf(PathOf(include)));
      if (found != units.end() && found->first != StemOf(file.path)) {
        found->second.users.insert(StemOf(file.path));
        found->second.in_header |= file.IsHeader();
      }
    }
  }
  return units;
}

size_t LinesOf(const Unit& unit, const std::string& ending) {
  const auto found = unit.lines_of.find(ending);
  return found == unit.lines_of.end() ? 0 : found->second;
}

// Whether a file of its only user would be too long with what belongs into it.
bool IsTooLongIn(const Unit& user, const Unit& unit) {
  if (!unit.in_header) return LinesOf(user, ".cc") + unit.lines > kJoinedLinesMax;
  return LinesOf(user, ".h") + LinesOf(unit, ".h") > kJoinedLinesMax ||
         LinesOf(user, ".cc") + LinesOf(unit, ".cc") > kJoinedLinesMax;
}

}  // namespace

Complaints CheckFloors(const SourceFile& file) {
  Complaints complaints;
  const auto [folder, own] = PlaceOf(file.path);
  if (folder.empty() || file.IsTest()) return complaints;
  const auto found = FloorsOfFolders().find(folder);
  const Floors floors = found == FloorsOfFolders().end() ? Floors{"."} : found->second;
  const auto floor_of = [&](const std::string& sub_folder) {
    return std::find(floors.begin(), floors.end(), sub_folder);
  };
  if (floor_of(own) == floors.end()) {
    return {file.path + ":1: " + own + " has no place among the floors of " + folder};
  }
  for (const Include& include : Includes(file.text)) {
    const auto [other_folder, other] = PlaceOf(PathOf(include));
    if (other_folder != folder || floor_of(other) <= floor_of(own)) continue;
    complaints.push_back(file.path + ":" + std::to_string(include.line) + ": " + include.path +
                         " is on a floor above " + own);
  }
  return complaints;
}

Complaints CheckFragments(const std::vector<SourceFile>& files) {
  Complaints complaints;
  const std::map<std::string, Unit> units = UnitsOf(files);
  for (const auto& [stem, unit] : units) {
    if (InHouse(stem).empty() || unit.lines >= kUnitLinesMin || unit.users.size() != 1) continue;
    const std::string& user = *unit.users.begin();
    if (PlaceOf(user).first != PlaceOf(stem).first) continue;
    if (IsTooLongIn(units.at(user), unit)) continue;
    complaints.push_back(stem + ": a unit of " + std::to_string(unit.lines) + " lines that only " +
                         user + " includes belongs there");
  }
  return complaints;
}

}  // namespace cairn::tidy
