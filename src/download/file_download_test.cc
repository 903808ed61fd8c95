#include "download/file_download.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "testing/download/download_fixture.h"

namespace cairn {
namespace {

constexpr size_t kBytes = 20'000;

// A file of a plain server, with its checksum known unless a test says otherwise.
class FileDownloadTest : public DownloadTest {
 protected:
  FileDownloadTest() { hub_.AddPlain("/m.gguf", content_, "\"v1\""); }

  FileWanted Wanted() const {
    FileWanted file;
    file.url = "https://hub.test/m.gguf";
    file.path = folder_ + "/dir/m.gguf";
    file.lock_path = folder_ + "/locks/m.lock";
    file.name = "m.gguf";
    file.bytes = kBytes;
    file.sum = {Sha256Of(content_)};
    return file;
  }
  FileWanted WithoutSum() const {
    FileWanted file = Wanted();
    file.sum = {};
    file.bytes = 0;
    return file;
  }
  Status Get(const FileWanted& file) {
    WebGet web(&transfer_, {});
    return FileDownload(&web, "", hooks_, rules_).Get(file);
  }
  // The fault of the first `times` answers; the others are right.
  void Fault(int times, std::function<void(HubAnswer*)> fault) {
    hub_.SetFault([times, fault = std::move(fault)](const HubAsked&, HubAnswer* answer) mutable {
      if (times > 0 && times-- > 0) fault(answer);
    });
  }
  std::string Final() const { return ContentOf(folder_ + "/dir/m.gguf"); }
  bool HasPart() const { return std::filesystem::exists(folder_ + "/dir/m.gguf.cairn-part"); }
  std::vector<std::string> Ranges() const {
    std::vector<std::string> ranges;
    for (const HubAsked& asked : hub_.asked()) ranges.push_back(asked.Header("Range"));
    return ranges;
  }

  const std::string content_ = MadeContent(kBytes, 1);
};

using Texts = std::vector<std::string>;

TEST_F(FileDownloadTest, AFileIsDownloadedOnce) {
  ASSERT_TRUE(Get(Wanted()).has_value());
  EXPECT_EQ(Final(), content_);
  EXPECT_FALSE(HasPart());
  ASSERT_TRUE(Get(Wanted()).has_value());
  EXPECT_EQ(hub_.asked().size(), 1u);
}

TEST_F(FileDownloadTest, ACutConnectionGoesOnBehindTheLastByte) {
  Fault(2, [](HubAnswer* answer) { answer->sent_max = 7000; });
  ASSERT_TRUE(Get(Wanted()).has_value());
  EXPECT_EQ(Final(), content_);
  EXPECT_EQ(Ranges(), (Texts{"", "bytes=7000-", "bytes=14000-"}));
  EXPECT_EQ(hub_.asked()[1].Header("If-Range"), "\"v1\"");
  EXPECT_TRUE(Said("trying again")) << said_;
}

TEST_F(FileDownloadTest, AKilledProcessIsGoneOnWithByTheNextOne) {
  for (const FileWanted& file : {Wanted(), WithoutSum()}) {
    transfer_.KillAfter(9000);
    EXPECT_THROW(static_cast<void>(Get(file)), KilledHere);
    EXPECT_EQ(Final(), "");
    transfer_.KillAfter(SIZE_MAX);
    ASSERT_TRUE(Get(file).has_value());
    EXPECT_EQ(Final(), content_);
    EXPECT_EQ(Ranges().back(), "bytes=9000-");
    std::filesystem::remove_all(folder_ + "/dir");
  }
}

TEST_F(FileDownloadTest, AChangedFileBeginsAgainAndIsNeverMixed) {
  const std::string newer = MadeContent(kBytes, 2);
  transfer_.KillAfter(9000);
  EXPECT_THROW(static_cast<void>(Get(WithoutSum())), KilledHere);
  transfer_.KillAfter(SIZE_MAX);
  hub_.AddPlain("/m.gguf", newer, "\"v2\"");
  ASSERT_TRUE(Get(WithoutSum()).has_value());
  EXPECT_EQ(Final(), newer);
}

TEST_F(FileDownloadTest, AServerThatIgnoresIfRangeIsSeenByItsETag) {
  const std::string newer = MadeContent(kBytes, 2);
  transfer_.KillAfter(9000);
  EXPECT_THROW(static_cast<void>(Get(WithoutSum())), KilledHere);
  transfer_.KillAfter(SIZE_MAX);
  hub_.AddPlain("/m.gguf", newer, "\"v2\"");
  Fault(1, [&](HubAnswer* answer) {
    answer->status = 206;
    answer->body = newer.substr(9000);
    answer->Set("Content-Range", "bytes 9000-19999/20000");
  });
  ASSERT_TRUE(Get(WithoutSum()).has_value());
  EXPECT_EQ(Final(), newer);
  EXPECT_TRUE(Said("has changed on the server")) << said_;
}

TEST_F(FileDownloadTest, WithoutASumAndAnETagACutDownloadBeginsAgain) {
  for (const char* etag : {"", "W/\"weak\""}) {
    hub_.AddPlain("/m.gguf", content_, etag);
    Fault(1, [](HubAnswer* answer) { answer->sent_max = 7000; });
    ASSERT_TRUE(Get(WithoutSum()).has_value());
    EXPECT_EQ(Final(), content_);
    EXPECT_EQ(Ranges().back(), "");
    std::filesystem::remove_all(folder_ + "/dir");
  }
}

TEST_F(FileDownloadTest, AWrongChecksumDeletesTheFileAndIsTriedOnceMore) {
  const auto flip = [](HubAnswer* answer) { answer->body[5000] ^= 1; };
  Fault(1, flip);
  ASSERT_TRUE(Get(Wanted()).has_value());
  EXPECT_EQ(Final(), content_);
  EXPECT_TRUE(Said("is not the one that the server states")) << said_;
  std::filesystem::remove_all(folder_ + "/dir");
  Fault(2, flip);
  ExpectFails(Get(Wanted()), ErrorCode::kCorrupt, "the second time too; the file was deleted");
  EXPECT_EQ(Final(), "");
  EXPECT_FALSE(HasPart());
}

TEST_F(FileDownloadTest, AWrongLengthIsNotBelieved) {
  for (const char* length : {"5", "19999", "20001", "99999999999"}) {
    Fault(1, [&](HubAnswer* answer) { answer->Set("Content-Length", length); });
    ASSERT_TRUE(Get(Wanted()).has_value()) << length;
    EXPECT_EQ(Final(), content_) << length;
    std::filesystem::remove_all(folder_ + "/dir");
  }
}

TEST_F(FileDownloadTest, APageInBetweenCostsNoBytesOfTheFile) {
  int requests = 0;
  hub_.SetFault([&](const HubAsked&, HubAnswer* answer) {
    ++requests;
    if (requests == 1) answer->sent_max = 7000;
    if (requests != 2) return;
    *answer = {};
    answer->body = "<!doctype html><title>Log in to this network</title>";
  });
  ASSERT_TRUE(Get(Wanted()).has_value());
  EXPECT_EQ(Final(), content_);
  EXPECT_EQ(Ranges(), (Texts{"", "bytes=7000-", "bytes=7000-"}));
}

TEST_F(FileDownloadTest, AnotherRangeThanAskedForIsNotTaken) {
  for (const char* range :
       {"bytes 100-19999/20000", "bytes 7000-19999/30000", "rubbish", "bytes -/"}) {
    int requests = 0;
    hub_.SetFault([&](const HubAsked&, HubAnswer* answer) {
      ++requests;
      if (requests == 1) answer->sent_max = 7000;
      if (requests == 2) answer->Set("Content-Range", range);
    });
    ASSERT_TRUE(Get(Wanted()).has_value()) << range;
    EXPECT_EQ(Final(), content_) << range;
    std::filesystem::remove_all(folder_ + "/dir");
  }
}

TEST_F(FileDownloadTest, ATotalBelowWhatIsHereIsAContradiction) {
  int requests = 0;
  hub_.SetFault([&](const HubAsked&, HubAnswer* answer) {
    ++requests;
    if (requests == 1) answer->sent_max = 7000;
    if (requests != 2) return;
    answer->Set("Content-Range", "bytes 7000-19999/5000");
    answer->body = std::string(1 << 20, 'x');
    answer->Set("Content-Length", std::to_string(answer->body.size()));
  });
  ASSERT_TRUE(Get(WithoutSum()).has_value());
  EXPECT_EQ(Final(), content_);
  EXPECT_TRUE(Said("more of it are here")) << said_;
  EXPECT_EQ(Ranges(), (Texts{"", "bytes=7000-", ""}));
}

TEST_F(FileDownloadTest, AFileOfUnknownLengthHasALimit) {
  hub_.SetFault([](const HubAsked&, HubAnswer* answer) { answer->Set("Content-Length", ""); });
  rules_.unannounced_bytes_max = kBytes;
  ASSERT_TRUE(Get(WithoutSum()).has_value());
  EXPECT_EQ(Final(), content_);
  std::filesystem::remove_all(folder_ + "/dir");
  rules_.unannounced_bytes_max = kBytes - 1;
  ExpectFails(Get(WithoutSum()), ErrorCode::kUnavailable, "does not say how long it is");
  EXPECT_EQ(Final(), "");
  EXPECT_FALSE(std::filesystem::file_size(folder_ + "/dir/m.gguf.cairn-part") > 0);
  EXPECT_TRUE(slept_ms_.empty()) << "it was tried again";
}

TEST_F(FileDownloadTest, AFileOfUnknownLengthEndsWhereTheRoomDoes) {
  hub_.SetFault([](const HubAsked&, HubAnswer* answer) { answer->Set("Content-Length", ""); });
  hooks_.free_bytes = [](const std::string&) -> Result<uint64_t> { return 1000; };
  ExpectFails(Get(WithoutSum()), ErrorCode::kNoSpace, "has 1000 bytes free");
}

TEST_F(FileDownloadTest, ABusyServerIsAskedAgainWhenItSays) {
  Fault(1, [](HubAnswer* answer) {
    answer->status = 429;
    answer->Set("Retry-After", "7");
  });
  ASSERT_TRUE(Get(Wanted()).has_value());
  EXPECT_EQ(slept_ms_, (std::vector<double>{7000}));
}

TEST_F(FileDownloadTest, PausesGrowAndEnd) {
  Fault(1000, [](HubAnswer* answer) { answer->refuses = true; });
  ExpectFails(Get(Wanted()), ErrorCode::kUnavailable, "could not be downloaded");
  EXPECT_EQ(slept_ms_, (std::vector<double>{1000, 2000, 4000, 8000, 16000}));
}

TEST_F(FileDownloadTest, ARefusalIsNotTriedAgain) {
  for (const auto& [status, code] :
       std::vector<std::pair<int, ErrorCode>>{{401, ErrorCode::kUnauthorized},
                                              {403, ErrorCode::kUnauthorized},
                                              {404, ErrorCode::kNotFound},
                                              {410, ErrorCode::kNotFound}}) {
    Fault(1, [given = status](HubAnswer* answer) { answer->status = given; });
    ExpectFails(Get(Wanted()), code, std::to_string(status));
  }
  EXPECT_TRUE(slept_ms_.empty());
}

TEST_F(FileDownloadTest, TooLittleRoomIsSaidBeforeTheFirstByte) {
  uint64_t free = kBytes - 1;
  hooks_.free_bytes = [&](const std::string&) -> Result<uint64_t> { return free; };
  ExpectFails(Get(Wanted()), ErrorCode::kNoSpace, "needs 20000 bytes more");
  EXPECT_FALSE(std::filesystem::file_size(folder_ + "/dir/m.gguf.cairn-part") > 0);
  free = kBytes;
  EXPECT_TRUE(Get(Wanted()).has_value());
}

TEST_F(FileDownloadTest, APageInsteadOfAFileIsRefused) {
  hub_.AddPlain("/m.gguf", "<!doctype html>", "");
  ExpectFails(Get(WithoutSum()), ErrorCode::kCorrupt, "is no GGUF file");
  EXPECT_EQ(Final(), "");
}

TEST_F(FileDownloadTest, ADamagedFileIsReplaced) {
  ASSERT_TRUE(Get(Wanted()).has_value());
  std::ofstream(folder_ + "/dir/m.gguf") << "rubbish";
  ASSERT_TRUE(Get(Wanted()).has_value());
  EXPECT_EQ(Final(), content_);
  EXPECT_TRUE(Said("is damaged")) << said_;
}

TEST_F(FileDownloadTest, WaitsForAnotherDownloadAndTakesItsFile) {
  auto lock = DownloadLock::Try(folder_ + "/locks/m.lock");
  ASSERT_TRUE(lock.has_value() && *lock != nullptr);
  hooks_.sleep = [&](double) {
    std::filesystem::create_directories(folder_ + "/dir");
    std::ofstream(folder_ + "/dir/m.gguf") << content_;
    lock->reset();
  };
  ASSERT_TRUE(Get(Wanted()).has_value());
  EXPECT_TRUE(Said("another process downloads m.gguf: waiting for it")) << said_;
  EXPECT_TRUE(hub_.asked().empty());
}

TEST_F(FileDownloadTest, TellsItsProgress) {
  std::vector<double> shares;
  hooks_.progress = [&](const std::string& what, double share) {
    if (what == "Downloading m.gguf") shares.push_back(share);
  };
  ASSERT_TRUE(Get(Wanted()).has_value());
  ASSERT_GT(shares.size(), 10u);
  EXPECT_EQ(shares.back(), 1);
}

}  // namespace
}  // namespace cairn
