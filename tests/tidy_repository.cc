#include "tidy_repository.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace cairn::tidy {

namespace fs = std::filesystem;

SourceFile Read(const fs::path& root, const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {fs::relative(path, root).generic_string(),
          std::string(std::istreambuf_iterator<char>(in), {})};
}

std::vector<SourceFile> Load(const std::function<bool(const fs::path&)>& wanted) {
  const fs::path root(CAIRN_SOURCE_DIR);
  std::vector<SourceFile> files;
  for (const char* folder :
       {"src", "fleet", "lab", "testing", "tests", "bench", "examples", "fuzz"}) {
    if (!fs::exists(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (entry.is_regular_file() && wanted(entry.path())) {
        files.push_back(Read(root, entry.path()));
      }
    }
  }
  std::sort(files.begin(), files.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

const std::vector<SourceFile>& Sources() {
  static const std::vector<SourceFile> files = Load(
      [](const fs::path& path) { return path.extension() == ".cc" || path.extension() == ".h"; });
  return files;
}

std::string Joined(const Complaints& complaints) {
  std::string joined;
  for (const std::string& complaint : complaints) joined += complaint + "\n";
  return joined;
}

std::string OfAll(Complaints (*rule)(const SourceFile&)) {
  EXPECT_GT(Sources().size(), 10u) << "the sources are not under " << CAIRN_SOURCE_DIR;
  std::string all;
  for (const SourceFile& file : Sources()) all += Joined(rule(file));
  return all;
}

std::string Without(std::string complaints, const std::vector<std::string>& known) {
  for (const std::string& one : known) {
    const size_t at = complaints.find(one);
    EXPECT_NE(at, std::string::npos) << one << " is no longer so";
    if (at == std::string::npos) continue;
    const size_t begin = complaints.rfind('\n', at) + 1;
    complaints.erase(begin, complaints.find('\n', at) + 1 - begin);
  }
  return complaints;
}

}  // namespace cairn::tidy
