// For tests of the scheduler: the life of a server that saves to a disk.

#ifndef CAIRN_TESTING_SCHED_SERVER_LIFE_H_
#define CAIRN_TESTING_SCHED_SERVER_LIFE_H_

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "sched/scheduler.h"
#include "testing/sched/scheduler_fixture.h"
#include "testing/store/fake_disk.h"

namespace cairn::test {

// One process lifetime of a server. It saves to a disk that outlives it.
class ServerLife {
 public:
  ServerLife(FakeDisk* disk, const FakeEngineOptions& engine_options, LineageId first_lineage,
             ReuseMode reuse = ReuseMode::kLive, const char* placement = "near-end,user-turns",
             const CacheOptions& cache_options = {})
      : engine_(engine_options),
        cache_(cache_options, *MakePlacement(placement), *MakeEviction("value"),
               MakeTieredStore(disk)),
        scheduler_(&engine_, &cache_, &clock_, Options(first_lineage, reuse)) {
    disk->Restart();
    cache_.SetSavedAs({{7, 7}, {{0, 0}, {1, 111}, {2, 222}}});
  }

  Bench::Answer Ask(GenerationRequest request) {
    const auto generation = Submit(std::move(request));
    StepUntilNothingIsLeft();
    return Bench::Collect(generation.get());
  }
  std::shared_ptr<Generation> Submit(GenerationRequest request) {
    auto generation = scheduler_.Submit(std::move(request));
    EXPECT_TRUE(generation.has_value());
    return *generation;
  }
  void StepUntilNothingIsLeft() {
    while (scheduler_.Step()) {
    }
  }
  // As a server's context thread does, until Stop.
  void Run() { scheduler_.Run(); }
  void Stop() { scheduler_.Stop(); }
  void Expect(const PrefetchPrompt& prompt) { scheduler_.Prefetch({prompt}); }
  // Does the prefetch of an idle server.
  void Idle() {
    while (scheduler_.PrefetchNext()) {
    }
  }
  // Saves as at the server's shutdown.
  void SaveAll() { EXPECT_TRUE(SavesAll(2000)); }
  bool SavesAll(double ms_max) { return scheduler_.SaveAll(ms_max); }
  // Runs one step of the requests, and saves beside it. Returns false if no request is left.
  bool StepAndSave() {
    const bool busy = scheduler_.Step();
    scheduler_.SaveWhileBusy();
    return busy;
  }
  void SetDraining(bool draining) { scheduler_.SetDraining(draining); }
  void CheckInvariants() const { cache_.CheckInvariants(); }
  SchedulerStats stats() const { return scheduler_.stats(); }
  CacheStats cache_stats() const { return cache_.FullStats(); }

 private:
  static SchedulerOptions Options(LineageId first_lineage, ReuseMode reuse) {
    SchedulerOptions options;
    options.slots.first_lineage = first_lineage;
    options.reuse = reuse;
    options.warm_start = true;
    return options;
  }

  SteppingClock clock_;
  FakeEngine engine_;
  CheckpointCache cache_;
  Scheduler scheduler_;
};

}  // namespace cairn::test

#endif  // CAIRN_TESTING_SCHED_SERVER_LIFE_H_
