#include "cmd/lib/cache_folder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace cairn {
namespace {

// Sets a variable of the environment, and back when it goes.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    const char* const before = std::getenv(name);
    had_ = before != nullptr;
    if (had_) before_ = before;
    if (value == nullptr) {
      unsetenv(name);
    } else {
      setenv(name, value, 1);
    }
  }
  ~Variable() {
    if (had_) {
      setenv(name_, before_.c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* const name_;
  bool had_ = false;
  std::string before_;
};

TEST(CacheFolder, IsWhereTheDesktopWantsCaches) {
  const Variable home("HOME", "/home/ada");
  const Variable caches("XDG_CACHE_HOME", "/fast/caches");
  EXPECT_EQ(DefaultCacheFolder(), "/fast/caches/cairn");
}

TEST(CacheFolder, IsBelowTheHomeOtherwise) {
  const Variable home("HOME", "/home/ada");
  for (const char* value : {static_cast<const char*>(nullptr), "", "relative/path"}) {
    const Variable caches("XDG_CACHE_HOME", value);
    EXPECT_EQ(DefaultCacheFolder(), "/home/ada/.cache/cairn");
  }
}

TEST(CacheFolder, IsNoneWithoutAHome) {
  const Variable home("HOME", nullptr);
  const Variable caches("XDG_CACHE_HOME", nullptr);
  EXPECT_EQ(DefaultCacheFolder(), "");
}

}  // namespace
}  // namespace cairn
