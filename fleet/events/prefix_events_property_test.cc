// A consumer of the events knows exactly what the next prompt could resume from: against a plain
// walk over the cache and the slots in the middle of seeded schedules, and against the tokens that
// further requests reuse.

#include "sched/upkeep/prefix_reporter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "fleet/events/block_tree.h"
#include "testing/base/played_share.h"
#include "testing/events/event_consumer.h"
#include "testing/sched/played_schedule.h"
#include "testing/store/fake_disk.h"

namespace cairn {
namespace {

using test::EventConsumer;
using test::FakeDisk;
using test::kClasses;
using test::Played;
using test::Schedule;
using test::ScheduleRun;

// A sequence from whose end prompts can resume.
struct Source {
  NamespaceId name_space = 0;
  PrefixTier tier = PrefixTier::kMemory;
  Tokens tokens = {};
  // A checkpoint at a prompt's end, which need not be a cut of longer ones.
  bool is_end = false;
};

// Publishes into a consumer.
class Watcher final : public PrefixWatcher {
 public:
  void OnChanges(std::vector<PrefixChange> changes) override {
    for (const PrefixChange& change : changes) {
      copied_tokens_ += change.tokens.size();
      parts_.Apply(change);
    }
    changes_ += changes.size();
  }
  const EventConsumer& Publish() {
    while (tree_.has_events()) {
      for (const KvEvent& event : tree_.NextEvents(64)) consumer_.Apply(event);
    }
    tree_.CheckInvariants();
    return consumer_;
  }
  size_t changes() const { return changes_; }
  size_t copied_tokens() const { return copied_tokens_; }

 private:
  BlockTree tree_{TokenIds()};
  PartTable parts_{&tree_};
  EventConsumer consumer_;
  size_t changes_ = 0;
  size_t copied_tokens_ = 0;
};

// Finds the sources by a walk over everything.
class PlainSources {
 public:
  PlainSources(ScheduleRun* run, ReuseMode mode)
      : table_(*run->cache().objects()), traits_(run->engine().traits()), mode_(mode) {}

  std::vector<Source> Find() {
    for (const auto& [id, entry] : table_.entries()) AddCheckpoint(id, entry);
    for (const auto& [id, segment] : table_.segments().segments()) {
      if (traits_.NeedsSnapshots() || segment.range.lineage != 0) continue;
      sources_.push_back(
          {segment.name_space, SlowestOf(id, segment.range.end), table_.segments().TokensOf(id)});
    }
    for (const auto& [id, whole] : table_.full_states().full_states()) {
      Tokens tokens = whole.tokens;
      if (mode_ == ReuseMode::kExact)
        tokens.resize(std::min(tokens.size(), whole.provenance.clean));
      sources_.push_back({whole.name_space, TierOf(id), std::move(tokens)});
    }
    for (const SlotsView::Held& held : table_.slots().held()) {
      // A test with `exact` compares no slots: the view does not say how far they are clean.
      sources_.push_back(
          {held.name_space, PrefixTier::kSlot, Tokens(held.tokens.begin(), held.tokens.end())});
    }
    return std::move(sources_);
  }

 private:
  void AddCheckpoint(uint64_t id, const CheckpointEntry& entry) {
    const Checkpoint& checkpoint = entry.checkpoint;
    if (mode_ == ReuseMode::kExact && !checkpoint.on_grid() && !checkpoint.cold_end) return;
    PrefixTier tier = TierOf(id);
    if (traits_.memory_class != MemoryClass::kRecurrent) {
      if (entry.holder == 0) return;
      tier = std::max(tier, SlowestOf(entry.holder, checkpoint.position));
    }
    sources_.push_back(
        {entry.name_space, tier, PrefixTree::TokensOf(entry.node), checkpoint.logits_bytes > 0});
  }
  PrefixTier TierOf(uint64_t id) const {
    return table_.InMemory(id) ? PrefixTier::kMemory : PrefixTier::kDisk;
  }
  PrefixTier SlowestOf(SegmentId id, size_t end) const {
    PrefixTier slowest = PrefixTier::kMemory;
    for (const SegmentIndex::Link& link : table_.segments().PathFrom(id, end)) {
      slowest = std::max(slowest, TierOf(link.id));
    }
    return slowest;
  }

  const ObjectTable& table_;
  const MemoryTraits& traits_;
  const ReuseMode mode_;
  std::vector<Source> sources_;
};

EventConsumer::Prefixes PrefixesOf(const std::vector<Source>& sources) {
  EventConsumer::Prefixes prefixes;
  for (const Source& source : sources) {
    for (size_t end = kEventBlockTokens; end <= source.tokens.size(); end += kEventBlockTokens) {
      prefixes.emplace(source.tier,
                       EventConsumer::Ids(source.tokens.begin(),
                                          source.tokens.begin() + static_cast<ptrdiff_t>(end)));
    }
  }
  return prefixes;
}

EventConsumer::Prefixes WithoutSlots(EventConsumer::Prefixes prefixes) {
  std::erase_if(prefixes, [](const auto& prefix) { return prefix.first == PrefixTier::kSlot; });
  return prefixes;
}

class PlayedOnce {
 public:
  explicit PlayedOnce(const Schedule& base, bool with_disk) : schedule_(base) {
    schedule_.prefixes = &watcher_;
    if (with_disk) schedule_.disk = &disk_;
    schedule_.after_step = [this](ScheduleRun* run) { AfterStep(run); };
  }

  void Play() {
    ScheduleRun run(schedule_);
    run.Play();
    if (::testing::Test::HasFailure()) return;
    Compare(&run);
    if (schedule_.failing_per_mille == 0 && schedule_.reuse == ReuseMode::kLive) {
      CheckClaims(&run);
      CheckReach(&run);
    }
  }
  size_t compared() const { return compared_; }
  size_t resumed() const { return resumed_; }
  size_t on_disk() const { return on_disk_; }

 private:
  void AfterStep(ScheduleRun* run) {
    if (run->Random() % 16 == 0) run->scheduler().ReportPrefixes();
    if (run->Random() % 32 > 0) return;
    if (schedule_.disk != nullptr) {
      constexpr double kSlow = 100;  // milliseconds a token: everything is worth saving
      for (int i = 0; i < 8 && run->Random() % 4 > 0; ++i) run->cache().SaveNext(kSlow);
      if (run->Random() % 8 == 0 && !disk_.names().empty()) disk_.Lose(disk_.names().front());
      run->cache().TakeEvents();
    }
    Compare(run);
  }

  void Compare(ScheduleRun* run) {
    run->scheduler().ReportPrefixes();
    EventConsumer::Prefixes known = watcher_.Publish().prefixes();
    EventConsumer::Prefixes expected = PrefixesOf(PlainSources(run, schedule_.reuse).Find());
    for (const auto& [tier, ids] : known) on_disk_ += tier == PrefixTier::kDisk ? 1 : 0;
    if (schedule_.reuse == ReuseMode::kExact) {
      known = WithoutSlots(std::move(known));
      expected = WithoutSlots(std::move(expected));
    }
    EXPECT_EQ(known.size(), expected.size());
    EXPECT_TRUE(known == expected);
    ++compared_;
  }

  // A prompt that goes on where something published ends is not prefilled from further back than
  // the grid and the cuts of prompts take it.
  void CheckClaims(ScheduleRun* run) {
    for (size_t tries = 0; tries < 3; ++tries) {
      std::vector<Source> sources = PlainSources(run, schedule_.reuse).Find();
      std::erase_if(sources, [](const Source& source) { return source.tokens.size() < 64; });
      if (sources.empty()) return;
      const Source source = sources[run->Random() % sources.size()];
      Tokens prompt = source.tokens;
      if (!source.is_end) prompt.insert(prompt.end(), 70, '!');
      const size_t reused = run->ReusedBy(source.name_space, prompt);
      EXPECT_GE(reused + kSlackTokens, source.tokens.size()) << MediumName(source.tier);
      resumed_ += reused > 0 ? 1 : 0;
    }
  }

  // Nothing is reused that was not published.
  void CheckReach(ScheduleRun* run) {
    for (const auto& [name_space, last] : run->Prompts()) {
      Tokens prompt = last;
      prompt.insert(prompt.end(), 70, '!');
      run->scheduler().ReportPrefixes();
      const EventConsumer::Prefixes known = watcher_.Publish().prefixes();
      const size_t reused = run->ReusedBy(name_space, prompt);
      if (reused < kEventBlockTokens) continue;
      const EventConsumer::Ids ids(prompt.begin(),
                                   prompt.begin() + static_cast<ptrdiff_t>(reused / 64 * 64));
      const bool published = std::any_of(known.begin(), known.end(),
                                         [&](const auto& prefix) { return prefix.second == ids; });
      EXPECT_TRUE(published) << reused << " tokens";
    }
  }

  // Segments need not end at a cut of the prompt; the grid has 16 tokens.
  static constexpr size_t kSlackTokens = 16;

  Schedule schedule_;
  FakeDisk disk_;
  Watcher watcher_;
  size_t compared_ = 0;
  size_t resumed_ = 0;
  size_t on_disk_ = 0;
};

struct Totals {
  size_t compared = 0;
  size_t resumed = 0;
  size_t on_disk = 0;
};

Totals PlayMany(uint64_t first, uint64_t count, bool with_disk,
                const std::function<void(Schedule*)>& change) {
  Totals totals;
  for (uint64_t seed = first; seed < first + Played(count); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Schedule schedule;
    schedule.seed = seed;
    schedule.memory_class = kClasses[seed % kClasses.size()];
    schedule.slots = 1 + seed / 4 % 5;
    schedule.clients = 1 + seed % 8;
    schedule.name_spaces = 1 + seed % 3;
    if (seed % 3 == 0) schedule.beside_tokens_max = 64;
    change(&schedule);
    PlayedOnce played(schedule, with_disk);
    played.Play();
    if (::testing::Test::HasFailure()) return totals;
    totals.compared += played.compared();
    totals.resumed += played.resumed();
    totals.on_disk += played.on_disk();
  }
  return totals;
}

TEST(PrefixEventsProperty, AConsumerKnowsWhatPromptsCanResumeFrom) {
  const Totals totals = PlayMany(1, 200, false, [](Schedule* s) { s->warms = s->seed % 3 == 0; });
  EXPECT_GT(totals.compared, Played(500));
  EXPECT_GT(totals.resumed, Played(200));
}

TEST(PrefixEventsProperty, AConsumerKnowsWhatASmallCacheEvicts) {
  const Totals totals = PlayMany(1001, 200, false, [](Schedule* s) {
    s->ram_bytes_max = 20'000 + s->seed % 5 * 10'000;
    s->cells = s->seed % 2 == 0 ? 3000 : 0;
  });
  EXPECT_GT(totals.compared, Played(500));
}

TEST(PrefixEventsProperty, AConsumerKnowsWhatMovesBetweenMemoryAndDisk) {
  const Totals totals = PlayMany(
      2001, 200, true, [](Schedule* s) { s->ram_bytes_max = s->seed % 3 == 0 ? 1 << 20 : 40'000; });
  EXPECT_GT(totals.compared, Played(500));
  EXPECT_GT(totals.on_disk, Played(500));
}

TEST(PrefixEventsProperty, AConsumerKnowsWhatAFailingEngineLoses) {
  const Totals totals = PlayMany(3001, 100, false, [](Schedule* s) { s->failing_per_mille = 20; });
  EXPECT_GT(totals.compared, Played(200));
}

TEST(PrefixEventsProperty, AConsumerKnowsWhatIsLeftOfAnUnloadedModel) {
  const Totals totals = PlayMany(4001, 100, true, [](Schedule* s) {
    s->sleep_after_ms = static_cast<double>(s->seed % 7 * 30);
    s->pause_ms_max = 2000;
  });
  EXPECT_GT(totals.compared, Played(200));
}

TEST(PrefixEventsProperty, AConsumerKnowsOnlyExactStatesWhereOthersAreNotReused) {
  const Totals totals =
      PlayMany(5001, 100, false, [](Schedule* s) { s->reuse = ReuseMode::kExact; });
  EXPECT_GT(totals.compared, Played(200));
}

}  // namespace
}  // namespace cairn
