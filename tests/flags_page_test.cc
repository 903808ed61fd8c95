// The page of flags equals the program's own description.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "made_model.h"
#include "testing/base/golden_file.h"

namespace cairn {
namespace {

// Returns a page that `cairn manual` writes.
std::string PageOf(const std::string& name) {
  const std::string folder = test::OwnPath("");
  const std::string command = std::string("'" CAIRN_PROGRAM "' manual '") + folder + "'";
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::ifstream file(folder + "/" + name);
  std::ostringstream page;
  page << file.rdbuf();
  std::filesystem::remove_all(folder);
  return page.str();
}

TEST(FlagsPage, IsWhatTheProgramSaysOfItsFlags) {
  const std::string page = PageOf("flags.md");
  EXPECT_NE(page.find("`--cache-ram`"), std::string::npos);
  ExpectSourceFile("docs/flags.md", page);
}

TEST(FlagsPage, OfLlamaServersFlagsIsWhatTheTableSays) {
  const std::string page = PageOf("from_llama_server.md");
  EXPECT_NE(page.find("`--jinja`"), std::string::npos);
  ExpectSourceFile("docs/from_llama_server.md", page);
}

TEST(FlagsPage, OfTheLaboratoryIsWhatItSaysOfItsFlags) {
  const std::string file_name = test::OwnPath("lab_flags.md");
  const std::string command = "'" CAIRN_LAB_PROGRAM "' flags-page >'" + file_name + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::ifstream file(file_name);
  std::ostringstream page;
  page << file.rdbuf();
  std::filesystem::remove(file_name);
  EXPECT_NE(page.str().find("`--scenario`"), std::string::npos);
  ExpectSourceFile("docs/lab_flags.md", page.str());
}

TEST(MovedCommands, SayWhereTheyWent) {
  for (const std::string moved : {"bench", "demo", "sim", "model make"}) {
    const std::string said = test::OwnPath("said.txt");
    const std::string command = "'" CAIRN_PROGRAM "' " + moved + " one two 2>'" + said + "'";
    EXPECT_NE(std::system(command.c_str()), 0) << moved;
    std::ifstream file(said);
    std::string line;
    std::getline(file, line);
    std::filesystem::remove(said);
    EXPECT_EQ(line, "cairn: `cairn " + moved + "` is now `cairn-lab " + moved +
                        "`; `make build` makes both programs");
  }
}

}  // namespace
}  // namespace cairn
