#include "cmd/serve/base/key_flags.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace cairn {
namespace {

using Keys = ApiKeys::Texts;

class KeyFlagsTest : public testing::Test {
 protected:
  KeyFlagsTest() { Forget(); }
  ~KeyFlagsTest() override {
    Forget();
    std::filesystem::remove(file_);
  }
  static void Forget() {
    for (const char* name : {"CAIRN_API_KEY", "LLAMA_API_KEY", "CAIRN_API_KEY_ADMIN"}) {
      unsetenv(name);
    }
  }
  ServeOptions WithFile(const std::string& text) const {
    std::ofstream(file_) << text;
    ServeOptions options;
    options.api_key_file = file_;
    return options;
  }

  const std::string file_ = testing::TempDir() + "cairn_" + std::to_string(getpid()) + "_keys";
};

TEST_F(KeyFlagsTest, AFileHasAKeyALineAndNamesForPeople) {
  EXPECT_EQ(*ParseKeyFile("# who may ask\n\nsk-1\n  anna   sk-2  \r\n\t# nobody\nsk-3"),
            (Keys{{"sk-1", "sk-2", "sk-3"}}));
}

TEST_F(KeyFlagsTest, ABrokenFileIsToldByItsLineAndNotItsKey) {
  const auto keys = ParseKeyFile("sk-1\nthe secret sk-2\n");
  ASSERT_FALSE(keys.has_value());
  EXPECT_EQ(keys.error().message,
            "line 2 has more than two words; expected KEY, NAME KEY or admin NAME KEY");
  for (const char* empty : {"", "\n\n", "# sk-1\n"}) EXPECT_FALSE(ParseKeyFile(empty)) << empty;
}

TEST_F(KeyFlagsTest, FlagsEnvironmentAndFileAddUp) {
  ServeOptions options = WithFile("four\n");
  options.api_keys = {"one"};
  setenv("CAIRN_API_KEY", "two,,three", 1);
  EXPECT_EQ(*KeysOf(options), (Keys{{"one", "two", "three", "four"}}));
  Forget();
  setenv("LLAMA_API_KEY", "five", 1);
  EXPECT_EQ(*KeysOf(ServeOptions()), Keys{{"five"}});
}

TEST_F(KeyFlagsTest, AnAdminsKeyIsNamedInTheFileOrByItsOwnFlagAndVariable) {
  EXPECT_EQ(*ParseKeyFile("anna sk-1\nadmin ops sk-2\nadmin sk-3\n"),
            (Keys{{"sk-1", "sk-3"}, {"sk-2"}}))
      << "with two words admin is a name";
  EXPECT_FALSE(ParseKeyFile("admin ops sk-2 more\n").has_value());
  EXPECT_FALSE(ParseKeyFile("boss ops sk-2\n").has_value());
  ServeOptions options = WithFile("admin ops four\n");
  options.admin_keys = {"one"};
  setenv("CAIRN_API_KEY_ADMIN", "two,three", 1);
  EXPECT_EQ(*KeysOf(options), (Keys{{}, {"one", "two", "three", "four"}}));
}

TEST_F(KeyFlagsTest, AFileThatIsNotThereIsAnError) {
  ServeOptions options;
  options.api_key_file = file_ + "_not";
  EXPECT_TRUE(KeysOf(options).error().message.starts_with("--api-key-file '" + file_ + "_not'"));
}

TEST_F(KeyFlagsTest, SeesWhetherOthersCanReadTheFile) {
  using std::filesystem::perms;
  WithFile("one");
  std::filesystem::permissions(file_, perms::owner_read | perms::others_read);
  EXPECT_TRUE(OthersCanRead(file_));
  std::filesystem::permissions(file_, perms::owner_read | perms::group_read);
  EXPECT_FALSE(OthersCanRead(file_));
}

TEST_F(KeyFlagsTest, NoErrorShowsWhatFollowsAKeyFlag) {
  EXPECT_EQ(HideKeys("not expected: --api-kex sk-1", {"serve", "--api-kex", "sk-1"}),
            "not expected: --api-kex ***");
  EXPECT_EQ(HideKeys("not expected: --api_key=sk-1", {"serve", "--api_key=sk-1"}),
            "not expected: --api_key=***");
  EXPECT_EQ(HideKeys("no such file: x", {"--api-key-file", "x"}), "no such file: x");
}

}  // namespace
}  // namespace cairn
