#include "fleet/router/children/model_set.h"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <map>
#include <system_error>
#include <thread>

namespace cairn::model_set_test {
namespace {

constexpr std::chrono::seconds kPatience(60);

template <typename Condition>
void WaitUntil(const Condition& condition) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// Plays the processes: they load, exit and die when the test says so.
class FakeChildren {
 public:
  std::unique_ptr<Child> Start(const ModelEntry& model, ChildCallbacks callbacks) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (starts_ended_) {
      throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    }
    started_ += model.name + " ";
    auto shared = std::make_shared<Shared>();
    shared->callbacks = std::move(callbacks);
    children_[model.name] = shared;
    return std::make_unique<FakeChild>(this, model.name, shared);
  }

  // From now on the system has no more threads, or has some again.
  void EndStarts(bool ended) {
    const std::lock_guard<std::mutex> lock(mutex_);
    starts_ended_ = ended;
  }
  std::string started() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return started_;
  }
  std::string signals() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return signals_;
  }
  void WaitForStarts(const std::string& names) {
    WaitUntil([&] { return started() == names; });
  }
  void Ready(const std::string& name, int port = 1) { Of(name)->callbacks.on_ready(port); }
  void SayLine(const std::string& name, const std::string& line) {
    Of(name)->callbacks.on_line(line);
  }
  void End(const std::string& name, int code = 0) {
    Of(name)->callbacks.on_end({code, "it exited with code " + std::to_string(code)});
  }

 private:
  struct Shared {
    ChildCallbacks callbacks;
  };
  class FakeChild final : public Child {
   public:
    FakeChild(FakeChildren* all, std::string name, std::shared_ptr<Shared> shared)
        : all_(all), name_(std::move(name)), shared_(std::move(shared)) {}
    void Signal(int number) override {
      const std::lock_guard<std::mutex> lock(all_->mutex_);
      all_->signals_ += name_ + ":" + std::to_string(number) + " ";
    }

   private:
    FakeChildren* const all_;
    const std::string name_;
    const std::shared_ptr<Shared> shared_;
  };

  std::shared_ptr<Shared> Of(const std::string& name) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return children_.at(name);
  }

  std::mutex mutex_;
  bool starts_ended_ = false;
  std::string started_;
  std::string signals_;
  std::map<std::string, std::shared_ptr<Shared>> children_;
};

// Only a test that says so moves the time.
class SharedClock final : public Clock {
 public:
  double NowMs() const override { return now_ms_.load(); }
  void Advance(double ms) { now_ms_ = now_ms_ + ms; }

 private:
  std::atomic<double> now_ms_ = 1000;
};

class ModelSetTest : public ::testing::Test {
 protected:
  // Makes models "a", "b", "c".
  void Make(size_t models_max, const std::function<void(std::vector<ModelEntry>*)>& change = {}) {
    ModelSetOptions options;
    for (const char* name : {"a", "b", "c"}) {
      ModelEntry entry;
      entry.name = name;
      entry.aliases = {std::string("alias-") + name};
      options.models.push_back(entry);
    }
    if (change) change(&options.models);
    if (models_max > 0) options.limits.models = models_max;
    options.clock = &clock_;
    options.start = [this](const ModelEntry& model, size_t /*running*/, ChildCallbacks callbacks) {
      return children_.Start(model, std::move(callbacks));
    };
    set_ = std::make_unique<ModelSet>(std::move(options));
    set_->Begin();
  }

  using Lease = std::shared_ptr<ModelLease>;
  // Asks for a model on a thread of its own.
  class Asking {
   public:
    Asking(ModelSet* set, const std::string& name, bool autoload = true) {
      thread_ = std::thread([this, set, name, autoload] {
        auto used = set->Use(set->Find(name), {autoload, true}, [this] { return gone_.load(); });
        if (used) {
          lease_ = std::move(*used);
        } else {
          error_ = used.error();
        }
        done_ = true;
      });
    }
    ~Asking() {
      gone_ = true;
      thread_.join();
    }
    bool done() const { return done_; }
    void Go() { gone_ = true; }
    Lease Wait() {
      WaitUntil([this] { return done(); });
      return std::move(lease_);
    }
    Error WaitForError() {
      WaitUntil([this] { return done(); });
      EXPECT_EQ(lease_, nullptr);
      return error_;
    }

   private:
    std::atomic<bool> gone_ = false;
    std::atomic<bool> done_ = false;
    Lease lease_;
    Error error_;
    std::thread thread_;
  };

  Lease UseReady(const std::string& name) {
    auto used = set_->Use(set_->Find(name), {}, [] { return true; });
    EXPECT_TRUE(used.has_value()) << (used ? "" : used.error().message);
    return used.value_or(nullptr);
  }
  ModelStatus StatusOf(const std::string& name) {
    for (const ModelStatus& status : set_->List()) {
      if (status.entry->name == name) return status;
    }
    return {};
  }
  void LoadAndRelease(const std::string& name) {
    const std::string before = children_.started();
    Asking asking(set_.get(), name);
    children_.WaitForStarts(before + name + " ");
    children_.Ready(name);
    asking.Wait();
  }

  SharedClock clock_;
  FakeChildren children_;
  std::unique_ptr<ModelSet> set_;
};

TEST_F(ModelSetTest, StartsAModelForItsFirstRequestAndOnce) {
  Make(4);
  EXPECT_EQ(children_.started(), "");
  Asking first(set_.get(), "b");
  Asking second(set_.get(), "alias-b");
  children_.WaitForStarts("b ");
  EXPECT_EQ(StatusOf("b").phase, ModelPhase::kLoading);
  children_.Ready("b", 4321);
  const Lease lease = first.Wait();
  EXPECT_EQ(lease->port(), 4321);
  EXPECT_EQ(lease->name(), "b");
  EXPECT_EQ(second.Wait()->port(), 4321);
  EXPECT_EQ(children_.started(), "b ");
}

TEST_F(ModelSetTest, FindsModelsByNameAndAlias) {
  Make(1);
  EXPECT_EQ(set_->Find("a")->name, "a");
  EXPECT_EQ(set_->Find("alias-c")->name, "c");
  EXPECT_EQ(set_->Find("d"), nullptr);
}

TEST_F(ModelSetTest, UnloadsTheLeastRecentlyUsedForAnother) {
  Make(2);
  LoadAndRelease("a");
  clock_.Advance(10);
  LoadAndRelease("b");
  clock_.Advance(10);
  UseReady("a");
  Asking asking(set_.get(), "c");
  WaitUntil([&] { return children_.signals() == "b:15 "; });
  EXPECT_EQ(children_.started(), "a b ");  // there is no place before b has ended
  children_.End("b");
  children_.WaitForStarts("a b c ");
  children_.Ready("c");
  asking.Wait();
  EXPECT_EQ(StatusOf("b").unloads, 1u);
  EXPECT_FALSE(StatusOf("b").failed);
}

TEST_F(ModelSetTest, LetsAnswersEndBeforeItUnloadsTheirModel) {
  Make(1);
  LoadAndRelease("a");
  Lease running = UseReady("a");
  Asking other(set_.get(), "b");
  WaitUntil([&] { return StatusOf("b").waiting == 1; });
  // A further request of the busy model waits behind the one of the other.
  Asking further(set_.get(), "a");
  WaitUntil([&] { return StatusOf("a").waiting == 1; });
  EXPECT_EQ(children_.signals(), "");
  running.reset();
  WaitUntil([&] { return children_.signals() == "a:15 "; });
  children_.End("a");
  children_.WaitForStarts("a b ");
  children_.Ready("b");
  other.Wait();
  WaitUntil([&] { return children_.signals() == "a:15 b:15 "; });
  children_.End("b");
  children_.WaitForStarts("a b a ");
  children_.Ready("a");
  EXPECT_NE(further.Wait(), nullptr);
}

TEST_F(ModelSetTest, AdmitsAgainWhenTheOtherModelsClientHasGone) {
  Make(1);
  LoadAndRelease("a");
  const Lease running = UseReady("a");
  Asking other(set_.get(), "b");
  WaitUntil([&] { return StatusOf("b").waiting == 1; });
  Asking further(set_.get(), "a");
  WaitUntil([&] { return StatusOf("a").waiting == 1; });
  other.Go();
  EXPECT_EQ(other.WaitForError().code, ErrorCode::kCancelled);
  EXPECT_NE(further.Wait(), nullptr);
  EXPECT_EQ(children_.started(), "a ");
}

TEST_F(ModelSetTest, SaysTheLastLinesOfAModelThatCannotBeLoaded) {
  Make(1);
  Asking asking(set_.get(), "a");
  children_.WaitForStarts("a ");
  children_.SayLine("a", "loading");
  children_.SayLine("a", "no such file");
  children_.End("a", 1);
  const Error error = asking.WaitForError();
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_EQ(error.message,
            "the model 'a' could not be loaded: it exited with code 1\nloading\nno such file");
  EXPECT_TRUE(StatusOf("a").failed);
  EXPECT_EQ(StatusOf("a").exit_code, 1);
}

TEST_F(ModelSetTest, AModelWhoseProcessCannotBeStartedHasFailed) {
  Make(1);
  children_.EndStarts(true);
  for (int i = 0; i < 3; ++i) {
    Asking asking(set_.get(), "a");
    const Error error = asking.WaitForError();
    EXPECT_EQ(error.code, ErrorCode::kUnavailable);
    EXPECT_NE(error.message.find("could not be started"), std::string::npos) << error.message;
  }
  EXPECT_TRUE(StatusOf("a").failed);
  EXPECT_EQ(StatusOf("a").phase, ModelPhase::kStopped);
  EXPECT_FALSE(set_->Unload(set_->Find("a")).has_value());
  set_->Reload();
  set_->Kill();
  // It is tried again after the pause, as one that could not be loaded.
  children_.EndStarts(false);
  clock_.Advance(1000);
  LoadAndRelease("a");
  EXPECT_FALSE(StatusOf("a").failed);
}

TEST_F(ModelSetTest, APlaceThatCouldNotBeTakenIsForTheModelsThatWaitForIt) {
  Make(1);
  LoadAndRelease("a");
  children_.EndStarts(true);
  Asking b(set_.get(), "b");
  WaitUntil([&] { return children_.signals() == "a:15 "; });
  Asking c(set_.get(), "c");
  WaitUntil([&] { return StatusOf("c").waiting == 1; });
  children_.End("a");
  EXPECT_EQ(b.WaitForError().code, ErrorCode::kUnavailable);
  EXPECT_EQ(c.WaitForError().code, ErrorCode::kUnavailable);
}

TEST_F(ModelSetTest, AProcessThatCannotBeStartedAgainLeavesItsModelFailed) {
  Make(1);
  LoadAndRelease("a");
  children_.EndStarts(true);
  children_.End("a", 1);
  WaitUntil([&] { return StatusOf("a").failed; });
  EXPECT_EQ(StatusOf("a").phase, ModelPhase::kStopped);
  EXPECT_FALSE(set_->Unload(set_->Find("a")).has_value());
}

TEST_F(ModelSetTest, TriesAFailedModelAgainOnlyAfterAPauseThatGrows) {
  Make(1);
  for (const double pause_ms : {1000.0, 2000.0, 4000.0}) {
    const std::string before = children_.started();
    Asking asking(set_.get(), "a");
    children_.WaitForStarts(before + "a ");
    children_.End("a", 1);
    asking.WaitForError();
    clock_.Advance(pause_ms - 1);
    EXPECT_EQ(Asking(set_.get(), "a").WaitForError().code, ErrorCode::kUnavailable);
    EXPECT_EQ(children_.started(), before + "a ");
    clock_.Advance(1);
  }
  // A person may try at once.
  const std::string before = children_.started();
  Asking asking(set_.get(), "a");
  children_.WaitForStarts(before + "a ");
  children_.End("a", 1);
  asking.WaitForError();
  EXPECT_TRUE(set_->Load(set_->Find("a")).has_value());
  children_.WaitForStarts(before + "a a ");
  children_.Ready("a");
  UseReady("a");
  EXPECT_FALSE(StatusOf("a").failed);
}

TEST_F(ModelSetTest, StartsADeadModelAgainAtOnce) {
  Make(1);
  LoadAndRelease("a");
  {
    const Lease lease = UseReady("a");
    children_.End("a", 137);
    children_.WaitForStarts("a a ");
    children_.Ready("a", 2);
  }
  EXPECT_EQ(UseReady("a")->port(), 2);
  EXPECT_EQ(StatusOf("a").deaths, 1u);
  EXPECT_EQ(StatusOf("a").in_use, 0u);
}

TEST_F(ModelSetTest, WaitsForTheEndOfAProcessThatHasBrokenAConnection) {
  Make(1);
  LoadAndRelease("a");
  UseReady("a")->Broken();
  Asking asking(set_.get(), "a");
  WaitUntil([&] { return StatusOf("a").waiting == 1; });
  EXPECT_FALSE(asking.done());
  children_.End("a", 137);
  children_.WaitForStarts("a a ");
  children_.Ready("a", 2);
  EXPECT_EQ(asking.Wait()->port(), 2);
  // One that lives after all is used again.
  UseReady("a")->Broken();
  Asking another(set_.get(), "a");
  clock_.Advance(1000);
  EXPECT_EQ(another.Wait()->port(), 2);
  EXPECT_EQ(children_.started(), "a a ");
}

TEST_F(ModelSetTest, GivesNobodyAProcessThatRefusesConnections) {
  Make(1);
  LoadAndRelease("a");
  {
    const Lease lease = UseReady("a");
    lease->Refused();
    EXPECT_TRUE(lease->was_refused());
  }
  Asking asking(set_.get(), "a");
  WaitUntil([&] { return StatusOf("a").waiting == 1; });
  EXPECT_EQ(children_.signals(), "");  // it ends by itself
  children_.End("a", 137);
  children_.WaitForStarts("a a ");
  children_.Ready("a", 2);
  EXPECT_EQ(asking.Wait()->port(), 2);
  EXPECT_EQ(StatusOf("a").deaths, 1u);
  EXPECT_EQ(StatusOf("a").unloads, 0u);
}

TEST_F(ModelSetTest, GivesUpOnAModelThatDiesAndNeverAnswers) {
  Make(1);
  LoadAndRelease("a");
  for (int death = 0; death < 2; ++death) {
    const std::string before = children_.started();
    children_.End("a", 139);
    children_.WaitForStarts(before + "a ");
    children_.Ready("a");
  }
  const std::string before = children_.started();
  children_.End("a", 139);
  EXPECT_TRUE(StatusOf("a").failed);
  EXPECT_NE(Asking(set_.get(), "a").WaitForError().message.find("3 times without an answer"),
            std::string::npos);
  EXPECT_EQ(children_.started(), before);
}

TEST_F(ModelSetTest, StartsAModelAgainHoweverOftenItDiesIfItAnswersInBetween) {
  Make(1);
  LoadAndRelease("a");
  for (int death = 0; death < 10; ++death) {
    UseReady("a")->Answered();
    const std::string before = children_.started();
    children_.End("a", 137);
    children_.WaitForStarts(before + "a ");
    children_.Ready("a");
  }
  EXPECT_EQ(StatusOf("a").deaths, 10u);
}

TEST_F(ModelSetTest, LoadsAndUnloadsOnRequest) {
  Make(1, [](std::vector<ModelEntry>* models) { (*models)[0].pinned = true; });
  const ModelEntry* const a = set_->Find("a");
  EXPECT_EQ(set_->Unload(a).error().message, "model is not running");
  EXPECT_TRUE(set_->Load(a).has_value());
  children_.WaitForStarts("a ");
  EXPECT_EQ(set_->Load(a).error().message, "model is already running");
  children_.Ready("a");
  EXPECT_EQ(set_->Loaded(), std::vector<const ModelEntry*>{a});
  Lease lease = UseReady("a");
  EXPECT_TRUE(set_->Unload(a).has_value());
  EXPECT_EQ(children_.signals(), "");
  lease.reset();
  EXPECT_EQ(children_.signals(), "a:15 ");
  children_.End("a");
  EXPECT_EQ(StatusOf("a").phase, ModelPhase::kStopped);
  EXPECT_TRUE(set_->Loaded().empty());
}

TEST_F(ModelSetTest, UnloadsALoadingModelAtOnce) {
  Make(1);
  Asking asking(set_.get(), "a");
  children_.WaitForStarts("a ");
  EXPECT_TRUE(set_->Unload(set_->Find("a")).has_value());
  EXPECT_EQ(children_.signals(), "a:15 ");
  EXPECT_NE(asking.WaitForError().message.find("was unloaded while it was loading"),
            std::string::npos);
  children_.End("a", 143);
  EXPECT_FALSE(StatusOf("a").failed);
}

TEST_F(ModelSetTest, UnloadsAModelThatIsRemovedAfterItsAnswers) {
  std::vector<ModelEntry> models;
  Make(2, [&](std::vector<ModelEntry>* made) { models = *made; });
  LoadAndRelease("a");
  LoadAndRelease("b");
  const ModelEntry* const removed = set_->Find("a");
  Lease lease = UseReady("a");
  Lease other = UseReady("b");
  Asking waits(set_.get(), "c");
  WaitUntil([this] { return StatusOf("c").waiting == 1; });
  models.erase(models.begin());  // "a"
  models.back().tags = {"new"};  // "c" is another one now
  models.emplace_back().name = "d";
  set_->SetModels(models);
  EXPECT_EQ(set_->Find("a"), nullptr);
  EXPECT_EQ(set_->Find("alias-a"), nullptr);
  EXPECT_EQ(removed->name, "a");
  EXPECT_EQ(set_->Use(removed, {}, [] { return true; }).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(set_->Load(removed).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(waits.WaitForError().message, "the model 'c' was removed");
  EXPECT_EQ(set_->Find("c")->tags, models[1].tags);
  std::string names;
  for (const ModelStatus& status : set_->List()) names += status.entry->name + " ";
  EXPECT_EQ(names, "b c d ");
  EXPECT_EQ(StatusOf("b").phase, ModelPhase::kReady);
  EXPECT_EQ(children_.signals(), "");
  other.reset();
  lease.reset();
  EXPECT_EQ(children_.signals(), "a:15 ");
  children_.End("a");
  LoadAndRelease("d");
  EXPECT_EQ(children_.started(), "a b d ");
}

TEST_F(ModelSetTest, StopsAModelThatIsRemovedWhileItLoads) {
  std::vector<ModelEntry> models;
  Make(2, [&](std::vector<ModelEntry>* made) { models = *made; });
  Asking waits(set_.get(), "c");
  children_.WaitForStarts("c ");
  models.pop_back();
  set_->SetModels(models);
  EXPECT_EQ(children_.signals(), "c:15 ");
  EXPECT_EQ(waits.WaitForError().message, "the model 'c' was removed");
  children_.End("c", 143);
  EXPECT_EQ(children_.started(), "c ");
}

TEST_F(ModelSetTest, SaysThatPinnedModelsTakeAllPlaces) {
  Make(1, [](std::vector<ModelEntry>* models) { (*models)[0].pinned = true; });
  LoadAndRelease("a");
  EXPECT_NE(Asking(set_.get(), "b").WaitForError().message.find("pinned models take"),
            std::string::npos);
  UseReady("a");
}

TEST_F(ModelSetTest, LoadsNothingByRequestsWhereThatIsOff) {
  Make(1);
  const Error error = Asking(set_.get(), "a", /*autoload=*/false).WaitForError();
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_NE(error.message.find("POST /models/load"), std::string::npos);
  EXPECT_EQ(children_.started(), "");
  EXPECT_TRUE(set_->Load(set_->Find("a")).has_value());
  Asking waits(set_.get(), "a", /*autoload=*/false);
  children_.WaitForStarts("a ");
  children_.Ready("a");
  EXPECT_NE(waits.Wait(), nullptr);
}

TEST_F(ModelSetTest, LoadsModelsAtTheStart) {
  Make(2, [](std::vector<ModelEntry>* models) { (*models)[1].load_on_startup = true; });
  children_.WaitForStarts("b ");
}

TEST_F(ModelSetTest, UnloadsAnIdleModelAfterItsTime) {
  Make(2, [](std::vector<ModelEntry>* models) { (*models)[0].idle_s_max = 60; });
  LoadAndRelease("a");
  LoadAndRelease("b");
  clock_.Advance(60'000);
  UseReady("b");
  WaitUntil([&] { return children_.signals() == "a:15 "; });
}

TEST_F(ModelSetTest, CountsNoLookAtAModelAsAUse) {
  Make(1, [](std::vector<ModelEntry>* models) { (*models)[0].idle_s_max = 60; });
  LoadAndRelease("a");
  clock_.Advance(60'000);
  for (const Lease& lease : set_->UseReady()) lease->Answered();
  WaitUntil([&] { return children_.signals() == "a:15 "; });
}

TEST_F(ModelSetTest, KillsAProcessThatDoesNotStop) {
  Make(1, [](std::vector<ModelEntry>* models) { (*models)[0].stop_timeout_s = 5; });
  LoadAndRelease("a");
  EXPECT_TRUE(set_->Unload(set_->Find("a")).has_value());
  clock_.Advance(5000);
  // Anything makes it look at the time again; the real clock needs nothing.
  EXPECT_TRUE(set_->Load(set_->Find("b")).has_value());
  WaitUntil([&] { return children_.signals() == "a:15 a:9 "; });
}

TEST_F(ModelSetTest, StopsAllAfterTheLastAnswer) {
  Make(2);
  LoadAndRelease("a");
  LoadAndRelease("b");
  Lease lease = UseReady("a");
  EXPECT_FALSE(set_->Drain(1));
  EXPECT_EQ(Asking(set_.get(), "a").WaitForError().code, ErrorCode::kUnavailable);
  EXPECT_EQ(Asking(set_.get(), "c").WaitForError().code, ErrorCode::kUnavailable);
  EXPECT_EQ(children_.signals(), "");
  lease.reset();
  EXPECT_TRUE(set_->Drain(60'000));
  std::thread stopping([this] { set_->StopAll(); });
  WaitUntil([&] { return children_.signals() == "a:15 b:15 "; });
  children_.End("a");
  children_.End("b");
  stopping.join();
}

TEST_F(ModelSetTest, HasEveryProcessLoadItsKeysAgainOnceItIsReady) {
  Make(2);
  LoadAndRelease("a");
  Asking asking(set_.get(), "b");
  children_.WaitForStarts("a b ");
  set_->Reload();
  EXPECT_EQ(children_.signals(), "a:1 ");
  children_.Ready("b");
  EXPECT_EQ(children_.signals(), "a:1 b:1 ");
}

}  // namespace
}  // namespace cairn::model_set_test
