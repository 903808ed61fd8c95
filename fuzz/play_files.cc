// Plays files, and all files in folders, to a fuzz target without libFuzzer, so that an ordinary
// test replays every case that was ever found. A violated property ends the program after the name
// of its file was printed.

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz/input.h"

namespace {

std::vector<std::string> FilesOf(int count, char** arguments) {
  std::vector<std::string> files;
  for (int i = 1; i < count; ++i) {
    std::error_code error;
    if (!std::filesystem::is_directory(arguments[i], error)) {
      if (std::filesystem::exists(arguments[i], error)) files.emplace_back(arguments[i]);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(arguments[i], error)) {
      if (entry.is_regular_file(error)) files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> files = FilesOf(count, arguments);
  for (const std::string& file : files) {
    std::printf("%s\n", file.c_str());
    std::fflush(stdout);
    std::ifstream in(file, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }
  std::printf("%zu files\n", files.size());
  return files.empty() ? 1 : 0;
}
