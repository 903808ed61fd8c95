// Tests that docs/openapi.yaml and the routes agree. The page is parsed by lines: paths are
// indented by two columns under "paths:", and their methods by two more.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "http/page/page.h"
#include "http/routes.h"
#include "testing/base/golden_file.h"

namespace cairn {
namespace {

struct Described {
  std::set<std::string> served;  // "POST /slots/:id"
  std::set<std::string> not_yet;
};

// Returns "/slots/{id}" as the router writes it.
std::string AsPattern(std::string_view path) {
  std::string pattern;
  for (const char c : path) {
    if (c == '{') pattern += ':';
    if (c != '{' && c != '}') pattern += c;
  }
  return pattern;
}

// Returns the key at column `columns` of a line like "    post:"; empty for any other line.
std::string KeyAt(std::string_view line, size_t columns) {
  if (line.size() <= columns + 1 || !line.ends_with(':')) return "";
  if (line.find_first_not_of(' ') != columns) return "";
  return std::string(line.substr(columns, line.size() - columns - 1));
}

Described ReadDescription(const std::string& page) {
  Described described;
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
      described.served.insert(name);
    }
    if (line == "      x-not-served-yet: true") {
      described.served.erase(name);
      described.not_yet.insert(name);
    }
  }
  return described;
}

std::string Joined(const std::set<std::string>& names) {
  std::string joined;
  for (const std::string& name : names) joined += name + "\n";
  return joined;
}

TEST(OpenApi, DescribesEveryRouteAndNoOther) {
  HttpServerOptions options;
  options.error_body = HttpErrorBody;
  HttpServer server(options);
  Served served;
  AddRoutes(&server, &served);
  AddPageRoutes(&server, {});
  const std::vector<std::string> names = server.RouteNames();
  const std::set<std::string> routes(names.begin(), names.end());
  EXPECT_EQ(routes.size(), names.size()) << "a route was added twice";
  const Described described = ReadDescription(ReadSourceFile("docs/openapi.yaml"));
  EXPECT_EQ(Joined(described.served), Joined(routes));
}

TEST(OpenApi, IsReadByItsLines) {
  const Described described = ReadDescription(
      "paths:\n  /a/{id}/b:\n    post:\n      x-not-served-yet: true\n    get:\n      tags: [x]\n"
      "components:\n  /c:\n    get:\n");
  EXPECT_EQ(Joined(described.served), "GET /a/:id/b\n");
  EXPECT_EQ(Joined(described.not_yet), "POST /a/:id/b\n");
}

}  // namespace
}  // namespace cairn
