// The man pages, checked by the programs that show them.

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "made_model.h"

namespace cairn::man_pages_test {
namespace {

std::string OutputOf(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  EXPECT_NE(pipe, nullptr);
  std::string output;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) output += static_cast<char>(c);
  pclose(pipe);
  return output;
}

bool Has(const std::string& program) {
  return !OutputOf("command -v " + program).empty();
}

class ManPages : public testing::Test {
 protected:
  void SetUp() override {
    const std::string command = "'" CAIRN_PROGRAM "' manual --date 2026-08-01 '" + folder_ + "'";
    ASSERT_EQ(std::system(command.c_str()), 0);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Returns the output of `command` for each page.
  std::string SaidOfEach(const std::string& command) const {
    return OutputOf("for page in '" + folder_ + "'/man/*.1; do " + command +
                    " \"$page\"; done 2>&1");
  }

  const std::string folder_ = test::OwnPath("pages");
};

TEST_F(ManPages, AreShownByManWithoutAWarning) {
  if (!Has("man") || !Has("groff")) GTEST_SKIP() << "man or groff is not here (Debian: man-db)";
  EXPECT_EQ(SaidOfEach("man --warnings --encoding=UTF-8 --troff-device=utf8 --local-file "
                       "2>&1 >/dev/null"),
            "");
}

TEST_F(ManPages, PassMandocWithoutAWarning) {
  if (!Has("mandoc")) GTEST_SKIP() << "mandoc is not here (Debian: apt-get install mandoc)";
  EXPECT_EQ(SaidOfEach("mandoc -T lint -W warning"), "");
}

}  // namespace
}  // namespace cairn::man_pages_test
