// Random runs of one or two disk stores on a machine that loses power, kills processes, tears
// writes, flips bits, refuses calls and fills up. Whatever happens, reading an object returns what
// was written under its name or nothing, and the files never exceed the budget.
//
// A failure names its seed. To run one seed alone, narrow the loop in PlayMany to it.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "testing/base/played_share.h"
#include "testing/store/disk_fixture.h"

namespace cairn {
namespace {

using test::kFront;
using test::kModel;
using test::kOtherModel;
using test::kSecondNs;
using test::PayloadOf;
using test::Segment;
using test::Shared;
using test::Snapshot;
using test::SteppedStore;
using test::TokensOf;

using NameSet = std::set<ObjectName>;

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  // The results of std::uniform_int_distribution differ by library; these do not.
  uint64_t Below(uint64_t limit) { return engine_() % limit; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

struct Object {
  ObjectHeader header;
  Bytes bytes;
};

// Returns objects that a model's processes may save: chains of segments that diverge, snapshots on
// them, and full states.
std::vector<Object> ObjectsOf(const Fingerprint& model, Random* random) {
  std::vector<ObjectHeader> headers;
  for (Token line = 0; line < 3; ++line) {
    ObjectName parent;
    size_t begin = 0;
    for (int link = 0; link < 3; ++link) {
      const size_t end = begin + 100 + random->Below(900);
      ObjectHeader segment = Segment(TokensOf(end, line, 300), begin, parent);
      segment.fingerprint = model;
      parent = NameOf(segment);
      headers.push_back(segment);
      headers.push_back(Snapshot(TokensOf(begin + 1 + random->Below(end - begin), line, 300)));
      begin = end;
    }
    headers.push_back(Snapshot(TokensOf(begin, line)));
    headers.back().kind = ObjectKind::kFullState;
  }
  std::vector<Object> objects;
  NameSet names;
  for (ObjectHeader& header : headers) {
    header.fingerprint = model;
    // Before the lines diverge, two objects may be the same.
    if (!names.insert(NameOf(header)).second) continue;
    header.worth_ms = static_cast<double>(1 + random->Below(10'000));
    Bytes payload = PayloadOf(random->Below(3000), objects.size());
    // Every other payload is compressible.
    if (objects.size() % 2 == 0) std::fill_n(payload.begin(), payload.size() / 2, uint8_t{7});
    objects.push_back({header, std::move(payload)});
  }
  return objects;
}

struct Plot {
  uint64_t seed = 0;
  int processes = 1;
  bool two_models = false;
  bool faults = false;  // calls are refused, power is lost, processes are killed
  bool damage = false;  // bits flip, files are truncated
};

// A process with its store, and what the store reported.
class Person {
 public:
  Person(std::unique_ptr<MemoryFs> fs, const DiskStoreOptions& options)
      : fs_(std::move(fs)), options_(options) {
    Restart();
  }
  void Restart() { store_ = std::make_unique<SteppedStore>(fs_.get(), options_); }
  void MoveTo(std::unique_ptr<MemoryFs> fs) {
    store_.reset();
    fs_ = std::move(fs);
    pending.clear();
    held.clear();
    written.clear();
    Restart();
  }

  DiskWorker& store() { return **store_; }
  SteppedStore& stepped() { return *store_; }
  MemoryFs& fs() { return *fs_; }
  const DiskStoreOptions& options() const { return options_; }

  NameSet pending;  // passed to Write, without an event since
  NameSet held;     // reported as present, and not as gone
  NameSet written;  // the part of `held` that it wrote: these are on the device

 private:
  std::unique_ptr<MemoryFs> fs_;
  DiskStoreOptions options_;
  std::unique_ptr<SteppedStore> store_;
};

class Story {
 public:
  explicit Story(const Plot& plot) : plot_(plot), random_(plot.seed) {
    machine_ = std::make_unique<MemoryFs>();
    machine_->SetNow(test::kStartNs);
    for (int i = 0; i < plot.processes; ++i) {
      const Fingerprint model = i > 0 && plot.two_models ? kOtherModel : kModel;
      if (!objects_.contains(model)) objects_[model] = ObjectsOf(model, &random_);
      people_.push_back(std::make_unique<Person>(machine_->AnotherProcess(), OptionsFor(model)));
    }
  }

  void Play(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      Person* const person = people_[random_.Below(people_.size())].get();
      DoOne(person);
      if (plot_.faults && random_.OneIn(12)) GoWrong(person);
      if (plot_.damage && random_.OneIn(15)) Damage();
    }
    End();
  }

 private:
  DiskStoreOptions OptionsFor(const Fingerprint& model) {
    DiskStoreOptions options;
    options.folder = test::kFolder;
    options.fingerprint = model;
    if (budget_ == 0) budget_ = (1 + random_.Below(12)) * (kFront + 1500);
    options.bytes_max = budget_;
    options.codec = plot_.seed % 2 == 0 ? Codec::kLossless : Codec::kRaw;
    options.reserve_bytes = 0;
    options.queue_bytes_max = 1000 + random_.Below(20'000);
    options.write_bytes_per_s = random_.OneIn(3) ? 5000 : 0;
    options.half_life_s = 100;
    options.now_ns = [this] { return now_ns_; };
    return options;
  }

  void DoOne(Person* person) {
    const std::vector<Object>& objects = objects_.at(person->options().fingerprint);
    const Object& object = objects[random_.Below(objects.size())];
    switch (random_.Below(8)) {
      case 0:
      case 1:
      case 2:
        Write(person, object);
        break;
      case 3:
        person->store().Touch(NameOf(object.header));
        break;
      case 4:
        if (random_.OneIn(5)) person->store().Remove(NameOf(object.header));
        break;
      case 5:
        Advance(static_cast<double>(random_.Below(100)) / 10);
        break;
      default:
        Read(person, object);
    }
    for (uint64_t steps = random_.Below(4); steps > 0; --steps) Step(person);
  }

  void Write(Person* person, const Object& object) {
    const ObjectName name = NameOf(object.header);
    if (person->store().Write(object.header, Shared(object.bytes))) person->pending.insert(name);
  }

  void Read(Person* person, const Object& object) {
    const Result<Bytes> bytes = person->store().Read(NameOf(object.header));
    if (bytes) {
      EXPECT_EQ(*bytes, object.bytes);
    } else if (!plot_.faults && !plot_.damage) {
      EXPECT_EQ(bytes.error().code, ErrorCode::kNotFound) << bytes.error().message;
    }
  }

  void Step(Person* person) {
    const uint64_t written = person->store().stats().written;
    person->store().Step();
    Hear(person);
    // Two processes notice each other's files by scans only, so together they may exceed the
    // budget.
    const bool alone = plot_.processes == 1;
    if (alone && person->store().stats().written > written) {
      EXPECT_LE(machine_->bytes(), budget_);
    }
  }

  void Hear(Person* person) {
    const DiskStore::Events events = person->store().TakeEvents();
    for (const ObjectHeader& header : events.found) {
      const std::vector<Object>& objects = objects_.at(person->options().fingerprint);
      const auto same = std::find_if(objects.begin(), objects.end(), [&](const Object& object) {
        return object.header.tokens == header.tokens && NameOf(object.header) == NameOf(header);
      });
      EXPECT_NE(same, objects.end());
      person->held.insert(NameOf(header));
    }
    for (const auto& [name, bytes] : events.written) {
      person->pending.erase(name);
      person->held.insert(name);
      person->written.insert(name);
    }
    for (const ObjectName& name : events.failed) person->pending.erase(name);
    for (const ObjectName& name : events.refused) person->pending.erase(name);
    EXPECT_TRUE(events.vanished.empty()) << "nobody removes folders here";
    for (const ObjectName& name : events.gone) {
      EXPECT_EQ(person->held.erase(name), 1u);
      person->written.erase(name);
    }
  }

  void Advance(double seconds) {
    now_ns_ += static_cast<int64_t>(seconds * static_cast<double>(kSecondNs));
    machine_->SetNow(now_ns_);
  }

  void GoWrong(Person* person) {
    static constexpr ErrorCode kCodes[] = {ErrorCode::kInternal, ErrorCode::kNoSpace,
                                           ErrorCode::kUnavailable};
    // An unreadable folder of another model is not counted, so it would exceed the budget.
    const ErrorCode code = kCodes[random_.Below(plot_.two_models ? 2 : 3)];
    switch (random_.Below(7)) {
      case 0:
      case 1:
      case 2:
        person->fs().Fail(1 + random_.Below(30), code);
        break;
      case 3:
        person->fs().ClearFaults();
        break;
      case 4:
        machine_->SetCapacity(random_.OneIn(2) ? uint64_t{1} << 40 : random_.Below(2 * budget_));
        break;
      case 5:
        person->fs().KillAt(1 + random_.Below(20));
        for (int i = 0; i < 10; ++i) person->store().Step();
        person->fs().Kill();
        person->MoveTo(machine_->AnotherProcess());
        break;
      default:
        Crash();
    }
  }

  void Crash() {
    machine_ = machine_->Crash(random_.Below(1'000'000));
    for (const auto& person : people_) {
      const NameSet written = person->written;
      person->MoveTo(machine_->AnotherProcess());
      LookFor(person.get(), written);
    }
  }

  // Objects that were on the device are still there, except those evicted since.
  void LookFor(Person* person, const NameSet& names) {
    if (plot_.damage || plot_.processes > 1) return;
    person->store().Step();
    const uint64_t evicted = person->store().stats().evicted;
    Hear(person);
    uint64_t missing = 0;
    for (const ObjectName& name : names) missing += person->held.contains(name) ? 0 : 1;
    EXPECT_LE(missing, evicted);
  }

  void Damage() {
    const std::vector<std::string> files = machine_->Files();
    if (files.empty()) return;
    const std::string& path = files[random_.Below(files.size())];
    const uint64_t bytes = machine_->Stat(path)->bytes;
    if (bytes == 0) return;
    switch (random_.Below(3)) {
      case 0:
        machine_->Truncate(path, random_.Below(bytes));
        break;
      case 1:
        machine_->FlipBit(path, random_.Below(8 * bytes));
        break;
      default:
        // Most fields of the front are there.
        machine_->FlipBit(path, random_.Below(8 * std::min<uint64_t>(bytes, 256)));
    }
  }

  // After the failures have ended, all requested work is done, and the budget holds.
  void End() {
    machine_->SetCapacity(uint64_t{1} << 40);
    for (const auto& person : people_) person->fs().ClearFaults();
    // Longer than a temporary file of a process that is gone may stay.
    for (int i = 0; i < 100; ++i) {
      Advance(40);
      for (const auto& person : people_) {
        person->stepped().Settle();
        Hear(person.get());
      }
    }
    for (const auto& person : people_) {
      EXPECT_TRUE(person->pending.empty());
      EXPECT_EQ(person->store().stats().unsynced_bytes, 0u);
      // It notices a file truncated behind its back when it scans again.
      EXPECT_GE(person->store().stats().bytes, machine_->bytes());
      if (!plot_.damage) {
        EXPECT_EQ(person->store().stats().bytes, machine_->bytes());
      }
      if (!plot_.damage) {
        EXPECT_EQ(person->store().stats().corrupt, 0u);
      }
    }
    EXPECT_LE(machine_->bytes(), budget_);
    for (const auto& person : people_) {
      for (const Object& object : objects_.at(person->options().fingerprint)) {
        const bool read = person->store().Read(NameOf(object.header)).has_value();
        // After damage, only reading tells.
        if (!plot_.damage) {
          EXPECT_EQ(read, person->held.contains(NameOf(object.header)));
        }
        Read(person.get(), object);
      }
    }
  }

  const Plot plot_;
  Random random_;
  int64_t now_ns_ = test::kStartNs;
  uint64_t budget_ = 0;
  std::unique_ptr<MemoryFs> machine_;  // a process of its own, without faults
  std::map<Fingerprint, std::vector<Object>> objects_;
  std::vector<std::unique_ptr<Person>> people_;
};

void PlayMany(uint64_t seeds, Plot plot) {
  for (uint64_t seed = 1; seed <= test::Played(seeds); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    plot.seed = seed;
    Story(plot).Play(120);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(DiskStoreProperty, GivesBackWhatWasWrittenAndHoldsTheBudget) {
  PlayMany(1000, Plot{});
}

TEST(DiskStoreProperty, LosesNothingOnTheDeviceWhateverIsRefusedKilledOrLosesPower) {
  PlayMany(3000, Plot{.faults = true});
}

TEST(DiskStoreProperty, AcceptsNothingThatWasDamaged) {
  PlayMany(1000, Plot{.damage = true});
  PlayMany(1000, Plot{.faults = true, .damage = true});
}

TEST(DiskStoreProperty, SharesAFolderBetweenProcesses) {
  PlayMany(500, Plot{.processes = 2});
  PlayMany(500, Plot{.processes = 3, .faults = true, .damage = true});
}

TEST(DiskStoreProperty, SharesABudgetBetweenModels) {
  PlayMany(500, Plot{.processes = 2, .two_models = true});
  PlayMany(500, Plot{.processes = 2, .two_models = true, .faults = true, .damage = true});
}

}  // namespace
}  // namespace cairn
