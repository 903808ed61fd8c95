// The whole server with a folder of --slot-save-path that fails.

#include <csignal>
#include <thread>

#include "faulty_server.h"

namespace cairn {
namespace {

using test::FaultCall;

class SlotFaultsTest : public test::FaultyServerTest {
 protected:
  static constexpr int kPatienceMs = 60'000;

  void ServeSlots(const test::Flags& flags = {}) {
    std::filesystem::create_directories(folder_);
    ServeInFaultyWorld(test::Join({"--cache-disk", "0", "--slot-save-path", folder_}, flags));
  }
  HttpReply Act(const std::string& action) {
    return Post("/slots/0?action=" + action, {{"filename", "talk.bin"}});
  }
};

TEST_F(SlotFaultsTest, AFailedSaveIsAClearErrorAndLeavesTheFileThatWasThere) {
  ServeSlots();
  AskAndCompare(Talk(0));
  ASSERT_EQ(Act("save").status, 200);
  const auto bytes = std::filesystem::file_size(folder_ + "/talk.bin");
  AskAndCompare(Talk(1));
  struct Fault {
    FaultCall call;
    int error;
    std::string says;
  };
  const std::vector<Fault> faults = {
      {FaultCall::kCreate, ENOSPC, "No space left on device"},
      {FaultCall::kCreate, EROFS, "Read-only file system"},
      {FaultCall::kWrite, ENOSPC, "No space left on device"},
      {FaultCall::kWrite, EIO, "Input/output error"},
      {FaultCall::kSync, EIO, "Input/output error"},
      {FaultCall::kRename, EACCES, "Permission denied"},
  };
  for (const Fault& fault : faults) {
    world_.Fail(fault.call, fault.error);
    const HttpReply reply = Act("save");
    EXPECT_EQ(reply.status, 500) << reply.body;
    EXPECT_NE(reply.body.find("the slot could not be saved"), std::string::npos) << reply.body;
    EXPECT_NE(reply.body.find(fault.says), std::string::npos) << reply.body;
    EXPECT_EQ(FilesIn(folder_), std::vector<std::string>{"talk.bin"}) << fault.says;
    EXPECT_EQ(std::filesystem::file_size(folder_ + "/talk.bin"), bytes);
    EXPECT_TRUE(IsHealthy());
    EXPECT_LT(AskAndCompare(Talk(1)), kReadAgainMax);
    world_.Heal();
  }
  ASSERT_EQ(Act("restore").status, 200) << "the first one's file is whole";
  EXPECT_LT(AskAndCompare(Talk(0)), kReadAgainMax);
}

TEST_F(SlotFaultsTest, AFailedRestoreIsAClearErrorAndTheFileIsGoodLater) {
  ServeSlots();
  AskAndCompare(Talk(0));
  ASSERT_EQ(Act("save").status, 200);
  ServeSlots();
  for (const FaultCall call : {FaultCall::kOpen, FaultCall::kRead}) {
    world_.Fail(call, EIO);
    const HttpReply reply = Act("restore");
    EXPECT_EQ(reply.status, 500) << reply.body;
    EXPECT_NE(reply.body.find("Input/output error"), std::string::npos) << reply.body;
    world_.Heal();
  }
  ASSERT_EQ(Act("restore").status, 200);
  EXPECT_LT(AskAndCompare(Talk(0)), kReadAgainMax);
}

TEST_F(SlotFaultsTest, OthersAreAnsweredWhileADiskDoesNotTakeAFile) {
  ServeSlots();
  AskAndCompare(Talk(0));
  world_.Hang(FaultCall::kSync);
  HttpReply saved;
  std::thread saving([&] { saved = Act("save"); });
  WaitUntil("it hangs", [&] { return world_.held(FaultCall::kSync) > 0; });
  AskAndCompare(Talk(1));
  EXPECT_TRUE(IsHealthy());
  world_.Heal();
  saving.join();
  EXPECT_EQ(saved.status, 200) << saved.body;
}

// The handler holds the file's thread, which cannot be joined.
TEST_F(SlotFaultsTest, AHandlerThatNeverReturnsDoesNotKeepTheProcess) {
  ServeSlots({"--shutdown-timeout", "1"});
  AskAndCompare(Talk(0));
  ASSERT_EQ(Act("save").status, 200);
  world_.Hang(FaultCall::kOpen);
  std::thread restoring([&] {
    static_cast<void>(
        ClientOf("").Post("/slots/0?action=restore", Json({{"filename", "talk.bin"}}).dump()));
  });
  WaitUntil("it hangs", [&] { return world_.held(FaultCall::kOpen) > 0; });
  server_->Signal(SIGTERM);
  EXPECT_EQ(server_->WaitForExit(kPatienceMs), 0) << server_->LastLines();
  EXPECT_NE(server_->LastLines().find("does not come back"), std::string::npos)
      << server_->LastLines();
  world_.Heal();
  restoring.join();
}

}  // namespace
}  // namespace cairn
