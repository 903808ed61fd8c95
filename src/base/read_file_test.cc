#include "base/fs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace cairn {
namespace {

class ReadFileTest : public testing::Test {
 protected:
  ReadFileTest() : path_(testing::TempDir() + "cairn_read_file_" + std::to_string(getpid())) {}
  ~ReadFileTest() override {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

  const std::string path_;
};

TEST_F(ReadFileTest, GivesEveryByte) {
  const std::string bytes("a line\r\n\0and more\xFF", 18);
  std::ofstream(path_, std::ios::binary) << bytes;
  const auto text = ReadFile(path_);
  ASSERT_TRUE(text.has_value());
  EXPECT_EQ(*text, bytes);
}

TEST_F(ReadFileTest, NamesTheFileThatIsMissingEmptyOrAFolder) {
  const std::string said = "' cannot be read, or there is nothing in it";
  const auto missing = ReadFile(path_);
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(missing.error().message, "'" + path_ + said);
  std::ofstream(path_).close();
  EXPECT_FALSE(ReadFile(path_).has_value());
  EXPECT_FALSE(ReadFile(testing::TempDir()).has_value());
}

}  // namespace
}  // namespace cairn
