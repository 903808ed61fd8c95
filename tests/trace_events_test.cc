// `cairn serve --trace-events`, on a synthetic hybrid model: the file's contents and its validity.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "served.h"

namespace cairn {
namespace {

using test::Flags;
using test::Join;

// An X event, in nanoseconds.
struct Span {
  int64_t begin = 0;
  int64_t end = 0;
  Json event;
};

class TraceEventsServeTest : public test::ServedTest {
 protected:
  void ServeTraced(const Flags& flags = {}) {
    Serve(Join({"-np", "2", "-ub", "128", "--no-warm", "--cache-dir", files_ + "/cache",
                "--trace-events", path_},
               flags));
  }

  void Say(const std::string& question) {
    messages_.push_back({{"role", "user"}, {"content", question}});
    const Json reply = Ask({{"max_tokens", 8}, {"temperature", 0}, {"messages", messages_}});
    messages_.push_back(reply["choices"][0]["message"]);
  }

  std::string Text() const { return ReadFile(path_).value_or(std::string()); }
  void WaitFor(const std::string& text) const {
    WaitUntil("it is in the file: " + text, [&] { return Text().find(text) != std::string::npos; });
  }

  static std::vector<Json> Named(const Json& events, const std::string& name,
                                 const std::string& phase = "X") {
    std::vector<Json> found;
    for (const Json& event : events) {
      if (event["name"] == name && event["ph"] == phase) found.push_back(event);
    }
    return found;
  }
  static size_t SumOf(const std::vector<Json>& events, const std::string& arg) {
    size_t sum = 0;
    for (const Json& event : events) sum += event["args"][arg].get<size_t>();
    return sum;
  }

  // Times are not negative, and on each track a span ends before the one that it began in.
  static void CheckTimes(const Json& events) {
    std::map<uint64_t, std::vector<Span>> tracks;
    for (const Json& event : events) {
      if (event["ph"] == "M") continue;
      EXPECT_GE(event["ts"].get<double>(), 0) << event;
      if (event["ph"] != "X") continue;
      EXPECT_GE(event["dur"].get<double>(), 0) << event;
      const int64_t begin = std::llround(event["ts"].get<double>() * 1000);
      const int64_t end = begin + std::llround(event["dur"].get<double>() * 1000);
      tracks[event["tid"].get<uint64_t>()].push_back({begin, end, event});
    }
    EXPECT_GE(tracks.size(), 2u);
    for (auto& [track, spans] : tracks) {
      std::stable_sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
        return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
      });
      std::vector<Span> open;
      for (const Span& span : spans) {
        while (!open.empty() && open.back().end <= span.begin) open.pop_back();
        if (!open.empty()) {
          EXPECT_LE(span.end, open.back().end) << span.event << open.back().event;
        }
        open.push_back(span);
      }
    }
  }

  const std::string path_ = files_ + "/trace.json";
  Json messages_ =
      Json::array({{{"role", "system"}, {"content", "lighthouse " + std::string(1000, 'h')}}});
};

TEST_F(TraceEventsServeTest, TellsStepsRequestsCheckpointsAndReuse) {
  ServeTraced();
  Say("which marigold");
  Say("and the steamer");
  EXPECT_EQ(server_->Stop(), 0) << server_->LastLines();
  const std::string text = Text();
  for (const char* word : {"lighthouse", "marigold", "steamer", "hhhh"}) {
    EXPECT_EQ(text.find(word), std::string::npos) << word;
  }
  struct stat status{};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  const Json events = Json::parse(text);
  CheckTimes(events);

  const auto requests = Named(events, "request");
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(Named(events, "queued", "b").size(), 2u);
  EXPECT_EQ(Named(events, "queued", "e").size(), 2u);
  EXPECT_EQ(Named(events, "answer").size(), 2u);
  EXPECT_EQ(requests[0]["args"]["reused_tokens"], 0);
  EXPECT_GT(requests[1]["args"]["reused_tokens"], 1000);
  // Tokens that are not reused are prefilled, in steps.
  const size_t read = SumOf(requests, "prompt_tokens") - SumOf(requests, "reused_tokens");
  const auto steps = Named(events, "step");
  EXPECT_EQ(SumOf(steps, "prefill_tokens"), read);
  EXPECT_EQ(SumOf(Named(events, "prefill"), "tokens"), 2 * read);  // of steps and of slots
  EXPECT_GT(SumOf(steps, "decode_tokens"), 0u);
  for (const Json& step : steps) {
    EXPECT_EQ(step["args"]["decode_slots"].size(), step["args"]["decode_tokens"]);
    EXPECT_EQ(step["args"]["prefill_slots"].empty(), step["args"]["prefill_tokens"] == 0);
  }

  const auto checkpoints = Named(events, "checkpoint");
  ASSERT_FALSE(checkpoints.empty());
  // The checkpoint at the prompt's end.
  EXPECT_TRUE(std::any_of(checkpoints.begin(), checkpoints.end(), [](const Json& checkpoint) {
    return checkpoint["args"]["class"] == "end" && checkpoint["args"]["position"] > 1000;
  }));
  EXPECT_EQ(checkpoints[0]["args"]["tier"], "ram");
  EXPECT_GT(checkpoints[0]["args"]["bytes"], 0);
  // Each resume is on the context's track and on a slot's.
  const auto resumes = Named(events, "resume");
  ASSERT_EQ(resumes.size(), 4u);
  EXPECT_EQ(resumes[0]["args"]["path"], "none");
  EXPECT_GT(resumes[3]["args"]["tokens"], 1000);
  EXPECT_TRUE(resumes[3]["args"].contains("tier"));
  EXPECT_FALSE(Named(events, "disk write").empty());
  EXPECT_FALSE(Named(events, "cache", "C").empty());
}

TEST_F(TraceEventsServeTest, TellsWhatCameFromDisk) {
  ServeTraced();
  Say("which marigold");
  EXPECT_EQ(server_->Stop(), 0) << server_->LastLines();
  ServeTraced();
  Say("and the steamer");
  EXPECT_EQ(server_->Stop(), 0) << server_->LastLines();
  const Json events = Json::parse(Text());
  CheckTimes(events);
  const auto reads = Named(events, "disk read");
  ASSERT_FALSE(reads.empty());
  EXPECT_GT(reads[0]["args"]["bytes"], 0);
  const auto resumes = Named(events, "resume");
  ASSERT_EQ(resumes.size(), 2u);
  EXPECT_EQ(resumes[1]["args"]["tier"], "disk");
  EXPECT_EQ(resumes[1]["args"]["path"], "assembled");
  EXPECT_GT(resumes[1]["args"]["bytes"], 0);
  EXPECT_TRUE(resumes[1]["args"].contains("class"));
}

TEST_F(TraceEventsServeTest, TellsWhenTheModelSleeps) {
  ServeTraced({"--sleep-idle-seconds", "1"});
  Say("which marigold");
  WaitFor(R"("asleep":1)");
  Say("and the steamer");
  WaitFor(R"("asleep":0)");
  EXPECT_EQ(server_->Stop(), 0) << server_->LastLines();
  const Json events = Json::parse(Text());
  CheckTimes(events);
  EXPECT_FALSE(Named(events, "unload").empty());
  EXPECT_EQ(Named(events, "load").size(), 2u);
  EXPECT_FALSE(Named(events, "offload").empty());
}

TEST_F(TraceEventsServeTest, AKilledServerLeavesWholeLines) {
  ServeTraced();
  Say("which marigold");
  WaitFor("\"request\",\"ph\":\"X\"");
  server_->Signal(SIGKILL);
  ASSERT_TRUE(server_->WaitForExit(10'000).has_value());
  std::string text = Text();
  // Drops the last line if it is incomplete.
  while (Json::parse(text + "]", nullptr, false).is_discarded()) {
    const size_t line = text.rfind('\n');
    ASSERT_NE(line, std::string::npos);
    text.resize(line);
  }
  const Json events = Json::parse(text + "]");
  CheckTimes(events);
  EXPECT_EQ(Named(events, "request").size(), 1u);
  EXPECT_FALSE(Named(events, "step").empty());
}

TEST_F(TraceEventsServeTest, AFileThatCannotBeWrittenIsSaidBeforeTheModelLoads) {
  const auto complaint = [&](const std::string& path) {
    return Refusal({"--trace-events", path}, "/no/model.gguf");
  };
  const std::string nowhere = complaint("/nowhere/trace.json");
  EXPECT_NE(nowhere.find("--trace-events cannot be written: \"/nowhere/trace.json\": No such file"),
            std::string::npos)
      << nowhere;
  std::ofstream(path_) << "a novel";
  const std::string novel = complaint(path_);
  EXPECT_NE(novel.find("holds something else than trace events"), std::string::npos) << novel;
  EXPECT_EQ(Text(), "a novel");
}

}  // namespace
}  // namespace cairn
