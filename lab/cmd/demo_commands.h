// The subcommands of `cairn-lab` that `make demo` needs: `demo`, and `model`, which makes the file
// that it plays on. They are a library of their own, so that `cairn-demo`, a program of these
// alone, builds in a third of the time.

#ifndef CAIRN_LAB_CMD_DEMO_COMMANDS_H_
#define CAIRN_LAB_CMD_DEMO_COMMANDS_H_

#include <optional>
#include <string>
#include <vector>

#include "lab/cmd/demo.h"
#include "lab/cmd/model_make.h"

namespace CLI {
class App;
}

namespace cairn {

// Adds the subcommands to an app, which fills the options held here when it parses. Must outlive
// the app's parsing.
class DemoCommands {
 public:
  explicit DemoCommands(CLI::App* app);
  DemoCommands(const DemoCommands&) = delete;
  DemoCommands& operator=(const DemoCommands&) = delete;

  // Runs the subcommand that was parsed and returns its exit code; nothing if it is none of these.
  std::optional<int> Run() const;

 private:
  DemoOptions demo_options_;
  ModelMakeOptions make_options_;
  ModelMakeProjectorOptions projector_options_;
  ModelGraftOptions graft_options_;
  const CLI::App* demo_;
  const CLI::App* make_;
  const CLI::App* make_projector_;
  const CLI::App* graft_;
};

// Sets what both programs have: --version, errors of one line, and that a subcommand is required.
void SetUpLabApp(CLI::App* app);

// Parses what follows the program's name. Returns nothing, or the exit code with which to end:
// after --help, --version or an error, which has been printed.
std::optional<int> ParseLabArguments(CLI::App* app, std::vector<std::string> arguments);

}  // namespace cairn

#endif  // CAIRN_LAB_CMD_DEMO_COMMANDS_H_
