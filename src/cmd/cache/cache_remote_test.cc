#include <gtest/gtest.h>

#include "base/json.h"
#include "cmd/cache/cache_commands.h"
#include "cmd/serve/remote/remote_flags.h"
#include "fleet/remote/remote_tools.h"
#include "testing/cmd/remote_life.h"

namespace cairn {
namespace {

using test::FakeRemote;
using test::FaultyRemote;
using test::RemoteFault;
using test::RemoteLife;
using test::RemoteLifeOptions;
using test::Text;

// The stores of the flags, in memory.
class RemoteCacheTest : public testing::Test {
 protected:
  RemoteCacheTest() {
    for (const NamespaceId name_space : {0, 1}) {
      RemoteLifeOptions options;
      options.first_lineage = static_cast<LineageId>(name_space + 1) << 20;
      RemoteLife server(&store_, 1, options);
      GenerationRequest request = test::Bench::Request(Text(2000, 'H'), 20);
      request.name_space = name_space;
      request.shape.turns = {{0, true}};
      server.Ask(std::move(request));
      EXPECT_TRUE(server.SaveAndDrain());
    }
  }

  Json Run(CacheCommandOptions options) {
    options.json = true;
    RemoteStores stores;
    stores.keys = *RemoteKeys::Parse(key_);
    stores.objects = MakeView();
    stores.index = MakeIndexView();
    testing::internal::CaptureStdout();
    const auto code = RunRemoteCache({options, nullptr, 0}, stores);
    const std::string out = testing::internal::GetCapturedStdout();
    EXPECT_TRUE(code) << code.error().message;
    code_ = code.value_or(-1);
    return Json::parse(out, nullptr, false);
  }
  static CacheCommandOptions Command(CacheCommand command) {
    CacheCommandOptions options;
    options.command = command;
    return options;
  }

  // Hands each call on to the fake.
  class View final : public RemoteObjects {
   public:
    explicit View(RemoteObjects* to) : to_(to) {}
    Result<bool> Has(const std::string& path, Deadline deadline) override {
      return to_->Has(path, deadline);
    }
    Status Put(const std::string& path, ByteSpan bytes, Deadline deadline) override {
      return to_->Put(path, bytes, deadline);
    }
    Result<Bytes> Get(const std::string& path, uint64_t bytes_max, Deadline deadline) override {
      return to_->Get(path, bytes_max, deadline);
    }
    Status Remove(const std::string& path, Deadline deadline) override {
      return to_->Remove(path, deadline);
    }
    Status List(const std::string& prefix,
                const std::function<void(const std::string&, uint64_t)>& visit,
                Deadline deadline) override {
      return to_->List(prefix, visit, deadline);
    }

   private:
    RemoteObjects* const to_;
  };
  class IndexView final : public RemoteIndex {
   public:
    explicit IndexView(RemoteIndex* to) : to_(to) {}
    Result<std::vector<std::vector<RemoteEntry>>> Find(const std::vector<std::string>& keys,
                                                       Deadline deadline) override {
      return to_->Find(keys, deadline);
    }
    Status Add(const std::vector<Row>& rows, int64_t ttl_s, Deadline deadline) override {
      return to_->Add(rows, ttl_s, deadline);
    }
    Status Remove(const std::string& key, const RemoteId& id, Deadline deadline) override {
      return to_->Remove(key, id, deadline);
    }

   private:
    RemoteIndex* const to_;
  };
  std::unique_ptr<RemoteObjects> MakeView() { return std::make_unique<View>(view_.objects()); }
  std::unique_ptr<RemoteIndex> MakeIndexView() {
    return std::make_unique<IndexView>(view_.index());
  }

  FakeRemote store_;
  FaultyRemote view_{&store_, 9};
  std::string key_ = RemoteLifeOptions{}.key;
  int code_ = 0;
};

TEST_F(RemoteCacheTest, ListsByModelAndNamespace) {
  const Json json = Run(Command(CacheCommand::kList));
  EXPECT_EQ(json["objects"].get<size_t>(), store_.size());
  EXPECT_EQ(json["groups"].size(), 2U);
}

TEST_F(RemoteCacheTest, VerifyFindsTheFlippedBitAndPruneRemovesItsObject) {
  EXPECT_EQ(Run(Command(CacheCommand::kVerify))["good"].get<size_t>(), store_.size());
  EXPECT_EQ(code_, 0);
  const auto bad = store_.objects.begin();
  const std::string path = bad->first;
  bad->second[bad->second.size() / 2] ^= 1;
  const Json json = Run(Command(CacheCommand::kVerify));
  EXPECT_EQ(code_, 1);
  ASSERT_EQ(json["bad"].size(), 1U);
  EXPECT_EQ(json["bad"][0]["object"].get<std::string>(), path);
  CacheCommandOptions prune = Command(CacheCommand::kPrune);
  prune.bad = true;
  prune.dry_run = true;
  Run(prune);
  EXPECT_TRUE(store_.objects.contains(path));
  prune.dry_run = false;
  EXPECT_EQ(Run(prune)["removed"].get<size_t>(), 1U);
  EXPECT_FALSE(store_.objects.contains(path));
}

TEST_F(RemoteCacheTest, AnotherKeyCanReadNothing) {
  key_ = "another key, that nobody else has: 0123456789";
  const Json json = Run(Command(CacheCommand::kVerify));
  EXPECT_EQ(json["good"].get<size_t>(), 0U);
  EXPECT_EQ(json["bad"].size(), store_.size());
}

TEST_F(RemoteCacheTest, ReindexBringsEveryHitBack) {
  for (const MemoryClass memory_class : test::kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    FakeRemote store;
    RemoteLifeOptions options;
    options.memory_class = memory_class;
    RemoteLife first(&store, 1, options);
    GenerationRequest request = test::Bench::Request(Text(2000, 'H'), 20);
    request.shape.turns = {{0, true}};
    first.Ask(request);
    EXPECT_TRUE(first.SaveAndDrain());
    const auto before = store.index;
    store.index.clear();
    FaultyRemote view(&store, 2);
    const RemoteKeys keys = *RemoteKeys::Parse(options.key);
    const RemoteTools tools(view.objects(), view.index(), &keys);
    const auto done = tools.Reindex(100, 1'800'000'000, {});
    ASSERT_TRUE(done);
    EXPECT_EQ(done->listed, store.size());
    EXPECT_EQ(store.index, before);
  }
}

}  // namespace
}  // namespace cairn
