#include "lab/cmd/demo_commands.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace cairn {
namespace {

// Returns what the program says of these arguments.
std::string SaidOf(const std::vector<std::string>& arguments) {
  CLI::App app("A program.", "cairn-lab");
  SetUpLabApp(&app);
  const DemoCommands commands(&app);
  testing::internal::CaptureStderr();
  EXPECT_EQ(ParseLabArguments(&app, arguments), 1);
  return testing::internal::GetCapturedStderr();
}

TEST(LabArguments, MistypedGetTheHintsOfTheServersProgram) {
  EXPECT_EQ(SaidOf({"dmeo"}),
            "cairn-lab: there is no command 'dmeo'; did you mean cairn-lab demo? (see cairn-lab "
            "--help)\n");
  EXPECT_EQ(SaidOf({"model", "maek"}),
            "cairn-lab model: there is no command 'maek'; did you mean cairn-lab model make? (see "
            "cairn-lab model --help)\n");
  EXPECT_EQ(SaidOf({"model", "graft", "--hlep"}),
            "cairn-lab model graft: there is no flag --hlep; did you mean --help? (see cairn-lab "
            "model graft --help)\n");
}

TEST(LabArguments, NoHintSaysThatTheLaboratoryServesAModel) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{}, {"model.gguf"}, {"run", "model.gguf"}}) {
    const std::string said = SaidOf(arguments);
    EXPECT_EQ(said.find("serve"), std::string::npos) << said;
    EXPECT_NE(said.find("the commands are demo, model"), std::string::npos) << said;
  }
}

}  // namespace
}  // namespace cairn
