// The whole server with a cache folder that fails in every way that a disk can: answers continue
// and are right, the log and the metrics report it, and afterwards all unsaved objects are saved.

#include <chrono>
#include <csignal>
#include <future>

#include "faulty_server.h"

namespace cairn {
namespace {

using test::FaultCall;

class DiskFaultsTest : public test::FaultyServerTest {
 protected:
  size_t ObjectFiles() const {
    size_t objects = 0;
    for (const std::string& file : FilesIn(folder_)) objects += file.ends_with(".cairn") ? 1 : 0;
    return objects;
  }
  size_t UnfinishedFiles() const {
    size_t unfinished = 0;
    for (const std::string& file : FilesIn(folder_)) unfinished += file.starts_with("tmp-") ? 1 : 0;
    return unfinished;
  }
  void Kill() {
    server_->Signal(SIGKILL);
    EXPECT_EQ(server_->WaitForExit(10'000), 128 + SIGKILL);
  }
};

TEST_F(DiskFaultsTest, AFullDiskIsSaidOnceAndWritingGoesOnWhenThereIsRoom) {
  ServeFaulty();
  world_.Fail(FaultCall::kWrite, ENOSPC);
  for (int talk = 0; talk < 4; ++talk) AskAndCompare(Talk(talk));
  WaitUntilRefusing();
  EXPECT_TRUE(IsHealthy());
  EXPECT_GT(Metric("cairn_disk_errors_total"), 0);
  EXPECT_GT(Metric("cairn_disk_unsynced_bytes"), 0) << "nobody is told that it is saved";
  EXPECT_GT(world_.failed(FaultCall::kWrite), 0u);
  EXPECT_EQ(ObjectFiles(), 0u);
  // Checkpoints in memory are still found.
  for (int talk = 0; talk < 4; ++talk) EXPECT_LT(AskAndCompare(Talk(talk)), kReadAgainMax);
  WaitUntil("it is said", [&] { return LinesWith("No space left on device; make room") > 0; });
  EXPECT_EQ(LinesWith("disk cache:"), 1u);

  world_.Heal();
  WaitUntilSaved();
  WaitUntil("it is said", [&] { return LinesWith("the folder takes files again") > 0; });
  EXPECT_EQ(LinesWith("disk cache:"), 2u);
  EXPECT_EQ(Metric("cairn_disk_refusing"), 0);
  EXPECT_EQ(UnfinishedFiles(), 0u);
  Kill();
  ServeFaulty();
  for (int talk = 0; talk < 4; ++talk) EXPECT_LT(AskAndCompare(Talk(talk)), kReadAgainMax);
  EXPECT_EQ(Metric("cairn_disk_corrupt_total"), 0);
}

TEST_F(DiskFaultsTest, WhateverFailsNothingIsLostThatWasToldToBeSaved) {
  struct Fault {
    FaultCall call;
    int error;
    int64_t good;
  };
  const std::vector<Fault> faults = {
      {FaultCall::kCreate, ENOSPC, 0}, {FaultCall::kCreate, EROFS, 0},
      {FaultCall::kCreate, EMFILE, 0}, {FaultCall::kWrite, EIO, 0},
      {FaultCall::kWrite, EDQUOT, 1},  {FaultCall::kSync, EIO, 0},
      {FaultCall::kSync, EIO, 1},      {FaultCall::kRename, EACCES, 0},
      {FaultCall::kSpace, ENOSPC, 0},  {FaultCall::kList, EIO, 0},
  };
  // A budget that fits the device shrinks where the device says that it is full.
  ServeFaulty({"--save-after-ms", "0", "--cache-disk", "1"});
  for (size_t i = 0; i < faults.size(); ++i) {
    SCOPED_TRACE("fault " + std::to_string(i));
    world_.Fail(faults[i].call, faults[i].error, faults[i].good);
    const Json talk = Talk(static_cast<int>(i));
    EXPECT_GT(AskAndCompare(talk), kReadAgainMax);
    WaitUntil("it fails", [&] { return world_.failed(faults[i].call) > 1; });
    EXPECT_LT(AskAndCompare(talk), kReadAgainMax);
    EXPECT_TRUE(IsHealthy());
    world_.Heal();
    WaitUntilSaved();
  }
  EXPECT_EQ(UnfinishedFiles(), 0u);
  Kill();
  ServeFaulty();
  for (size_t i = 0; i < faults.size(); ++i) {
    EXPECT_LT(AskAndCompare(Talk(static_cast<int>(i))), kReadAgainMax) << i;
  }
}

// A file that cannot be removed, or a folder that cannot be listed, must not stop it either.
TEST_F(DiskFaultsTest, AFolderThatIsFullOfFilesThatCannotBeRemovedIsNoMoreThanFull) {
  const std::vector<std::string> small = {"--cache-disk", "0.002", "--save-after-ms", "0"};
  ServeFaulty(small);
  world_.Fail(FaultCall::kRemove, EPERM);
  for (int talk = 0; talk < 12; ++talk) AskAndCompare(Talk(talk));
  WaitUntil("it fails", [&] { return world_.failed(FaultCall::kRemove) > 1; });
  EXPECT_TRUE(IsHealthy());
  // The message that files can be written again is a line too.
  EXPECT_LE(LinesWith("warning disk cache:"), 1u) << server_->LastLines();
  world_.Heal();
  WaitUntilSaved();
  for (int talk = 0; talk < 12; ++talk) AskAndCompare(Talk(talk));
}

TEST_F(DiskFaultsTest, WhatCannotBeReadIsReadByTheModelAndItsFileStays) {
  ServeFaulty();
  for (int talk = 0; talk < 3; ++talk) AskAndCompare(Talk(talk));
  WaitUntilSaved();
  ASSERT_EQ(server_->Stop(), 0) << server_->LastLines();
  ServeFaulty({"--no-warm"});  // which would read something before it is needed
  const size_t files = ObjectFiles();
  world_.Fail(FaultCall::kRead, EIO);
  EXPECT_GT(AskAndCompare(Talk(0)), kReadAgainMax);
  world_.Heal();
  world_.Fail(FaultCall::kOpen, EMFILE);
  EXPECT_GT(AskAndCompare(Talk(1)), kReadAgainMax);
  EXPECT_GT(Metric("cairn_disk_errors_total"), 0);
  EXPECT_GT(world_.failed(FaultCall::kRead) + world_.failed(FaultCall::kOpen), 1u);
  EXPECT_TRUE(IsHealthy());
  Kill();
  world_.Heal();
  EXPECT_GE(ObjectFiles(), files) << "a disk that failed once loses nothing for good";
  ServeFaulty();
  for (int talk = 0; talk < 3; ++talk) EXPECT_LT(AskAndCompare(Talk(talk)), kReadAgainMax);
}

// The slowest disk is one that never answers.
TEST_F(DiskFaultsTest, NoRequestWaitsForAWrite) {
  for (const FaultCall call : {FaultCall::kCreate, FaultCall::kWrite, FaultCall::kSync,
                               FaultCall::kRename, FaultCall::kSpace, FaultCall::kList}) {
    SCOPED_TRACE(static_cast<int>(call));
    server_.reset();  // its destructor waits for pending writes
    std::filesystem::remove_all(folder_);
    ServeFaulty({"--save-after-ms", "0"});
    world_.Hang(call);
    AskAndCompare(Talk(0));
    WaitUntil("it hangs", [&] { return world_.held(call) > 0; });
    for (int talk = 0; talk < 3; ++talk) AskAndCompare(Talk(talk));
    for (int talk = 0; talk < 3; ++talk) EXPECT_LT(AskAndCompare(Talk(talk)), kReadAgainMax);
    EXPECT_TRUE(IsHealthy());
    EXPECT_GT(Metric("cairn_disk_unsynced_bytes"), 0);
    world_.Heal();
    WaitUntilSaved();
  }
}

// A server that has a long talk on disk and none in memory, and knows how long prefill takes, which
// bounds the wait for the disk.
class SlowDiskTest : public DiskFaultsTest {
 protected:
  void SetUp() override {
    ServeFaulty();
    AskAndCompare(saved_);
    AskAndCompare(Talk(1));  // the server without a cache starts before the disk is slow
    WaitUntilSaved();
    ASSERT_EQ(server_->Stop(), 0) << server_->LastLines();
    ServeFaulty({"--no-warm"});  // which would read it before it is asked for
    AskAndCompare(Talk(2));
  }

  const Json saved_ = LongTalk(0);
};

TEST_F(SlowDiskTest, OthersOvertakeARequestThatTheDiskReadsForAndItIsRestoredRight) {
  world_.Hang(FaultCall::kRead);
  auto waits = std::async(std::launch::async, [this] { return Ask(saved_); });
  WaitUntil("the read hangs", [&] { return world_.held(FaultCall::kRead) > 0; });
  Ask(Talk(3));
  EXPECT_TRUE(IsHealthy());
  EXPECT_NE(waits.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  world_.Heal();
  const Json reply = waits.get();
  EXPECT_LT(test::ReadTokens(reply), kReadAgainMax) << "it waited and did not prefill";
  EXPECT_EQ(reply["choices"][0]["message"]["content"], PlainAnswer(saved_));
}

TEST_F(SlowDiskTest, ARequestWhoseDiskNeverAnswersIsPrefilledInstead) {
  world_.Hang(FaultCall::kRead);
  EXPECT_GT(AskAndCompare(saved_), kReadAgainMax);
  EXPECT_TRUE(IsHealthy());
  EXPECT_LT(AskAndCompare(saved_), kReadAgainMax) << "its slot has it now";
  world_.Heal();
}

TEST_F(SlowDiskTest, ARequestWhoseDiskTakesLongerThanItsPrefillIsPrefilledInstead) {
  world_.SlowReads(int64_t{1} << 14);
  EXPECT_GT(AskAndCompare(saved_), kReadAgainMax);
  EXPECT_TRUE(IsHealthy());
  world_.Heal();
}

TEST_F(DiskFaultsTest, WhatWaitsForASlowDiskTakesNoMoreMemoryThanTheCacheMay) {
  ServeFaulty({"--cache-ram", "2", "--save-after-ms", "0", "-c", "8192"});
  world_.Hang(FaultCall::kWrite);
  for (int talk = 0; talk < 16; ++talk) Ask(LongTalk(talk));
  // At most 2 MiB each: the write queue, objects in memory beyond it, and the slot's state.
  constexpr double kMib = 1 << 20;
  EXPECT_GT(Metric("cairn_disk_unsynced_bytes"), 1 * kMib);
  EXPECT_LE(Metric("cairn_disk_unsynced_bytes"), 6 * kMib);
  EXPECT_TRUE(IsHealthy());
  world_.Heal();
  WaitUntilSaved();
}

TEST_F(DiskFaultsTest, AServerWhoseDiskIsFullEndsWithoutWaitingForRoom) {
  ServeFaulty({"--shutdown-timeout", "3600"});
  world_.Fail(FaultCall::kWrite, ENOSPC);
  AskAndCompare(Talk(0));
  WaitUntilRefusing();
  EXPECT_EQ(server_->Stop(), 0) << server_->LastLines();
  EXPECT_NE(server_->LastLines().find("cannot be written: unsaved conversations will be "
                                      "prefilled again"),
            std::string::npos)
      << server_->LastLines();
  EXPECT_EQ(UnfinishedFiles(), 0u);
}

TEST_F(DiskFaultsTest, AServerWhoseDiskHangsEndsAllTheSame) {
  ServeFaulty({"--shutdown-timeout", "1", "--save-after-ms", "0"});
  world_.Hang(FaultCall::kWrite);
  AskAndCompare(Talk(0));
  WaitUntil("it hangs", [&] { return world_.held(FaultCall::kWrite) > 0; });
  server_->Signal(SIGTERM);
  EXPECT_EQ(server_->WaitForExit(60'000), 0) << server_->LastLines();
  EXPECT_NE(server_->LastLines().find("ended before everything was saved"), std::string::npos)
      << server_->LastLines();
}

TEST_F(DiskFaultsTest, AFlushToAFullDiskSaysWhatIsLeft) {
  ServeFaulty();
  world_.Fail(FaultCall::kWrite, ENOSPC);
  AskAndCompare(Talk(0));
  WaitUntilRefusing();
  const auto reply = Post("/cairn/cache/flush", Json::object());
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_GT(Json::parse(reply.body)["unsaved_bytes"].get<size_t>(), 0u);
  world_.Heal();
  WaitUntilSaved();
  EXPECT_EQ(Json::parse(Post("/cairn/cache/flush", Json::object()).body)["unsaved_bytes"], 0);
}

TEST_F(DiskFaultsTest, AFolderThatVanishesIsMadeAgain) {
  ServeFaulty({"--save-after-ms", "0"});
  AskAndCompare(Talk(0));
  WaitUntilSaved();
  // The server may be deleting a file at the same moment.
  WaitUntil("it is gone", [&] {
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
    return !error;
  });
  WaitUntil("it is noticed, and what memory holds is saved again",
            [&] { return ObjectFiles() > 0 && Metric("cairn_disk_unsynced_bytes") == 0; });
  EXPECT_LT(AskAndCompare(Talk(0)), kReadAgainMax);
  AskAndCompare(Talk(1));
  WaitUntilSaved();
  Kill();
  ServeFaulty();
  EXPECT_LT(AskAndCompare(Talk(0)), kReadAgainMax);
  EXPECT_LT(AskAndCompare(Talk(1)), kReadAgainMax);
}

TEST_F(DiskFaultsTest, WhatIsNoneOfOursOrBrokenInTheFolderIsLeftOrAMiss) {
  ServeFaulty();
  for (int talk = 0; talk < 2; ++talk) AskAndCompare(Talk(talk));
  ASSERT_EQ(server_->Stop(), 0);
  std::string model_folder;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) {
    if (!entry.is_regular_file() || entry.path().extension() != ".cairn") continue;
    model_folder = entry.path().parent_path();
    std::filesystem::resize_file(entry.path(), entry.file_size() - 1);
  }
  std::ofstream(model_folder + "/letter.txt") << "dear folder";
  std::ofstream(folder_ + "/letter.txt") << "dear folder";
  ServeFaulty();
  for (int talk = 0; talk < 2; ++talk) EXPECT_GT(AskAndCompare(Talk(talk)), kReadAgainMax);
  EXPECT_GT(Metric("cairn_disk_corrupt_total"), 0);
  WaitUntilSaved();
  Kill();
  EXPECT_TRUE(std::filesystem::exists(model_folder + "/letter.txt"));
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/letter.txt"));
  ServeFaulty();
  for (int talk = 0; talk < 2; ++talk) EXPECT_LT(AskAndCompare(Talk(talk)), kReadAgainMax);
}

}  // namespace
}  // namespace cairn
