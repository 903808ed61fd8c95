#include "lab/cmd/demo_commands.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cmd/command_line_mistake.h"
#include "cmd/version_text.h"

namespace cairn {

DemoCommands::DemoCommands(CLI::App* app) : demo_(AddDemo(app, &demo_options_)) {
  CLI::App* model = app->add_subcommand("model", "Make model files");
  model->require_subcommand(1);
  make_ = AddModelMake(model, &make_options_);
  make_projector_ = AddModelMakeProjector(model, &projector_options_);
  graft_ = AddModelGraft(model, &graft_options_);
}

std::optional<int> DemoCommands::Run() const {
  if (demo_->parsed()) return RunDemo(demo_options_);
  if (make_->parsed()) return RunModelMake(make_options_);
  if (make_projector_->parsed()) return RunModelMakeProjector(projector_options_);
  if (graft_->parsed()) return RunModelGraft(graft_options_);
  return std::nullopt;
}

void SetUpLabApp(CLI::App* app) {
  app->set_version_flag("--version", VersionText);
  app->require_subcommand(1);
}

std::optional<int> ParseLabArguments(CLI::App* app, std::vector<std::string> arguments) {
  app->failure_message([typed = arguments](const CLI::App* failed, const CLI::Error& error) {
    return CommandLineMistake(*failed, typed, error) + "\n";
  });
  std::reverse(arguments.begin(), arguments.end());  // the order that CLI11 expects
  try {
    app->parse(arguments);
  } catch (const CLI::ParseError& error) {
    return app->exit(error) == 0 ? 0 : 1;
  }
  return std::nullopt;
}

}  // namespace cairn
