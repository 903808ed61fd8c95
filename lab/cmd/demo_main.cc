// cairn-demo: the subcommands of cairn-lab that `make demo` needs, and nothing else.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "lab/cmd/demo_commands.h"

int main(int argc, char** argv) {
  CLI::App app("The demo and the maker of its model; cairn-lab has the rest of the laboratory.",
               "cairn-demo");
  cairn::SetUpLabApp(&app);
  const cairn::DemoCommands commands(&app);
  const auto ended =
      cairn::ParseLabArguments(&app, std::vector<std::string>(argv + 1, argv + argc));
  return ended ? *ended : commands.Run().value_or(1);
}
