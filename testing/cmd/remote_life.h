// For tests: RemoteLife, a server without HTTP on a FakeEngine, with a cache folder on a machine of
// its own and a remote store that it shares with others. The test steps everything.

#ifndef CAIRN_TESTING_CMD_REMOTE_LIFE_H_
#define CAIRN_TESTING_CMD_REMOTE_LIFE_H_

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cmd/serve/remote/remote_flags.h"
#include "fleet/remote/tier/remote_tier.h"
#include "sched/scheduler.h"
#include "testing/remote/fake_remote.h"
#include "testing/sched/scheduler_fixture.h"
#include "testing/store/disk_fixture.h"
#include "testing/store/stepped_disk.h"

namespace cairn::test {

struct RemoteLifeOptions {
  MemoryClass memory_class = MemoryClass::kHybrid;
  ReuseMode reuse = ReuseMode::kLive;
  LineageId first_lineage = 1 << 20;
  size_t slots = 1;
  std::string key = "0123456789abcdef0123456789abcdef";  // empty: not sealed
  double wait_ms = 1e6;
  double after_ms = 0;
  size_t threads = 0;
};

class RemoteLife {
 public:
  RemoteLife(FakeRemote* store, uint64_t seed, const RemoteLifeOptions& options = {})
      : faulty_(store, seed),
        fs_(NewFs()),
        disk_(fs_.get(), DiskOptions()),
        engine_(EngineOptions(options)),
        cache_(CacheOptions{}, *MakePlacement("auto"), *MakeEviction("value"),
               MakeTieredStore(&disk_)),
        tier_(std::make_unique<RemoteTier>(TierOptions(options))),
        lookup_(tier_.get()),
        scheduler_(&engine_, &cache_, &clock_, SchedulerOptionsOf(options)) {
    self_ = tier_.get();
    cache_.SetSavedAs({kModel, {{0, 0}, {1, 111}, {2, 222}}});
    faulty_.SetOnHang([this] { Skip(1000); });
  }

  // Answers the request, doing the tier's work whenever the scheduler waits.
  Bench::Answer Ask(GenerationRequest request) {
    auto generation = scheduler_.Submit(std::move(request));
    EXPECT_TRUE(generation.has_value());
    Settle();
    return Bench::Collect(generation->get());
  }
  void Settle() {
    // Time passes with each step, so every wait ends.
    for (int idle = 0; idle < 3;) {
      const bool stepped = scheduler_.Step();
      const bool worked = tier_->Work();
      idle = stepped || worked || scheduler_.stats().open.waiting > 0 ? 0 : idle + 1;
    }
  }
  void SaveToFolder() {
    EXPECT_TRUE(scheduler_.SaveAll(1e6));
    disk_.Settle();
  }
  // Saves all to the folder and uploads all that is worth it.
  bool SaveAndDrain() {
    SaveToFolder();
    return tier_->Drain(1e6);
  }

  FaultyRemote& remote() { return faulty_; }
  RemoteTier& tier() { return *tier_; }
  MemoryFs& fs() { return *fs_; }
  Scheduler& scheduler() { return scheduler_; }
  CheckpointCache& cache() { return cache_; }
  FakeEngine& engine() { return engine_; }
  std::vector<std::string>& log() { return log_; }
  void Skip(double ms) {
    clock_.Skip(ms);
    remote_clock_.Skip(ms);
  }

 private:
  // Every call takes `ms`.
  class SkippingClock final : public Clock {
   public:
    explicit SkippingClock(double ms) : ms_(ms) {}
    double NowMs() const override { return now_ms_.fetch_add(ms_); }
    void Skip(double ms) { now_ms_.fetch_add(ms); }

   private:
    const double ms_;
    mutable std::atomic<double> now_ms_{0};
  };

  static std::unique_ptr<MemoryFs> NewFs() {
    auto fs = std::make_unique<MemoryFs>();
    fs->SetNow(kStartNs);
    return fs;
  }
  DiskStoreOptions DiskOptions() {
    DiskStoreOptions options = SteppedStore::Options(fs_.get());
    options.on_written = [this](const ObjectHeader& header) {
      if (self_ != nullptr) self_->Written(header);
    };
    options.on_used = [this](const ObjectName& name) {
      if (self_ != nullptr) self_->Used(name);
    };
    return options;
  }
  static FakeEngineOptions EngineOptions(const RemoteLifeOptions& options) {
    FakeEngineOptions engine = Bench::EngineOptions(options.memory_class);
    engine.slots = options.slots;
    // Every chunk takes as long as the next, so short chunks keep prefill slower than assembly.
    engine.chunk_tokens_max = 64;
    return engine;
  }
  RemoteTierOptions TierOptions(const RemoteLifeOptions& options) {
    RemoteTierOptions tier;
    tier.objects = faulty_.objects();
    tier.index = faulty_.index();
    tier.fs = fs_.get();
    tier.clock = &remote_clock_;
    tier.folder = kFolder;
    tier.folder_bytes_max = uint64_t{1} << 40;
    tier.fingerprint = kModel;
    if (!options.key.empty()) tier.keys = *RemoteKeys::Parse(options.key);
    tier.wait_ms = options.wait_ms;
    tier.saved_ms_min = 0;
    tier.after_ms = options.after_ms;
    tier.write_bytes_per_s = 0;
    tier.threads = options.threads;
    tier.adopt = [this](const ObjectName& name, double ms_max) {
      return disk_.Adopt(name, ms_max);
    };
    tier.now_s = [] { return int64_t{1'800'000'000}; };
    tier.log = [this](LogLevel, std::string_view line) { log_.emplace_back(line); };
    return tier;
  }
  SchedulerOptions SchedulerOptionsOf(const RemoteLifeOptions& options) {
    SchedulerOptions scheduling;
    scheduling.slots.first_lineage = options.first_lineage;
    scheduling.reuse = options.reuse;
    scheduling.remote = &lookup_;
    return scheduling;
  }

  // Prefill takes much longer than a call to the remote store.
  SkippingClock clock_{4};
  SkippingClock remote_clock_{0.01};
  std::vector<std::string> log_;
  FaultyRemote faulty_;
  std::unique_ptr<MemoryFs> fs_;
  RemoteTier* self_ = nullptr;
  SteppedDisk disk_;
  FakeEngine engine_;
  CheckpointCache cache_;
  std::unique_ptr<RemoteTier> tier_;
  TierLookup lookup_;
  Scheduler scheduler_;
};

}  // namespace cairn::test

#endif  // CAIRN_TESTING_CMD_REMOTE_LIFE_H_
