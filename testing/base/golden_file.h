// For tests: comparison with a file, usually one under testdata/golden/. With UPDATE_GOLDEN=1 in
// the environment the file is rewritten instead, and the change is reviewed like any other.

#ifndef CAIRN_TESTING_BASE_GOLDEN_FILE_H_
#define CAIRN_TESTING_BASE_GOLDEN_FILE_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace cairn {

// Returns the text of a file, named from the top of the source tree. A missing file fails the test.
inline std::string ReadSourceFile(const std::string& path) {
  std::ifstream file(std::string(CAIRN_SOURCE_DIR) + "/" + path, std::ios::binary);
  EXPECT_TRUE(file) << path << " cannot be read";
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Fails the test if `actual` differs from the content of the file `path`, named from the top of the
// source tree.
inline void ExpectSourceFile(const std::string& path, const std::string& actual) {
  const char* const update = std::getenv("UPDATE_GOLDEN");
  if (update != nullptr && std::string(update) == "1") {
    std::ofstream file(std::string(CAIRN_SOURCE_DIR) + "/" + path, std::ios::binary);
    file << actual;
    EXPECT_TRUE(file.flush()) << path << " cannot be written";
    return;
  }
  EXPECT_EQ(ReadSourceFile(path), actual)
      << "differs from " << path << "; if that is right, run the test with UPDATE_GOLDEN=1";
}

// As ExpectSourceFile, for testdata/golden/`name`.
inline void ExpectGolden(const std::string& name, const std::string& actual) {
  ExpectSourceFile("testdata/golden/" + name, actual);
}

}  // namespace cairn

#endif  // CAIRN_TESTING_BASE_GOLDEN_FILE_H_
