#include "base/process/trace_events.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "testing/base/memory_fs.h"

namespace cairn::trace_events_test {
namespace {

constexpr TraceTrack kSlot{kTraceNumbersFree, kTraceNumbersFree + 1};

// Replaces numbers that differ from run to run with P.
std::string TextOf(const Fs& fs, const std::string& path) {
  const auto bytes = fs.Read(path, 0, SIZE_MAX);
  if (!bytes) return bytes.error().message;
  const std::string text(bytes->begin(), bytes->end());
  return std::regex_replace(
      text, std::regex("\"pid\":" + std::to_string(getpid()) + ",\"tid\":[0-9]+"), "P");
}

class TraceEventsTest : public testing::Test {
 protected:
  std::unique_ptr<TraceEvents> Open(TraceEventsOptions options = {}) {
    options.log = [this](LogLevel, std::string_view line) {
      const std::lock_guard lock(mutex_);
      said_.emplace_back(line);
    };
    auto opened = TraceEvents::Open(&fs_, "/events.json", &clock_, std::move(options));
    EXPECT_TRUE(opened.has_value()) << (opened ? "" : opened.error().message);
    return opened ? std::move(*opened) : nullptr;
  }
  std::string Text() const { return TextOf(fs_, "/events.json"); }

  MemoryFs fs_;
  ManualClock clock_;
  std::mutex mutex_;
  std::vector<std::string> said_;
};

TEST_F(TraceEventsTest, WritesALineAnEvent) {
  clock_.Advance(1000);
  const auto events = Open();
  events->NameThread("context");
  events->NameTrack(kSlot, "requests", "slot 1");
  clock_.Advance(0.5);
  {
    const std::array<size_t, 2> slots = {0, 3};
    TraceSpan span(events.get(), "decode");
    span.Add("tokens", 2).Add("slots", slots);
    clock_.Advance(0.25);
  }
  TraceArgs args;
  events->Span(kSlot, "answer", 1000.125, 1002, args.Add("end", "stop"));
  events->LooseSpan(kSlot.process, "queued", 7, 1000, 1000.001);
  events->Instant("given up");
  events->Counter("requests", TraceArgs().Add("running", 1).Add("waiting", 0));
  events->Flush();
  const std::string expected =
      "[\n"
      R"({"name":"process_name","ph":"M",P,"args":{"name":"cairn serve"}})"
      "\n"
      R"(,{"name":"thread_name","ph":"M",P,"args":{"name":"context"}})"
      "\n"
      R"(,{"name":"process_name","ph":"M","pid":5000000,"tid":5000001,"args":{"name":"requests"}})"
      "\n"
      R"(,{"name":"thread_name","ph":"M","pid":5000000,"tid":5000001,"args":{"name":"slot 1"}})"
      "\n"
      R"(,{"name":"decode","ph":"X","ts":500.000,"dur":250.000,P,)"
      R"("args":{"tokens":2,"slots":[0,3]}})"
      "\n"
      R"(,{"name":"answer","ph":"X","ts":125.000,"dur":1875.000,"pid":5000000,"tid":5000001,)"
      R"("args":{"end":"stop"}})"
      "\n"
      R"(,{"name":"queued","ph":"b","ts":0.000,"cat":"request","id":7,"pid":5000000,"tid":5000000})"
      "\n"
      R"(,{"name":"queued","ph":"e","ts":1.000,"cat":"request","id":7,"pid":5000000,"tid":5000000})"
      "\n"
      R"(,{"name":"given up","ph":"i","ts":750.000,"s":"t",P})"
      "\n"
      R"(,{"name":"requests","ph":"C","ts":750.000,P,"args":{"running":1,"waiting":0}})";
  EXPECT_EQ(Text(), expected);
  EXPECT_EQ(events->stats().written, 9u);
  EXPECT_EQ(events->stats().lost, 0u);
}

TEST_F(TraceEventsTest, EndsTheArrayWhenItEnds) {
  Open()->Instant("one");
  const std::string text = Text();
  EXPECT_TRUE(text.ends_with("\"s\":\"t\",P}\n]\n")) << text;
}

TEST_F(TraceEventsTest, ADroppedSpanIsNotWrittenAndAnEndedOneOnce) {
  auto events = Open();
  TraceSpan(events.get(), "nothing").Drop();
  {
    TraceSpan span(events.get(), "early");
    span.End();
    span.Add("late", 1);
  }
  events.reset();
  const std::string text = Text();
  EXPECT_EQ(text.find("nothing"), std::string::npos);
  EXPECT_EQ(text.find("late"), std::string::npos);
  EXPECT_EQ(text.find("early"), text.rfind("early"));
}

TEST(TraceSpan, IsNothingWhenNobodyWantsToKnow) {
  TraceSpan span(nullptr, "step");
  span.Add("tokens", 3);
  EXPECT_FALSE(span.on());
}

TEST_F(TraceEventsTest, TextsCannotEndAString) {
  EXPECT_EQ(TraceArgs().Add("a\"b", "c\\d\n\x01\xff").json(),
            "\"a\\\"b\":\"c\\\\d\\u000a\\u0001\xef\xbf\xbd\"");
}

TEST_F(TraceEventsTest, TimesBeforeTheFileAreItsBegin) {
  clock_.Advance(10);
  auto events = Open();
  events->Span(kSlot, "request", 4, 11);
  events.reset();
  EXPECT_NE(Text().find("\"ts\":0.000,\"dur\":1000.000"), std::string::npos) << Text();
}

TEST_F(TraceEventsTest, WhatIsOfAnotherKindIsNotReplaced) {
  Open()->Instant("old");
  Open()->Instant("new");
  EXPECT_NE(Text().find("new"), std::string::npos);
  EXPECT_EQ(Text().find("old"), std::string::npos);
  const std::string thesis = "[1,2]";
  fs_.Put("/thesis.json", ByteSpan(reinterpret_cast<const uint8_t*>(thesis.data()), thesis.size()));
  const auto opened = TraceEvents::Open(&fs_, "/thesis.json", &clock_);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(opened.error().message.find("holds something else"), std::string::npos);
  EXPECT_EQ(TextOf(fs_, "/thesis.json"), thesis);
}

TEST_F(TraceEventsTest, AFileThatCannotBeWrittenIsAnErrorAtOnce) {
  fs_.Fail(FsCall::kCreate, 1, ErrorCode::kUnavailable);
  EXPECT_FALSE(TraceEvents::Open(&fs_, "/events.json", &clock_).has_value());
  fs_.ClearFaults();
  fs_.Fail(FsCall::kAppend, 1, ErrorCode::kNoSpace);
  EXPECT_FALSE(TraceEvents::Open(&fs_, "/events.json", &clock_).has_value());
}

TEST_F(TraceEventsTest, AFullDiskLosesEventsAndSaysSoOnce) {
  auto events = Open();
  events->Instant("one");
  events->Flush();
  fs_.FailAll(FsCall::kAppend, ErrorCode::kNoSpace);
  events->Instant("two");
  events->Flush();
  events->Instant("three");
  events->Flush();
  EXPECT_EQ(events->stats().written, 1u);
  EXPECT_EQ(events->stats().lost, 2u);
  fs_.ClearFaults();
  events.reset();
  // After half an event nothing more is written.
  EXPECT_FALSE(Text().ends_with("]\n"));
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_TRUE(said_[0].starts_with("no more trace events are written: \"/events.json\""))
      << said_[0];
}

TEST_F(TraceEventsTest, TheFileGrowsToItsLimit) {
  TraceEventsOptions options;
  options.file_bytes_max = 2000;
  auto events = Open(std::move(options));
  for (int i = 0; i < 100; ++i) events->Instant("one more");
  events->Flush();
  EXPECT_GT(events->stats().written, 10u);
  EXPECT_EQ(events->stats().written + events->stats().lost, 100u);
  events.reset();
  EXPECT_LT(fs_.Stat("/events.json")->bytes, 2200u);
  EXPECT_TRUE(Text().ends_with("\n]\n"));
  EXPECT_EQ(said_, std::vector<std::string>{"\"/events.json\" is full: no more trace events are "
                                            "written"});
}

TEST_F(TraceEventsTest, WhatComesWhileTheFileBreaksIsLostToo) {
  auto events = Open();
  int appends = 0;
  fs_.OnCall([&](FsCall call, const std::string&) {
    if (call == FsCall::kAppend && ++appends == 1) events->Instant("meanwhile");
  });
  fs_.FailAll(FsCall::kAppend, ErrorCode::kNoSpace);
  events->Instant("one");
  events->Flush();
  EXPECT_EQ(appends, 1);
  EXPECT_EQ(events->stats().written, 0u);
  EXPECT_EQ(events->stats().lost, 2u);
}

// A disk that blocks until the test releases it.
TEST_F(TraceEventsTest, ASlowDiskMakesNobodyWait) {
  std::mutex mutex;
  std::condition_variable changed;
  bool stands = false;
  bool reached = false;
  fs_.OnCall([&](FsCall call, const std::string&) {
    if (call != FsCall::kAppend) return;
    std::unique_lock lock(mutex);
    reached = stands;
    changed.notify_all();
    changed.wait(lock, [&] { return !stands; });
  });
  TraceEventsOptions options;
  options.waiting_bytes_max = 4000;
  auto events = Open(std::move(options));
  {
    const std::lock_guard lock(mutex);
    stands = true;
  }
  events->Instant("first");
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return reached; });
  }
  for (int i = 0; i < 1000; ++i) events->Instant("next");
  const uint64_t lost = events->stats().lost;
  EXPECT_GT(lost, 900u);
  EXPECT_LT(lost, 1000u);
  {
    const std::lock_guard lock(mutex);
    stands = false;
  }
  changed.notify_all();
  events->Flush();
  events->Instant("last");
  events.reset();
  fs_.OnCall({});
  const std::string text = Text();
  EXPECT_NE(text.find("\"name\":\"last\""), std::string::npos);
  const std::string mark = "{\"count\":" + std::to_string(lost) + "}";
  EXPECT_NE(text.find(mark), std::string::npos) << text.substr(text.size() - 500);
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_TRUE(said_[0].ends_with("the disk is too slow")) << said_[0];
}

TEST_F(TraceEventsTest, ThreadsWriteAtTheSameTime) {
  auto events = Open();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      events->NameThread("busy");
      for (int n = 0; n < 500; ++n)
        TraceSpan(events.get(), "work").Add("n", static_cast<size_t>(n));
    });
  }
  for (std::thread& thread : threads) thread.join();
  events->Flush();
  EXPECT_EQ(events->stats().written, 4u * 501u);
  events.reset();
  // One event per track.
  const auto bytes = fs_.Read("/events.json", 0, SIZE_MAX);
  const std::string text(bytes->begin(), bytes->end());
  std::vector<std::string> tracks;
  size_t at = 0;
  while ((at = text.find("\"ph\":\"M\"", at + 1)) != std::string::npos) {
    const size_t tid = text.find("\"tid\":", at);
    tracks.push_back(text.substr(tid, text.find(',', tid) - tid));
  }
  std::sort(tracks.begin(), tracks.end());
  EXPECT_EQ(tracks.size(), 5u);
  EXPECT_EQ(std::unique(tracks.begin(), tracks.end()), tracks.end());
}

TEST(TraceEvents, IsForItsOwnerAlone) {
  const auto fs = MakeRealFs();
  const SteadyClock clock;
  const std::string path =
      testing::TempDir() + "cairn_" + std::to_string(getpid()) + "_trace_events.json";
  ASSERT_TRUE(TraceEvents::Open(fs.get(), path, &clock).has_value());
  struct stat status{};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  unlink(path.c_str());
  EXPECT_FALSE(TraceEvents::Open(fs.get(), "/nowhere/events.json", &clock).has_value());
}

}  // namespace
}  // namespace cairn::trace_events_test
