#include "lab/cmd/bench_setup.h"

#include <fstream>
#include <set>
#include <sstream>

#include "lab/bench/bench_server.h"
#include "lab/client/seeded_text.h"

namespace cairn {
namespace {

constexpr size_t kSampleBytes = 8192;
constexpr double kBytesPerTokenUnknown = 4;

}  // namespace

Result<std::vector<std::string>> ChosenNames(const std::string& kind,
                                             const std::vector<std::string>& known,
                                             const std::vector<std::string>& lists) {
  std::set<std::string> wanted;
  for (const std::string& list : lists) {
    std::istringstream names(list);
    for (std::string name; std::getline(names, name, ',');) {
      if (!name.empty()) wanted.insert(name);
    }
  }
  const bool all = wanted.erase("all") > 0;
  std::vector<std::string> chosen;
  for (const std::string& name : known) {
    if (wanted.erase(name) > 0 || all) chosen.push_back(name);
  }
  if (wanted.empty()) return chosen;
  return Fail(ErrorCode::kInvalidArgument,
              "there is no " + kind + " '" + *wanted.begin() + "'; there are " + NamesText(known));
}

std::string NamesText(const std::vector<std::string>& known) {
  std::string text = "all";
  for (const std::string& name : known) text += ", " + name;
  return text;
}

Result<ServerFigures> DescribeServer(const std::string& url, const std::string& name,
                                     const std::string& command_line) {
  auto server = BenchServer(url).Describe();
  if (!server) {
    return Fail(server.error().code, "no server at " + url + ": " + server.error().message);
  }
  server->url = url;
  server->name = name.empty() ? server->program.substr(0, server->program.find(' ')) : name;
  if (server->name.empty()) server->name = url;
  server->command_line = command_line;
  return server;
}

double BytesPerToken(const std::vector<std::string>& urls, uint64_t seed) {
  SeededText text(seed, "sample");
  const std::string sample = text.Prose(kSampleBytes);
  for (const std::string& url : urls) {
    const auto tokens = BenchServer(url).Tokenize(sample, /*add_special=*/false);
    if (tokens && !tokens->empty()) {
      return static_cast<double>(kSampleBytes) / static_cast<double>(tokens->size());
    }
  }
  return kBytesPerTokenUnknown;
}

Status WriteText(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (file.flush()) return {};
  return Fail(ErrorCode::kNotFound, "the file '" + path + "' cannot be written");
}

}  // namespace cairn
