// For tests of `cairn cache`: commands driven on a folder of made objects.

#ifndef CAIRN_TESTING_CMD_CACHE_FIXTURE_H_
#define CAIRN_TESTING_CMD_CACHE_FIXTURE_H_

#include <gtest/gtest.h>

#include <string>

#include "base/json.h"
#include "cmd/cache/cache.h"
#include "testing/store/object_fixture.h"

namespace cairn::test {

// The output of a command, and its exit code.
struct Said {
  int code = 0;
  std::string out;
  std::string error;
};

class CacheCommandTest : public ObjectFolderTest {
 protected:
  Said Run(CacheCommandOptions options) {
    options.lock_wait_ms = 0;
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Said said;
    said.code = RunCacheOn(&fs_, kNowNs, options);
    said.out = testing::internal::GetCapturedStdout();
    said.error = testing::internal::GetCapturedStderr();
    return said;
  }
  static CacheCommandOptions Command(CacheCommand command) {
    CacheCommandOptions options;
    options.command = command;
    options.folder = kFolder;
    return options;
  }
  static CacheCommandOptions Command(CacheCommand command, const std::string& name) {
    CacheCommandOptions options = Command(command);
    options.names = {name};
    return options;
  }
  Said Run(CacheCommand command) { return Run(Command(command)); }
  Said Run(CacheCommand command, const std::string& name) { return Run(Command(command, name)); }
  Json RunJson(CacheCommandOptions options) {
    options.json = true;
    const Said said = Run(std::move(options));
    EXPECT_EQ(said.error, "");
    return Json::parse(said.out, nullptr, false);
  }
  Json RunJson(CacheCommand command) { return RunJson(Command(command)); }

  static bool Contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
};

}  // namespace cairn::test

#endif  // CAIRN_TESTING_CMD_CACHE_FIXTURE_H_
