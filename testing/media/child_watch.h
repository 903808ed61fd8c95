// ChildWatch: sees what a call leaves behind in this process: descriptors, children, memory.

#ifndef CAIRN_TESTING_MEDIA_CHILD_WATCH_H_
#define CAIRN_TESTING_MEDIA_CHILD_WATCH_H_

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace cairn::test {

class ChildWatch {
 public:
  ChildWatch() : descriptors_(Descriptors()), resident_bytes_(ResidentBytes()) {}

  void ExpectNothingLeft() const {
    EXPECT_EQ(Descriptors(), descriptors_);
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
    EXPECT_EQ(errno, ECHILD);
  }
  int64_t GrownBytes() const { return ResidentBytes() - resident_bytes_; }

 private:
  static int64_t Descriptors() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  }
  static int64_t ResidentBytes() {
    std::ifstream in("/proc/self/statm");
    int64_t total_pages = 0;
    int64_t resident_pages = 0;
    in >> total_pages >> resident_pages;
    return resident_pages * sysconf(_SC_PAGESIZE);
  }

  const int64_t descriptors_;
  const int64_t resident_bytes_;
};

}  // namespace cairn::test

#endif  // CAIRN_TESTING_MEDIA_CHILD_WATCH_H_
