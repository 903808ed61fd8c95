#include "cmd/manual.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "cmd/serve/serve.h"

namespace cairn {
namespace {

struct Program {
  CLI::App app{"A program.", "cairn"};
  ServeOptions serve_options;
  std::string file;
  bool loud = false;
  ManualOptions manual_options;

  Program() {
    AddServe(&app, &serve_options);
    CLI::App* make =
        app.add_subcommand("model", "Models")->add_subcommand("make", "Make the user's model");
    make->add_option("file", file, ".gguf to write")->required();
    make->add_flag("--loud,-l", loud, "Say more: all");
    AddManual(&app, &manual_options);
  }
};

bool Holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Manual, HasAPageForEveryCommandThatHelpLists) {
  Program program;
  std::vector<std::string> names;
  for (const auto& [name, text] : ManPages(program.app, "2026-08-01")) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"cairn-model-make.1", "cairn-model.1", "cairn-serve.1",
                                             "cairn.1"}));
}

TEST(Manual, NamesEveryFlagOfTheServer) {
  Program program;
  const std::string page = ManPages(program.app, "2026-08-01").at("cairn-serve.1");
  size_t flags = 0;
  for (const CLI::Option* option : ShownOptions(*program.app.get_subcommand("serve"))) {
    for (const std::string& name : option->get_lnames()) {
      std::string escaped;
      for (const char c : "--" + name) escaped += c == '-' ? "\\-" : std::string(1, c);
      EXPECT_TRUE(Holds(page, "\\fB" + escaped + "\\fR")) << name;
      ++flags;
    }
  }
  EXPECT_GT(flags, 50u);
}

TEST(Manual, LeavesNoCharacterOfATextToTroff) {
  Program program;
  const std::string page = ManPages(program.app, "2026-08-01").at("cairn-model-make.1");
  EXPECT_TRUE(Holds(page, "\n\\&.gguf to write (required)\n")) << page;
  EXPECT_TRUE(Holds(page, "cairn\\-model\\-make \\- Make the user's model\n")) << page;
}

TEST(Manual, DatesEveryPage) {
  Program program;
  for (const auto& [name, text] : ManPages(program.app, "2026-08-01")) {
    EXPECT_TRUE(Holds(text, " 1 \"2026-08-01\" \"cairn ")) << name;
  }
}

TEST(Completions, OfferFlagsWhereTheyBelong) {
  Program program;
  EXPECT_TRUE(Holds(BashCompletion(program.app),
                    "\" model make\") offered=\" -h --help -l --loud\" valued=\"\" ;;\n"))
      << BashCompletion(program.app);
  EXPECT_TRUE(Holds(ZshCompletion(program.app), "'--loud:Say more: all'"));
  EXPECT_TRUE(Holds(FishCompletion(program.app), "-n '__cairn_at \" model make\"' -l loud -d "));
}

TEST(Completions, KeepQuotesInsideQuotes) {
  Program program;
  EXPECT_TRUE(Holds(ZshCompletion(program.app), "'make:Make the user'\\''s model'"));
  EXPECT_TRUE(Holds(FishCompletion(program.app), "-a make -d 'Make the user\\'s model'"));
}

TEST(Completions, DoNotSpeakOfHiddenCommands) {
  Program program;
  for (const std::string& text :
       {BashCompletion(program.app), ZshCompletion(program.app), FishCompletion(program.app),
        ManPages(program.app, "2026-08-01")["cairn.1"]}) {
    EXPECT_FALSE(Holds(text, "manual"));
  }
}

}  // namespace
}  // namespace cairn
