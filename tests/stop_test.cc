// The end of the real program: the first interrupt waits for pending work, a second does not.

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <string>

#include "served.h"

namespace cairn {
namespace {

using test::Flags;
using test::Join;

constexpr int kPatienceMs = 60'000;

class StopTest : public test::ServedTest {
 protected:
  // Starts a server and makes it prefill much, none of which is saved.
  void ServeAndRead(const Flags& flags) {
    ServeSavingLate(flags);
    const Json body = {{"prompt", std::string(3500, 'p')}, {"max_tokens", 2}, {"temperature", 0}};
    ASSERT_EQ(Post("/v1/completions", body).status, 200);
    ASSERT_EQ(Log().find("stopping"), std::string::npos);
  }
  void ServeSavingLate(const Flags& flags) {
    Serve(Join({"--cache-dir", folder_, "--save-after-ms", "1000000", "--no-warm"}, flags));
  }

  const std::string folder_ = files_ + "/cache";
};

TEST_F(StopTest, OneInterruptSavesWhatWasRead) {
  ServeAndRead({});
  server_->Signal(SIGINT);
  EXPECT_EQ(server_->WaitForExit(kPatienceMs), 0);
  WaitUntilLogged("saved to");
}

TEST_F(StopTest, ASecondInterruptWaitsForNoDisk) {
  // Slow enough that the second interrupt comes during the writes.
  ServeAndRead({"--disk-write-mib-s", "1", "--shutdown-timeout", "3600"});
  server_->Signal(SIGINT);
  WaitUntilLogged("stopping");
  server_->Signal(SIGINT);
  EXPECT_EQ(server_->WaitForExit(kPatienceMs), 128 + SIGINT);
  WaitUntilLogged("interrupted again");
  EXPECT_EQ(Log().find("saved to"), std::string::npos);
  // Incomplete files are harmless.
  const std::string verify = "'" CAIRN_PROGRAM "' cache verify --cache-dir '" + folder_ + "'";
  EXPECT_EQ(std::system((verify + " > /dev/null").c_str()), 0);
  ServeSavingLate({});
}

TEST_F(StopTest, AskingTwiceToTerminateStillSaves) {
  ServeAndRead({});
  server_->Signal(SIGTERM);
  server_->Signal(SIGTERM);
  EXPECT_EQ(server_->WaitForExit(kPatienceMs), 0);
  WaitUntilLogged("saved to");
}

}  // namespace
}  // namespace cairn
