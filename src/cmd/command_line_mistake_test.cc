#include "cmd/command_line_mistake.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "cmd/llama_flags/llama_flag_table.h"
#include "cmd/serve/serve.h"
#include "cmd/top.h"

namespace cairn {
namespace {

// Returns the program's complaint of these arguments, without the words that name the help.
std::string SaidOf(const std::string& line) {
  CLI::App app("A program.", "cairn");
  app.require_subcommand(1);
  ServeOptions serve_options;
  AddServe(&app, &serve_options);
  TopOptions top_options;
  AddTop(&app, &top_options);
  std::string file;
  CLI::App* const model = app.add_subcommand("model", "Models")->require_subcommand(1);
  model->add_subcommand("check", "Check one")->add_option("file", file)->required();

  std::vector<std::string> typed;
  std::istringstream words(line);
  for (std::string word; words >> word;) typed.push_back(word);
  std::vector<std::string> arguments = SpellOutShortFlags(typed);
  std::reverse(arguments.begin(), arguments.end());
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    const std::string said = CommandLineMistake(app, typed, error);
    const size_t help = said.rfind(" (see ");
    EXPECT_NE(help, std::string::npos) << said;
    EXPECT_TRUE(said.ends_with(" --help)")) << said;
    return said.substr(0, help);
  }
  return "";
}

TEST(CommandLineMistake, InACommandNamesTheNearest) {
  EXPECT_EQ(SaidOf("serv -m M.gguf"),
            "cairn: there is no command 'serv'; did you mean cairn serve?");
  EXPECT_EQ(SaidOf("sevre"), "cairn: there is no command 'sevre'; did you mean cairn serve?");
  EXPECT_EQ(SaidOf("run M.gguf"), "cairn: there is no command 'run'; did you mean cairn serve?");
  EXPECT_EQ(SaidOf("model chekc x"),
            "cairn model: there is no command 'chekc'; did you mean cairn model check?");
  EXPECT_EQ(SaidOf("brew"),
            "cairn: there is no command 'brew'; the commands are serve, top, model");
}

TEST(CommandLineMistake, WithoutACommandSaysHowToServeAModel) {
  EXPECT_EQ(SaidOf(""),
            "cairn: a command is missing: the commands are serve, top, model; to serve a model: "
            "cairn serve -m model.gguf");
  EXPECT_EQ(SaidOf("M.gguf"), "cairn: to serve a model: cairn serve -m M.gguf");
  EXPECT_EQ(SaidOf("-m M.gguf"),
            "cairn: -m is a flag of cairn serve; did you mean cairn serve -m …?");
  EXPECT_EQ(SaidOf("-ngl 99"),
            "cairn: -ngl is a flag of cairn serve; did you mean cairn serve -ngl …?");
  EXPECT_EQ(SaidOf("--once"),
            "cairn: --once is a flag of cairn top; did you mean cairn top --once …?");
  EXPECT_EQ(SaidOf("--prot 80"), "cairn: there is no flag --prot; did you mean --port?");
}

TEST(CommandLineMistake, OfAModelWithoutItsFlagNamesTheFlag) {
  EXPECT_EQ(SaidOf("serve M.gguf"),
            "cairn serve: M.gguf follows no flag; did you mean cairn serve -m M.gguf?");
  EXPECT_EQ(SaidOf("serve -c 4096 a/M.gguf"),
            "cairn serve: a/M.gguf follows no flag; did you mean cairn serve -m a/M.gguf?");
}

TEST(CommandLineMistake, InAFlagNamesTheNearest) {
  EXPECT_EQ(SaidOf("serve -m M.gguf --ctx-szie 4096"),
            "cairn serve: there is no flag --ctx-szie; did you mean --ctx-size?");
  EXPECT_EQ(SaidOf("serve -m M.gguf --ctx-szie=4096"),
            "cairn serve: there is no flag --ctx-szie; did you mean --ctx-size?");
  EXPECT_EQ(SaidOf("serve -m M.gguf -ctx-size 4096"),
            "cairn serve: there is no flag -ctx-size; did you mean --ctx-size?");
  EXPECT_EQ(SaidOf("serve -m M.gguf --c 4096"),
            "cairn serve: there is no flag --c; did you mean -c?");
  EXPECT_EQ(SaidOf("serve -m M.gguf --n-gpu-layer 9"),
            "cairn serve: there is no flag --n-gpu-layer; did you mean --n-gpu-layers?");
  EXPECT_EQ(SaidOf("top --onec"), "cairn top: there is no flag --onec; did you mean --once?");
  EXPECT_EQ(SaidOf("serve -m M.gguf --frobnicate"), "cairn serve: there is no flag --frobnicate");
}

TEST(CommandLineMistake, InAFlagOfAnotherServerNamesOurs) {
  EXPECT_EQ(SaidOf("serve -m M.gguf --context-size 4096"),
            "cairn serve: there is no flag --context-size; did you mean --ctx-size?");
  EXPECT_EQ(SaidOf("serve -m M.gguf --no-contbatching"),
            "cairn serve: there is no flag --no-contbatching; did you mean --no-cont-batching?");
}

TEST(CommandLineMistake, InAValueNamesTheNearest) {
  const std::string said = SaidOf("serve -m M.gguf --context-overflow truncat");
  EXPECT_TRUE(said.starts_with("cairn serve: --context-overflow: ")) << said;
  EXPECT_TRUE(said.ends_with("; did you mean truncate?")) << said;
  EXPECT_EQ(SaidOf("serve -m M.gguf --context-overflow maybe").find("did you mean"),
            std::string::npos);
}

TEST(CommandLineMistake, KeepsAKeyToItself) {
  EXPECT_EQ(SaidOf("serve -m M.gguf --api-kye sk-1.gguf"),
            "cairn serve: there is no flag --api-kye; did you mean --api-key?");
  EXPECT_EQ(SaidOf("serve -m M.gguf --api-key a sk-2").find("sk-1"), std::string::npos);
  EXPECT_EQ(SaidOf("serve --api-kye=sk-1").find("sk-1"), std::string::npos);
}

TEST(CommandLineMistake, OfAnotherKindIsSaidAsItCame) {
  EXPECT_EQ(SaidOf("model check"), "cairn model check: file is required");
  EXPECT_NE(SaidOf("serve -m M.gguf --port many").find("--port"), std::string::npos);
}

}  // namespace
}  // namespace cairn
