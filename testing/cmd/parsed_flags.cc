#include "testing/cmd/parsed_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

#include "cmd/short_flags.h"

namespace cairn::test {

ServeOptions ParsedFlags(const std::string& flags) {
  ServeOptions options;
  CLI::App app;
  AddServe(&app, &options);
  std::vector<std::string> arguments = {"serve"};
  std::istringstream words(flags);
  for (std::string word; words >> word;) arguments.push_back(word);
  arguments = SpellOutShortFlags(std::move(arguments));
  std::reverse(arguments.begin(), arguments.end());
  app.parse(arguments);
  return options;
}

}  // namespace cairn::test
