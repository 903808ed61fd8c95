// Seeded faults of every kind, and kills between two bytes: no wrong file gets its final name, and
// once the faults end the model is there.

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "download/web/curl_transfer.h"
#include "testing/download/download_fixture.h"
#include "testing/download/hub_faults.h"
#include "testing/download/hub_server.h"

namespace cairn {
namespace {

constexpr uint64_t kSeeds = 120;

// A split model in a repository of its own for each seed.
class DownloadFaults : public DownloadTest {
 protected:
  void Publish(uint64_t seed) {
    repo_ = "made/model" + std::to_string(seed);
    first_ = MadeContent(5000 + faults_.Below(9000), 2 * seed);
    second_ = MadeContent(1 + faults_.Below(9000), 2 * seed + 1);
    hub_.Add(repo_, "m-00001-of-00002.gguf", first_);
    hub_.Add(repo_, "m-00002-of-00002.gguf", second_, false);
  }
  void Withdraw() {
    hub_.Remove(repo_, "m-00001-of-00002.gguf");
    hub_.Remove(repo_, "m-00002-of-00002.gguf");
  }
  void ExpectRight(const DownloadedModel& model) {
    EXPECT_EQ(ContentOf(model.path), first_);
    EXPECT_EQ(ContentOf(PartName(*ParseGgufName(model.path), 2)), second_);
  }
  // One start of a server, which may be killed.
  void Start(ModelDownload* download) {
    ++starts_;
    try {
      const auto model = download->FromHub({repo_, "", true});
      if (model) {
        ExpectRight(*model);
      } else {
        ++refused_;
      }
    } catch (const KilledHere&) {
      ++kills_;
    }
    ExpectAllBlobsRight();
  }
  void Record() {
    RecordProperty("starts", static_cast<int>(starts_));
    RecordProperty("faults", static_cast<int>(faults_.total()));
    RecordProperty("kills", static_cast<int>(kills_));
    RecordProperty("refused", static_cast<int>(refused_));
  }

  HubFaults faults_;
  std::string repo_;
  std::string first_;
  std::string second_;
  size_t starts_ = 0;
  size_t kills_ = 0;
  size_t refused_ = 0;
};

TEST_F(DownloadFaults, NoWrongFileGetsItsFinalName) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::filesystem::remove_all(folder_);
    faults_.Begin(seed, 0.1 + 0.1 * static_cast<double>(seed % 7));
    Publish(seed);
    hub_.SetFault([this](const HubAsked&, HubAnswer* answer) { faults_.MayInject(answer); });
    for (int start = 0; start < 6; ++start) {
      transfer_.KillAfter(start % 2 == 0 ? faults_.Below(12'000) : SIZE_MAX);
      ModelDownload download = Download();
      Start(&download);
    }
    hub_.SetFault(nullptr);
    transfer_.KillAfter(SIZE_MAX);
    const auto model = FromHub(repo_);
    ASSERT_TRUE(model.has_value()) << model.error().message;
    ExpectRight(*model);
    Withdraw();
  }
  // The seeds do reach everything.
  EXPECT_GT(kills_, 50u);
  EXPECT_GT(refused_, 50u);
  for (size_t kind = 0; kind < HubFaults::kKinds; ++kind)
    EXPECT_GT(faults_.injected()[kind], 5u) << kind;
  Record();
}

// The same by libcurl and sockets, until there were 100 faults.
TEST_F(DownloadFaults, NoWrongFileComesOverSocketsEither) {
  HubServer server(&hub_);
  settings_.endpoint = server.hub_origin();
  const std::unique_ptr<Transfer> curl = MakeCurlTransfer({.silence_s = 5});
  for (uint64_t seed = 0; faults_.total() < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::filesystem::remove_all(folder_);
    faults_.Begin(seed, 0.4);
    Publish(seed);
    hub_.SetFault([this](const HubAsked&, HubAnswer* answer) { faults_.MayInject(answer); });
    for (int start = 0; start < 3; ++start) {
      ModelDownload download(curl.get(), settings_, hooks_, rules_);
      Start(&download);
    }
    hub_.SetFault(nullptr);
    ModelDownload download(curl.get(), settings_, hooks_, rules_);
    const auto model = download.FromHub({repo_, "", true});
    ASSERT_TRUE(model.has_value()) << model.error().message;
    ExpectRight(*model);
    Withdraw();
  }
  EXPECT_LT(refused_, starts_);
  Record();
}

// Without a checksum a flipped byte cannot be seen; everything else can.
TEST_F(DownloadFaults, AFileOfAUrlIsOneVersionOfItAsAWhole) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    faults_.Begin(seed, 0);
    const std::string path = "/" + std::to_string(seed) + "/m.gguf";
    std::vector<std::string> versions;
    const auto publish = [&] {
      versions.push_back(MadeContent(12'000, 100 * seed + versions.size()));
      hub_.AddPlain(path, versions.back(), "\"v" + std::to_string(versions.size()) + "\"");
    };
    publish();
    hub_.SetFault([&](const HubAsked&, HubAnswer* answer) {
      if (faults_.Below(2) == 0) answer->sent_max = faults_.Below(answer->body.size() + 1);
    });
    for (int start = 0; start < 6; ++start) {
      transfer_.KillAfter(faults_.Below(15'000));
      try {
        const auto got = FromUrl("https://web.test" + path);
        if (got) {
          EXPECT_EQ(ContentOf(*got), versions.back());
        }
      } catch (const KilledHere&) {
        ++kills_;
      }
      if (faults_.Below(3) == 0) publish();
    }
    hub_.SetFault(nullptr);
    transfer_.KillAfter(SIZE_MAX);
    const auto got = FromUrl("https://web.test" + path);
    ASSERT_TRUE(got.has_value()) << got.error().message;
    EXPECT_EQ(ContentOf(*got), versions.back());
  }
  EXPECT_GT(kills_, 50u);
}

}  // namespace
}  // namespace cairn
