#include "testing/cmd/parsed_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

#include "cmd/llama_command_line.h"
#include "cmd/serve/serve.h"

namespace cairn::test {

ServeOptions ParsedFlags(const std::string& flags) {
  ServeOptions options;
  CLI::App app;
  const CLI::App* const serve = AddServe(&app, &options);
  std::vector<std::string> arguments = {"serve"};
  std::istringstream words(flags);
  for (std::string word; words >> word;) arguments.push_back(word);
  auto line = ReadLlamaFlags(*serve, arguments);
  if (!line) throw CLI::ValidationError(line.error().message);
  arguments = std::move(line->arguments);
  std::reverse(arguments.begin(), arguments.end());
  app.parse(arguments);
  return options;
}

}  // namespace cairn::test
