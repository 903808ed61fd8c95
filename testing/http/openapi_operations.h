// For tests: the operations that docs/openapi.yaml describes. The page is parsed by lines: paths
// are indented by two columns under "paths:", and their methods by two more.

#ifndef CAIRN_TESTING_HTTP_OPENAPI_OPERATIONS_H_
#define CAIRN_TESTING_HTTP_OPENAPI_OPERATIONS_H_

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

namespace cairn::test {

struct OpenApiOperations {
  std::set<std::string> every;    // of all servers: "POST /slots/:id"
  std::set<std::string> several;  // only of a server of several models
};

// Returns "/slots/{id}" as the router of the HTTP server writes it.
inline std::string AsPattern(std::string_view path) {
  std::string pattern;
  for (const char c : path) {
    if (c == '{') pattern += ':';
    if (c != '{' && c != '}') pattern += c;
  }
  return pattern;
}

// Returns the key at column `columns` of a line like "    post:"; empty for any other line.
inline std::string KeyAt(std::string_view line, size_t columns) {
  if (line.size() <= columns + 1 || !line.ends_with(':')) return "";
  if (line.find_first_not_of(' ') != columns) return "";
  return std::string(line.substr(columns, line.size() - columns - 1));
}

inline OpenApiOperations ReadOperations(const std::string& page) {
  OpenApiOperations operations;
  std::istringstream lines(page);
  bool in_paths = false;
  std::string path;
  std::string name;
  for (std::string line; std::getline(lines, line);) {
    if (const std::string section = KeyAt(line, 0); !section.empty()) in_paths = section == "paths";
    if (!in_paths) continue;
    if (const std::string key = KeyAt(line, 2); !key.empty()) path = AsPattern(key);
    if (std::string key = KeyAt(line, 4); !key.empty()) {
      std::transform(key.begin(), key.end(), key.begin(),
                     [](char c) { return static_cast<char>(c - 'a' + 'A'); });
      name = key + " " + path;
      operations.every.insert(name);
    }
    if (line == "      x-several-models: true") {
      operations.every.erase(name);
      operations.several.insert(name);
    }
  }
  return operations;
}

// One a line, so that a failed comparison shows which ones differ.
inline std::string Joined(const std::set<std::string>& names) {
  std::string joined;
  for (const std::string& name : names) joined += name + "\n";
  return joined;
}

}  // namespace cairn::test

#endif  // CAIRN_TESTING_HTTP_OPENAPI_OPERATIONS_H_
