// The rules on the structure inside the folders of src/: the direction of includes between
// sub-folders, and units that are too small to stand alone.

#include <algorithm>
#include <filesystem>
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

// The sub-folders of each folder of src/ that has some, from the lowest floor to the highest; "."
// is the folder without its sub-folders.
const std::map<std::string, Floors>& FloorsOfFolders() {
  static const std::map<std::string, Floors> floors = {
      {"api",
       {".", "media", "grammar/pattern", "grammar/rules", "grammar/schema", "grammar", "record",
        "request", "prompt/order", "prompt", "service", "answer", "openai", "anthropic",
        "llama_server", "admin", "render"}},
      {"base", {".", "net", "process", "gguf"}},
      {"cache", {"objects", "disk", "."}},
      {"chat", {"text", "syntax", "calls", "learn", "template", "parse", "spans"}},
      {"cmd",
       {"lib", "llama_flags", "serve/base", "serve/source", "serve/device", "serve/adapters",
        "serve/media", "serve/events", "serve/remote", "serve/stop", "serve/trace", "rpc", "model",
        "front", "cache", "serve", "serve/models", "."}},
      {"download", {"web", "hub", "."}},
      {"engine",
       {"grammar", "adapters", "embed", ".", "llama/backend", "llama/gguf", "llama/model",
        "llama/fit", "llama/proof", "llama/state", "llama", "llama/embed", "media"}},
      {"http", {"connections", "."}},
      {"jinja", {"value", "run", "builtin", "syntax", "."}},
      {"media", {".", "decode"}},
      {"policy", {".", "evict"}},
      {"remote", {".", "tier", "valkey", "s3"}},
      {"router", {"presets", "children", "."}},
      {"sched",
       {"media", "draft", "answer", "request", "slots", "context", "queue", "upkeep", "steps",
        "."}},
      {"store", {".", "codec", "disk", "folder"}},
  };
  return floors;
}

// Returns the folder of src/ and the sub-folder: "sched" and "slots" for src/sched/slots/slot.h.
std::pair<std::string, std::string> PlaceOf(std::string_view path) {
  if (!path.starts_with("src/")) return {};
  path.remove_prefix(4);
  const size_t first = path.find('/');
  const size_t last = path.rfind('/');
  if (first == std::string_view::npos) return {};
  return {std::string(path.substr(0, first)),
          first == last ? "." : std::string(path.substr(first + 1, last - first - 1))};
}

// A header and its source, or one of them.
struct Unit {
  size_t lines = 0;
  std::map<std::string, size_t> lines_of;  // by ending
  std::set<std::string> users;             // other units that include its header
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
      const auto found = units.find("src/" + StemOf(include.path));
      if (found != units.end() && found->first != StemOf(file.path)) {
        found->second.users.insert(StemOf(file.path));
      }
    }
  }
  return units;
}

// Whether a file of the one would be too long with that of the other.
bool AreTooLongTogether(const Unit& one, const Unit& other) {
  return std::any_of(one.lines_of.begin(), one.lines_of.end(), [&](const auto& ending) {
    const auto found = other.lines_of.find(ending.first);
    return found != other.lines_of.end() && found->second + ending.second > kJoinedLinesMax;
  });
}

}  // namespace

Complaints CheckFloors(const std::vector<SourceFile>& files) {
  Complaints complaints;
  std::map<std::string, std::set<std::string>> upward;  // by the two floors: the includes
  for (const SourceFile& file : files) {
    const auto [folder, own] = PlaceOf(file.path);
    if (folder.empty() || file.IsTest()) continue;
    const auto floors = FloorsOfFolders().find(folder);
    if (floors == FloorsOfFolders().end() && own == ".") continue;
    const auto floor_of = [&, &floors = floors](const std::string& sub_folder) {
      if (floors == FloorsOfFolders().end()) return Floors::const_iterator();
      return std::find(floors->second.begin(), floors->second.end(), sub_folder);
    };
    if (floors == FloorsOfFolders().end() || floor_of(own) == floors->second.end()) {
      complaints.push_back("src/" + folder + ": " + own + " has no place among the floors");
      continue;
    }
    for (const Include& include : Includes(file.text)) {
      const auto [other_folder, other] = PlaceOf("src/" + include.path);
      if (other_folder != folder || floor_of(other) <= floor_of(own)) continue;
      upward["src/" + folder + ": " + own + " includes " + other].insert(file.path + " -> " +
                                                                         include.path);
    }
  }
  for (const auto& [floors, includes] : upward) {
    std::string complaint =
        floors + ", a floor above it, " + std::to_string(includes.size()) + "x:";
    for (const std::string& include : includes) complaint += " " + include + ";";
    complaints.push_back(complaint);
  }
  return complaints;
}

Complaints CheckFragments(const std::vector<SourceFile>& files) {
  Complaints complaints;
  const std::map<std::string, Unit> units = UnitsOf(files);
  for (const auto& [stem, unit] : units) {
    if (!stem.starts_with("src/") || unit.lines >= kUnitLinesMin || unit.users.size() != 1)
      continue;
    const std::string& user = *unit.users.begin();
    if (PlaceOf(user).first != PlaceOf(stem).first) continue;
    if (AreTooLongTogether(unit, units.at(user))) continue;
    complaints.push_back(stem + ": a unit of " + std::to_string(unit.lines) + " lines that only " +
                         user + " includes belongs there");
  }
  return complaints;
}

}  // namespace cairn::tidy
