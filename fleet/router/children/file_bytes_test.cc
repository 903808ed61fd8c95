#include "fleet/router/children/file_bytes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace cairn {
namespace {

TEST(FileBytes, AreThoseOfAllFilesAndParts) {
  const std::string folder = ::testing::TempDir() + "file_bytes_" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  const auto write = [&](const std::string& name, size_t bytes) {
    std::ofstream(folder + "/" + name) << std::string(bytes, 'x');
  };
  write("m-00001-of-00002.gguf", 10);
  write("m-00002-of-00002.gguf", 200);
  write("mmproj.gguf", 3000);
  write("template.jinja", 40000);
  ModelEntry entry;
  entry.arguments = {"serve",
                     "--model=" + folder + "/m-00001-of-00002.gguf",
                     "--mmproj=" + folder + "/mmproj.gguf",
                     "--chat-template-file=" + folder + "/template.jinja",
                     "--hf-repo=user/repo",
                     "--draft=" + folder + "/absent.gguf"};
  EXPECT_EQ(FileBytes(entry), 3210u);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace cairn
