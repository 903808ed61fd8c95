// Conversations saved to files and restored from them, with the scheduler on its thread as in a
// server.

#include "sched/slot_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "media/media_tokens.h"
#include "store/folder/object_folder.h"
#include "testing/base/memory_fs.h"
#include "testing/media/fake_media.h"
#include "testing/sched/scheduler_fixture.h"

namespace cairn::slot_files_test {
namespace {

using test::Bench;
using test::Join;
using test::kClasses;
using test::Slots;
using test::Text;
using test::TokensOf;

constexpr const char* kFolder = "/slots";
constexpr const char* kFile = "talk.bin";

struct Setting {
  FakeEngineOptions engine;
  ReuseMode reuse = ReuseMode::kLive;
  LineageId first_lineage = 1 << 20;
  uint64_t fingerprint = 7;
  bool stores = true;
  Codec codec = Codec::kRaw;
  bool takes_media = true;
};

Setting Of(MemoryClass memory_class, ReuseMode reuse = ReuseMode::kLive) {
  return {Bench::EngineOptions(memory_class), reuse};
}

// A server without HTTP.
class Life {
 public:
  Life(MemoryFs* fs, const Setting& setting)
      : engine_(setting.engine),
        cache_(CacheOptions{}, *MakePlacement("near-end,user-turns"), *MakeEviction("value"),
               setting.stores ? MakeRamStore() : MakeNoneStore()),
        scheduler_(&engine_, &cache_, &clock_, OptionsOf(setting, &media_)),
        files_(fs, &scheduler_.slots(), &clock_, FilesOf(setting, engine_)),
        thread_([this] { scheduler_.Run(); }) {}
  ~Life() {
    scheduler_.Stop();
    thread_.join();
    cache_.CheckInvariants();
  }

  std::shared_ptr<Generation> Submit(GenerationRequest request) {
    return *scheduler_.Submit(std::move(request));
  }
  static Bench::Answer Wait(Generation* generation) {
    Bench::Answer answer;
    using Kind = GenerationEvent::Kind;
    while (auto event = generation->Next(std::chrono::seconds(20))) {
      answer.text += event->text;
      answer.end = *event;
      if (event->kind == Kind::kDone || event->kind == Kind::kFailed) break;
    }
    EXPECT_EQ(answer.end.kind, Kind::kDone) << answer.end.error.message;
    return answer;
  }
  Bench::Answer Ask(GenerationRequest request) { return Wait(Submit(std::move(request)).get()); }

  SlotFiles& files() { return files_; }
  Scheduler& scheduler() { return scheduler_; }
  FakeEngine& engine() { return engine_; }

 private:
  static SchedulerOptions OptionsOf(const Setting& setting, EncodedMedia* media) {
    SchedulerOptions options;
    options.media = media;
    options.slots.first_lineage = setting.first_lineage;
    options.reuse = setting.reuse;
    return options;
  }
  static SlotFilesOptions FilesOf(const Setting& setting, const FakeEngine& engine) {
    return {kFolder,
            {{setting.fingerprint, 0}, {{0, 0}, {1, 111}, {2, 222}}},
            setting.codec,
            engine.traits().NeedsSnapshots(),
            setting.takes_media};
  }

  const SteadyClock clock_;
  FakeEngine engine_;
  CheckpointCache cache_;
  FakeMediaDecoder decoder_;
  FakeMediaEncoder encoder_;
  EncodedMedia media_{&decoder_, &encoder_, &clock_, {.on_encoded = [this] { scheduler_.Wake(); }}};
  Scheduler scheduler_;
  SlotFiles files_;
  std::thread thread_;
};

GenerationRequest Request(const Tokens& prompt, NamespaceId name_space = 0) {
  GenerationRequest request = Bench::Request(prompt, 20);
  request.name_space = name_space;
  return request;
}

// Two turns: a long one, and one that continues from its answer.
template <typename Server>
Tokens PlayTwoTurns(Server* server) {
  const auto ask = [&](const Tokens& prompt) {
    if constexpr (requires { server->Ask(Request(prompt)); }) {
      return server->Ask(Request(prompt)).text;
    } else {
      return server->Run(Request(prompt)).text;
    }
  };
  const Tokens first = Text(1000, 'H');
  const Tokens second = Join(Join(first, TokensOf(ask(first))), Text(300, 'u'));
  return Join(second, TokensOf(ask(second)));
}

class SlotFilesTest : public testing::Test {
 protected:
  SlotFilesTest() { EXPECT_TRUE(fs_.MakeFolders(kFolder).has_value()); }

  std::string PathOf(const std::string& file) { return std::string(kFolder) + "/" + file; }
  Bytes Content() { return *fs_.Read(PathOf(kFile), 0, 1 << 30); }

  static SlotFiles::Done Good(const Result<SlotFiles::Done>& done) {
    EXPECT_TRUE(done.has_value()) << done.error().message;
    return done.value_or(SlotFiles::Done{});
  }
  static void ExpectWrong(const Result<SlotFiles::Done>& done, const std::string& why) {
    ASSERT_FALSE(done.has_value());
    EXPECT_EQ(done.error().code, ErrorCode::kInvalidArgument) << done.error().message;
    EXPECT_NE(done.error().message.find(why), std::string::npos) << done.error().message;
  }
  // Plays two turns and saves them. Returns the slot's tokens, without the last sampled one.
  Tokens SaveTwoTurns(const Setting& setting) {
    Life life(&fs_, setting);
    const Tokens held = PlayTwoTurns(&life);
    const SlotFiles::Done saved = Good(life.files().Save(0, 0, kFile));
    EXPECT_EQ(saved.tokens, held.size() - 1);
    EXPECT_EQ(saved.bytes, fs_.Stat(PathOf(kFile))->bytes);
    return held;
  }
  static Setting Later(Setting setting) {
    setting.first_lineage *= 2;
    return setting;
  }

  MemoryFs fs_;
};

TEST_F(SlotFilesTest, AskForTheSlotBeforeTheyReadAFile) {
  Life life(&fs_, Of(MemoryClass::kHybrid));
  life.Ask(Bench::Request(Text(300, 'a')));
  ASSERT_TRUE(life.files().Save(0, 0, kFile));
  const uint64_t reads = fs_.calls(FsCall::kRead);
  const auto restored = life.files().Restore(99, 0, kFile);
  ASSERT_FALSE(restored.has_value());
  EXPECT_EQ(restored.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(fs_.calls(FsCall::kRead), reads);
}

TEST_F(SlotFilesTest, RemoveWhatAKilledSaveLeftBehind) {
  constexpr int64_t kMinuteNs = int64_t{60} * 1'000'000'000;
  Life life(&fs_, Of(MemoryClass::kHybrid));
  fs_.SetNow(1000 * kMinuteNs);
  fs_.Put(PathOf(".tmp-12-1"), Bytes(100));
  fs_.Put(PathOf(kFile), Bytes(100));
  fs_.SetNow(1050 * kMinuteNs);
  fs_.Put(PathOf(".tmp-13-1"), Bytes(100));
  fs_.SetNow(1070 * kMinuteNs);
  life.files().RemoveLeftovers(fs_.now_ns());
  auto names = fs_.List(kFolder);
  ASSERT_TRUE(names.has_value());
  std::sort(names->begin(), names->end());
  EXPECT_EQ(*names, (std::vector<std::string>{".tmp-13-1", kFile}));
}

std::vector<Setting> AllSettings() {
  std::vector<Setting> settings;
  for (const MemoryClass memory_class : kClasses) settings.push_back(Of(memory_class));
  for (const MemoryClass memory_class : {MemoryClass::kHybrid, MemoryClass::kAttention}) {
    settings.push_back(Of(memory_class));
    settings.back().engine.segments = false;
    settings.back().codec = Codec::kLossless;
  }
  return settings;
}

TEST_F(SlotFilesTest, TheNextTurnInAFreshServerReadsItsMessageAlone) {
  for (const Setting& setting : AllSettings()) {
    SCOPED_TRACE(MemoryClassName(setting.engine.memory_class));
    const Tokens held = SaveTwoTurns(setting);
    Life life(&fs_, Later(setting));
    const SlotFiles::Done restored = Good(life.files().Restore(0, 0, kFile));
    EXPECT_EQ(restored.tokens, held.size() - 1);
    EXPECT_EQ(restored.bytes, fs_.Stat(PathOf(kFile))->bytes);
    EXPECT_EQ(life.scheduler().stats().slots[0].tokens, held.size() - 1);
    const Tokens next = Join(held, Text(50, 'n'));
    const Bench::Answer answer = life.Ask(Request(next));
    EXPECT_EQ(answer.end.cost.prefill_tokens(), 51u) << "and the answer's last token";
    // Without a restart the answer is the same.
    Bench uninterrupted(setting.engine, {});
    PlayTwoTurns(&uninterrupted);
    EXPECT_EQ(answer.text, uninterrupted.Run(Request(next)).text);
  }
}

Setting OfKeptWindow(size_t window_tokens, ReuseMode reuse) {
  Setting setting = Of(MemoryClass::kAttention, reuse);
  setting.engine.segments = false;
  setting.engine.kept_window_tokens = window_tokens;
  return setting;
}

TEST_F(SlotFilesTest, AWindowThatIsKeptWholeComesBackAtTheConversationsEnd) {
  const Setting setting = OfKeptWindow(96, ReuseMode::kLive);
  const Tokens held = SaveTwoTurns(setting);
  Life life(&fs_, Later(setting));
  EXPECT_EQ(Good(life.files().Restore(0, 0, kFile)).tokens, held.size() - 1);
  const Bench::Answer answer = life.Ask(Request(Join(held, Text(50, 'n'))));
  EXPECT_EQ(answer.end.cost.prefill_tokens(), 51u) << "and the answer's last token";
  // An edit far before the end needs rows that are not in the file.
  EXPECT_EQ(life.Ask(Request(Text(600, 'H'))).end.cost.reused_tokens, 0u);
}

TEST_F(SlotFilesTest, AreRefusedWhereTheyWouldNotGoOnExactly) {
  const Setting exact = OfKeptWindow(96, ReuseMode::kExact);
  {
    Life life(&fs_, exact);
    PlayTwoTurns(&life);
    const auto saved = life.files().Save(0, 0, kFile);
    ASSERT_FALSE(saved.has_value());
    EXPECT_EQ(saved.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(saved.error().message.find("--swa-full"), std::string::npos);
  }
  SaveTwoTurns(OfKeptWindow(96, ReuseMode::kLive));
  Life life(&fs_, Later(exact));
  const auto restored = life.files().Restore(0, 0, kFile);
  ASSERT_FALSE(restored.has_value());
  EXPECT_EQ(restored.error().code, ErrorCode::kUnsupported);
  EXPECT_TRUE(life.scheduler().stats().slots[0].tokens == 0);
}

TEST_F(SlotFilesTest, AnEditOfAnEarlierMessageFindsItsCheckpointsToo) {
  for (const Setting& setting : AllSettings()) {
    SCOPED_TRACE(MemoryClassName(setting.engine.memory_class));
    const Tokens held = SaveTwoTurns(setting);
    Tokens edited = held;
    edited.resize(990);
    edited = Join(edited, Text(200, 'e'));
    Life life(&fs_, Later(setting));
    Good(life.files().Restore(0, 0, kFile));
    const Bench::Answer answer = life.Ask(Request(edited));
    Bench uninterrupted(setting.engine, {});
    PlayTwoTurns(&uninterrupted);
    const Bench::Answer as_ever = uninterrupted.Run(Request(edited));
    EXPECT_GT(as_ever.end.cost.reused_tokens, 400u);
    EXPECT_EQ(answer.end.cost.reused_tokens, as_ever.end.cost.reused_tokens);
    EXPECT_EQ(answer.text, as_ever.text);
  }
}

TEST_F(SlotFilesTest, ThePromptThatWasReadLastIsNotReadAgain) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    const Tokens prompt = Text(1000, 'H');
    std::string before;
    {
      Life life(&fs_, Of(memory_class));
      before = life.Ask(Request(prompt)).text;
      Good(life.files().Save(0, 0, kFile));
    }
    Life life(&fs_, Later(Of(memory_class)));
    Good(life.files().Restore(0, 0, kFile));
    const Bench::Answer again = life.Ask(Request(prompt));
    EXPECT_EQ(again.end.cost.prefill_tokens(), 0u);
    EXPECT_EQ(again.text, before);
  }
}

TEST_F(SlotFilesTest, ExactAnswersAreAColdRunsAfterwardsToo) {
  for (Setting setting : AllSettings()) {
    SCOPED_TRACE(MemoryClassName(setting.engine.memory_class));
    setting.reuse = ReuseMode::kExact;
    const Tokens held = SaveTwoTurns(setting);
    const Tokens next = Join(held, Text(50, 'n'));
    Life life(&fs_, Later(setting));
    Good(life.files().Restore(0, 0, kFile));
    const Bench::Answer answer = life.Ask(Request(next));
    EXPECT_LE(answer.end.cost.prefill_tokens(), 50 + 20 + 64u);
    Bench cold(setting.engine, {});
    EXPECT_EQ(answer.text, cold.Run(Request(next)).text);
  }
}

TEST_F(SlotFilesTest, AConversationGoesOnWhereNothingIsStoredInMemory) {
  Setting setting = Of(MemoryClass::kHybrid);
  setting.stores = false;
  const Tokens held = SaveTwoTurns(setting);
  Life life(&fs_, Later(setting));
  Good(life.files().Restore(0, 0, kFile));
  EXPECT_EQ(life.Ask(Request(Join(held, Text(50, 'n')))).end.cost.prefill_tokens(), 51u);
}

TEST_F(SlotFilesTest, ASavedSlotIsAsItWasAndItsFileCanBeRestoredWhileItHasGoneOn) {
  for (const Setting& setting : AllSettings()) {
    SCOPED_TRACE(MemoryClassName(setting.engine.memory_class));
    Life life(&fs_, setting);
    const Tokens held = PlayTwoTurns(&life);
    Good(life.files().Save(0, 0, kFile));
    const Tokens next = Join(held, Text(50, 'n'));
    const Bench::Answer gone_on = life.Ask(Request(next));
    EXPECT_EQ(gone_on.end.cost.prefill_tokens(), 51u);
    Good(life.files().Restore(0, 0, kFile));
    const Bench::Answer again = life.Ask(Request(next));
    EXPECT_LE(again.end.cost.prefill_tokens(), 51u);
    EXPECT_EQ(again.text, gone_on.text);
  }
}

TEST_F(SlotFilesTest, WhatTheSlotHeldBeforeIsNotLost) {
  for (const Setting& setting : AllSettings()) {
    SCOPED_TRACE(MemoryClassName(setting.engine.memory_class));
    SaveTwoTurns(setting);
    Life life(&fs_, Later(setting));
    const Tokens other = Text(900, 'o');
    const std::string said = life.Ask(Request(other)).text;
    Good(life.files().Restore(0, 0, kFile));
    const Tokens next = Join(Join(other, TokensOf(said)), Text(50, 'n'));
    EXPECT_LE(life.Ask(Request(next)).end.cost.prefill_tokens(), 50 + 64u);
  }
}

TEST_F(SlotFilesTest, OtherUnusedSlotsMakeRoom) {
  Setting setting{Slots(2, MemoryClass::kHybrid)};
  SaveTwoTurns(setting);
  setting.engine.cells = 5000;
  Life life(&fs_, Later(setting));
  GenerationRequest other = Request(Text(3900, 'o'));
  other.slot = 1;
  life.Ask(other);
  Good(life.files().Restore(0, 0, kFile));
  EXPECT_EQ(life.scheduler().stats().slots[1].tokens, 0u);
}

TEST_F(SlotFilesTest, AConversationIsItsClientsAlone) {
  Life life(&fs_, Of(MemoryClass::kHybrid));
  life.Ask(Request(Text(1000, 'H'), 1));
  ExpectWrong(life.files().Save(0, 2, kFile), "another API key");
  ExpectWrong(life.files().Save(0, 0, kFile), "another API key");
  Good(life.files().Save(0, 1, kFile));
  ExpectWrong(life.files().Restore(0, 2, kFile), "another API key");
  ExpectWrong(life.files().Restore(0, 0, kFile), "another API key");
  Good(life.files().Restore(0, 1, kFile));
  EXPECT_EQ(life.Ask(Request(Text(1000, 'H'), 2)).end.cost.reused_tokens, 0u);
}

TEST_F(SlotFilesTest, AnEmptySlotIsNotSavedOverAGoodFile) {
  SaveTwoTurns(Of(MemoryClass::kHybrid));
  const Bytes before = Content();
  Life life(&fs_, Of(MemoryClass::kHybrid));
  ExpectWrong(life.files().Save(0, 0, kFile), "slot 0 is empty; there is nothing to save");
  ExpectWrong(life.files().Save(9, 0, kFile), "there is no slot 9");
  ExpectWrong(life.files().Restore(9, 0, kFile), "there is no slot 9");
  EXPECT_EQ(Content(), before);
}

TEST_F(SlotFilesTest, ABusySlotIsLeftAlone) {
  SaveTwoTurns(Of(MemoryClass::kHybrid));
  Life life(&fs_, Of(MemoryClass::kHybrid));
  GenerationRequest long_one = Request(Text(100));
  long_one.params.tokens_max = 1'000'000;
  long_one.params.ignore_end = true;
  const auto running = life.Submit(long_one);
  ASSERT_TRUE(running->Next(std::chrono::seconds(20)).has_value());
  const auto saved = life.files().Save(0, 0, "other.bin");
  const auto restored = life.files().Restore(0, 0, kFile);
  running->Cancel();
  ASSERT_FALSE(saved.has_value());
  EXPECT_EQ(saved.error().code, ErrorCode::kUnavailable);
  ASSERT_FALSE(restored.has_value());
  EXPECT_EQ(restored.error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(fs_.Stat(PathOf("other.bin")).has_value());
}

TEST_F(SlotFilesTest, ASlotStaysAsItIsWhileItIsWrittenAndWhoeverWantsItWaits) {
  const Setting setting = Of(MemoryClass::kHybrid);
  const Tokens held = SaveTwoTurns(setting);
  const Bytes undisturbed = Content();
  std::shared_ptr<Generation> other;
  {
    Life life(&fs_, setting);
    PlayTwoTurns(&life);
    Result<SlotFiles::Done> second;
    fs_.OnCall([&](FsCall call, const std::string&) {
      if (call != FsCall::kAppend || other != nullptr) return;
      other = life.Submit(Request(Text(700, 'o')));
      second = life.files().Save(0, 0, "second.bin");
    });
    Good(life.files().Save(0, 0, kFile));
    fs_.OnCall({});
    ASSERT_FALSE(second.has_value());
    EXPECT_NE(second.error().message.find("being saved"), std::string::npos);
    ASSERT_NE(other, nullptr);
    EXPECT_EQ(Life::Wait(other.get()).end.cost.prompt_tokens, 700u);
  }
  EXPECT_EQ(Content(), undisturbed);
}

TEST_F(SlotFilesTest, AServerThatStopsDoesNotWaitForAFile) {
  auto life = std::make_unique<Life>(&fs_, Of(MemoryClass::kHybrid));
  PlayTwoTurns(life.get());
  bool stopped = false;
  fs_.OnCall([&](FsCall call, const std::string&) {
    if (call == FsCall::kAppend && !std::exchange(stopped, true)) life->scheduler().Stop();
  });
  const auto saved = life->files().Save(0, 0, kFile);
  fs_.OnCall({});
  ASSERT_FALSE(saved.has_value());
  EXPECT_EQ(saved.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(fs_.Files().empty());
}

TEST_F(SlotFilesTest, WhatKeepsAFileFromBeingWrittenIsSaidAndTheOldOneStays) {
  SaveTwoTurns(Of(MemoryClass::kHybrid));
  const Bytes before = Content();
  Life life(&fs_, Of(MemoryClass::kHybrid));
  const Tokens held = PlayTwoTurns(&life);
  for (const FsCall call : {FsCall::kCreate, FsCall::kAppend, FsCall::kSync, FsCall::kRename}) {
    fs_.Fail(call, 1, ErrorCode::kNoSpace);
    const auto full = life.files().Save(0, 0, kFile);
    ASSERT_FALSE(full.has_value());
    EXPECT_EQ(full.error().code, ErrorCode::kNoSpace);
    fs_.Fail(call, 1, ErrorCode::kUnavailable);
    const auto refused = life.files().Save(0, 0, kFile);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::kInternal);
    EXPECT_NE(refused.error().message.find("could not be saved: \"/slots/"), std::string::npos);
    EXPECT_EQ(Content(), before);
    EXPECT_EQ(fs_.Files().size(), 1u);
  }
  EXPECT_EQ(life.Ask(Request(Join(held, Text(50, 'n')))).end.cost.prefill_tokens(), 51u);
}

TEST_F(SlotFilesTest, ForeignFilesAreRefusedAndSaidToBe) {
  SaveTwoTurns(Of(MemoryClass::kHybrid));
  const auto put = [&](const std::string& text) {
    fs_.Put(PathOf("bad.bin"), {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  };
  Setting setting = Later(Of(MemoryClass::kHybrid));
  {
    Life life(&fs_, setting);
    ExpectWrong(life.files().Restore(0, 0, "none.bin"), "there is no file \"none.bin\"");
    put("ggsq and so on, and so on");
    ExpectWrong(life.files().Restore(0, 0, "bad.bin"), "\"bad.bin\" is no file that cairn");
    put("cairn export 2\nxxxxxxxx");
    ExpectWrong(life.files().Restore(0, 0, "bad.bin"), "another version of cairn");
    put(std::string("cairn export 1\n") + std::string(8, '\0'));
    ExpectWrong(life.files().Restore(0, 0, "bad.bin"), "it holds no conversation");
  }
  setting.fingerprint = 8;
  {
    Life life(&fs_, setting);
    ExpectWrong(life.files().Restore(0, 0, kFile), "was saved by another model");
  }
  setting.fingerprint = 7;
  setting.engine.context_tokens = 800;
  Life life(&fs_, setting);
  const auto too_long = life.files().Restore(0, 0, kFile);
  ASSERT_FALSE(too_long.has_value());
  EXPECT_EQ(too_long.error().code, ErrorCode::kTooLong);
  EXPECT_NE(too_long.error().message.find("--ctx-size"), std::string::npos);
}

TEST_F(SlotFilesTest, AnImageIsNotRestoredWhereNoneIsTaken) {
  Setting setting = Of(MemoryClass::kAttention);
  const auto image = FakeImage(40, 40, "cat");
  const Tokens tokens = MediaTokens(image->content, 40, 40);
  GenerationRequest request = Request(Join(Join(Text(100, 'H'), tokens), Text(50, 'u')));
  request.media.push_back({100, 0, image});
  {
    Life life(&fs_, setting);
    life.Ask(std::move(request));
    ASSERT_TRUE(life.files().Save(0, 0, kFile).has_value());
  }
  EXPECT_TRUE(Life(&fs_, setting).files().Restore(0, 0, kFile).has_value());
  setting.takes_media = false;
  Life life(&fs_, setting);
  const auto refused = life.files().Restore(0, 0, kFile);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(refused.error().message.find("without an mmproj"), std::string::npos);
}

// A file truncated anywhere, or with any bit flipped, is rejected, and the slot keeps its contents.
TEST_F(SlotFilesTest, EveryDefectIsFoundBeforeAnythingChanges) {
  SaveTwoTurns(Of(MemoryClass::kHybrid));
  const Bytes good = Content();
  Life life(&fs_, Later(Of(MemoryClass::kHybrid)));
  const Tokens other = Text(900, 'o');
  const std::string said = life.Ask(Request(other)).text;
  std::mt19937_64 random(1);
  for (int i = 0; i < 300; ++i) {
    Bytes bytes = good;
    if (i % 3 == 0) {
      bytes.resize(random() % bytes.size());
    } else if (i % 3 == 1) {
      bytes[random() % bytes.size()] ^= static_cast<uint8_t>(1U << (random() % 8));
    } else {
      bytes.resize(bytes.size() + 1 + random() % 100, 3);
    }
    fs_.Put(PathOf(kFile), bytes);
    ExpectWrong(life.files().Restore(0, 0, kFile), kFile);
  }
  const Tokens next = Join(Join(other, TokensOf(said)), Text(50, 'n'));
  EXPECT_EQ(life.Ask(Request(next)).end.cost.prefill_tokens(), 51u);
}

TEST_F(SlotFilesTest, AStateThatIsRefusedLeavesTheSlotEmptyAndTheServerAtWork) {
  for (const Setting& setting : AllSettings()) {
    SCOPED_TRACE(MemoryClassName(setting.engine.memory_class));
    SaveTwoTurns(setting);
    Life life(&fs_, Later(setting));
    life.engine().RefuseNextStates(1);
    ExpectWrong(life.files().Restore(0, 0, kFile), "were refused");
    EXPECT_EQ(life.scheduler().stats().slots[0].tokens, 0u);
    EXPECT_EQ(life.Ask(Request(Text(100))).end.cost.prefill_tokens(), 100u);
    Good(life.files().Restore(0, 0, kFile));
  }
}

TEST_F(SlotFilesTest, ASlotStoredWholeIsNotSetWhereSegmentsAreKept) {
  Setting setting = Of(MemoryClass::kHybrid);
  setting.engine.segments = false;
  SaveTwoTurns(setting);
  {
    Life life(&fs_, Of(MemoryClass::kHybrid));
    ExpectWrong(life.files().Restore(0, 0, kFile), "--parallel and --reuse");
    PlayTwoTurns(&life);
    Good(life.files().Save(0, 0, kFile));
  }
  Life life(&fs_, setting);
  ExpectWrong(life.files().Restore(0, 0, kFile), "--parallel and --reuse");
}

// So `cairn cache import` makes the same objects of it that a server would have saved to disk.
TEST_F(SlotFilesTest, AFileHoldsThePathOfADiskCache) {
  const Tokens held = SaveTwoTurns(Of(MemoryClass::kHybrid));
  ObjectFolder folder(&fs_, "/cache");
  auto reader = ExportReader::Open(&fs_, PathOf(kFile), kFile);
  ASSERT_TRUE(reader.has_value());
  ObjectName last;
  for (auto file = reader->Next(); file && !file->empty(); file = reader->Next()) {
    const auto header = CheckObject(*file);
    ASSERT_TRUE(header.has_value()) << header.error().message;
    ASSERT_TRUE(folder.WriteFile(*header, *file).has_value());
    last = NameOf(*header);
  }
  const auto contents = folder.Scan({});
  ASSERT_TRUE(contents.has_value());
  const FoundObject* const end = contents->Find(contents->models.at(0), last);
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(end->end, held.size() - 1);
  const auto path = folder.FindPath(*contents, *end);
  ASSERT_TRUE(path.has_value());
  EXPECT_TRUE(path->whole) << path->gap;
  EXPECT_GE(folder.SnapshotsOn(*contents, *end, *path)->size(), 4u);
}

TEST(SlotFileNames, LeadToNoOtherFolder) {
  for (const char* good : {"talk.bin", "a", "A b-c_d.1", "\xC3\xBC.bin", "~", "-rf"}) {
    EXPECT_TRUE(SlotFiles::IsFileName(good)) << good;
  }
  for (const char* bad : {"", ".", "..", "../x", "a/b", "/etc/passwd", "a\\b", "a..b", ".hidden",
                          "a.", " a", "a ", "C:x", "a*", "a?", "a\nb", "a\x7f", "\xFF", "a|b"}) {
    EXPECT_FALSE(SlotFiles::IsFileName(bad)) << bad;
  }
  EXPECT_FALSE(SlotFiles::IsFileName(std::string("a\0b", 3)));
  EXPECT_FALSE(SlotFiles::IsFileName(std::string(201, 'a')));
}

}  // namespace
}  // namespace cairn::slot_files_test
