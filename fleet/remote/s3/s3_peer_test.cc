// A peer that speaks HTTP and is no store.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>

#include "fleet/remote/s3/s3_objects.h"
#include "testing/remote/reply_server.h"

#ifndef CAIRN_SANITIZED  // sanitizers need far more address space

namespace cairn {
namespace {

// Limits the address space to so much more than is in use.
void LimitMemory(rlim_t bytes) {
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  bytes += pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
  const rlimit limit = {bytes, bytes};
  setrlimit(RLIMIT_AS, &limit);
}

TEST(S3PeerDeathTest, AnAnswerThatMemoryCannotHoldIsAnError) {
  constexpr size_t kBodyBytes = size_t{300} << 20;
  const test::ReplyServer server([](std::string_view) {
    return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(kBodyBytes) + "\r\n\r\n" +
           std::string(kBodyBytes, 'x');
  });
  EXPECT_EXIT(
      {
        S3Options options;
        options.endpoint = "http://127.0.0.1:" + std::to_string(server.port());
        options.region = options.bucket = options.access_key = options.secret_key = "x";
        const auto objects = MakeS3Objects(options);
        LimitMemory(rlim_t{128} << 20);
        const auto got = (*objects)->Get("v1/x", kBodyBytes, DeadlineIn(60'000));
        _exit(!got && got.error().code == ErrorCode::kUnavailable ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace cairn

#endif  // CAIRN_SANITIZED
