// Tests that what a server writes of its requests can be read back and replayed.

#include "trace/trace_writer.h"
#include "base/json.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>

#include "lab/sim/oracle_needs.h"
#include "lab/sim/simulator.h"
#include "sched/scheduler.h"
#include "testing/engine/fake_engine.h"

namespace cairn::trace_writer_test {
namespace {

// A file for one test.
class TraceFile {
 public:
  TraceFile()
      : path_(testing::TempDir() + "trace_writer_test_" + std::to_string(getpid()) + "_" +
              testing::UnitTest::GetInstance()->current_test_info()->name() + ".jsonl") {
    std::filesystem::remove(path_);
  }
  ~TraceFile() { std::filesystem::remove(path_); }

  const std::string& path() const { return path_; }
  std::string Text() const {
    std::ifstream in(path_);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
  std::vector<Json> Lines() const {
    std::vector<Json> lines;
    std::istringstream in(Text());
    for (std::string line; std::getline(in, line);) {
      lines.push_back(Json::parse(line, nullptr, false));
    }
    return lines;
  }
  Result<Trace> Read() const {
    std::ifstream in(path_);
    return ReadTrace(in, TraceFormat::kAuto);
  }

 private:
  const std::string path_;
};

// A server without HTTP on a FakeEngine that writes a trace.
class TracedServer {
 public:
  TracedServer(const std::string& path, CacheOptions cache = {}, size_t slots = 1)
      : engine_(EngineOptions(slots)),
        cache_(cache, *MakePlacement("auto"), *MakeEviction("value"), MakeRamStore()) {
    auto writer = TraceWriter::Open(path);
    EXPECT_TRUE(writer.has_value()) << (writer ? "" : writer.error().message);
    writer_ = std::move(*writer);
    SchedulerOptions options;
    options.observer = writer_.get();
    scheduler_ = std::make_unique<Scheduler>(&engine_, &cache_, &clock_, options);
  }

  static FakeEngineOptions EngineOptions(size_t slots) {
    FakeEngineOptions options;
    options.context_tokens = options.cells = 1 << 16;
    options.slots = slots;
    options.recurrent_bytes = 4096;
    return options;
  }

  // Returns the answer's tokens. Cancels the request after `steps` steps, unless `steps` is 0.
  Tokens Ask(GenerationRequest request, size_t steps = 0) {
    clock_.Advance(1000);
    Tokens answer;
    request.on_answer = [&](const FinishedAnswer& finished) {
      answer.assign(finished.tokens.begin(), finished.tokens.end());
    };
    const auto generation = *scheduler_->Submit(std::move(request));
    for (size_t step = 1; scheduler_->Step(); ++step) {
      if (step == steps) generation->Cancel();
    }
    while (const auto event = generation->Next(std::chrono::milliseconds(0))) {
      if (event->kind == GenerationEvent::Kind::kDone) reused_.push_back(event->cost.reused_tokens);
    }
    return answer;
  }

  // The number of reused tokens of each answer.
  const std::vector<size_t>& reused() const { return reused_; }
  TraceWriter& writer() { return *writer_; }
  const CheckpointCache& cache() const { return cache_; }
  const FakeEngine& engine() const { return engine_; }

 private:
  ManualClock clock_;
  FakeEngine engine_;
  CheckpointCache cache_;
  std::unique_ptr<TraceWriter> writer_;
  std::unique_ptr<Scheduler> scheduler_;
  std::vector<size_t> reused_;
};

GenerationRequest Request(Tokens prompt, size_t tokens_max = 8) {
  GenerationRequest request;
  request.shape.tokens = prompt.size();
  request.prompt = std::move(prompt);
  request.params.tokens_max = tokens_max;
  return request;
}

Tokens Text(std::string_view text) {
  return {text.begin(), text.end()};
}

// Users who talk, regenerate answers, return to earlier turns and leave.
class Talkers {
 public:
  Talkers(TracedServer* server, uint32_t seed) : server_(server), random_(seed) {}

  void Turn() {
    if (talks_.empty() || Below(6) == 0) talks_.push_back(NewTalk());
    Talk& talk = talks_[Below(talks_.size())];
    if (Below(8) == 0) GoBack(&talk);
    if (Below(10) > 0 || talk.turns.empty()) AddMessage(&talk);
    GenerationRequest request;
    request.prompt = talk.tokens;
    request.shape.header_end = talk.header_end;
    request.shape.turns = talk.turns;
    request.shape.messages_end = talk.tokens.size();
    request.prompt.push_back(FakeEngine::kMessageStart);
    request.prompt.push_back('a');
    request.shape.tokens = request.prompt.size();
    request.params.tokens_max = 4 + Below(60);
    request.reuse = Below(20) > 0;
    const Tokens prompt = request.prompt;
    const Tokens answer = server_->Ask(std::move(request), Below(7) == 0 ? 1 + Below(9) : 0);
    // Some clients omit the beginning of an answer, as if it were reasoning.
    if (Below(4) > 0) talk.tokens = prompt;
    const size_t from = talk.tokens.size() == prompt.size() ? 0 : answer.size() / 2;
    talk.tokens.insert(talk.tokens.end(), answer.begin() + static_cast<std::ptrdiff_t>(from),
                       answer.end());
    talk.tokens.push_back(FakeEngine::kMessageEnd);
  }

 private:
  struct Talk {
    Tokens tokens;
    size_t header_end = 0;
    std::vector<cairn::Turn> turns;
  };

  size_t Below(size_t n) { return random_() % n; }
  void AddText(size_t count, Tokens* tokens) {
    for (size_t i = 0; i < count; ++i) tokens->push_back(static_cast<Token>('a' + Below(26)));
  }
  Talk NewTalk() {
    Talk talk;
    std::mt19937 header(static_cast<uint32_t>(Below(2)));
    for (size_t i = 0; i < 700; ++i) talk.tokens.push_back(static_cast<Token>('A' + header() % 26));
    talk.header_end = talk.tokens.size();
    return talk;
  }
  void AddMessage(Talk* talk) {
    talk->turns.push_back({talk->tokens.size(), Below(3) > 0});
    AddText(10 + Below(400), &talk->tokens);
    talk->tokens.push_back(FakeEngine::kMessageEnd);
  }
  void GoBack(Talk* talk) {
    if (talk->turns.empty()) return;
    talk->turns.resize(1 + Below(talk->turns.size()));
    talk->tokens.resize(talk->turns.back().position);
    talk->turns.pop_back();
  }

  TracedServer* const server_;
  std::mt19937 random_;
  std::vector<Talk> talks_;
};

// The options of a FakeEngine, on which nothing takes time.
SimOptions OptionsOf(const TracedServer& server, CacheOptions cache, size_t slots = 1) {
  const MemoryTraits& traits = server.engine().traits();
  SimOptions options;
  options.profile = *FindModelProfile("qwen3.5-4b");
  options.profile.snapshot_bytes = traits.snapshot_bytes;
  options.profile.kv_bytes_per_token = traits.kv_bytes_per_token;
  options.profile.logits_bytes = FakeEngine::kVocabSize * sizeof(float);
  options.profile.prefill_tokens_per_s = std::numeric_limits<double>::infinity();
  options.profile.move_bytes_per_s = std::numeric_limits<double>::infinity();
  options.cache = cache;
  options.slots = slots;
  options.context_tokens = server.engine().context_tokens();
  options.chunk_tokens_max = server.engine().chunk_tokens_max();
  return options;
}

struct Replayed {
  std::vector<size_t> served;  // number of tokens that each request reused
  SimReport report;
};

// Serves sixty turns and replays their trace.
Replayed ServeAndReplay(const CacheOptions& cache, uint32_t seed, size_t slots) {
  const TraceFile file;
  TracedServer server(file.path(), cache, slots);
  Talkers talkers(&server, seed);
  for (size_t turn = 0; turn < 60; ++turn) talkers.Turn();
  server.writer().Flush();
  const auto trace = file.Read();
  EXPECT_TRUE(trace.has_value()) << trace.error().message;
  const auto report =
      Simulate(Interleave(*trace, 0), trace->block_tokens, OptionsOf(server, cache, slots));
  EXPECT_TRUE(report.has_value());
  EXPECT_GT(report->reused_tokens, 0u);
  EXPECT_LE(report->reused_tokens, report->shared_tokens);
  return {server.reused(), *report};
}

TEST(TraceWriter, AReplayReusesInEachRequestWhatTheServerDid) {
  CacheOptions cache;
  cache.ram_bytes_max = SIZE_MAX;
  for (uint32_t seed = 1; seed <= 9; ++seed) {
    const Replayed replayed = ServeAndReplay(cache, seed, 1 + seed % 3);
    EXPECT_EQ(replayed.report.reused_each, replayed.served) << "seed " << seed;
    EXPECT_EQ(replayed.report.served_reused_tokens, replayed.report.reused_tokens);
  }
}

// The budget is weighed in bytes and times, which a profile has only approximately.
TEST(TraceWriter, UnderABudgetAReplayReusesAboutAsMuch) {
  CacheOptions cache;
  cache.ram_bytes_max = size_t{120} << 10U;
  for (uint32_t seed = 20; seed <= 25; ++seed) {
    const Replayed replayed = ServeAndReplay(cache, seed, 1 + seed % 3);
    EXPECT_GT(replayed.report.checkpoints_evicted, 0u);
    const auto served = static_cast<double>(replayed.report.served_reused_tokens);
    EXPECT_NEAR(static_cast<double>(replayed.report.reused_tokens), served, 0.05 * served)
        << "seed " << seed;
  }
}

TEST(TraceWriter, WritesNothingOfWhatWasSaid) {
  const TraceFile file;
  {
    TracedServer server(file.path());
    server.Ask(Request(Text("my password is swordfish, do not tell"), 40));
    server.Ask(Request(Text("my password is swordfish, I said"), 40));
  }
  EXPECT_EQ(file.Text().find("swordfish"), std::string::npos);
  EXPECT_EQ(file.Text().find("password"), std::string::npos);
  struct stat status{};
  ASSERT_EQ(stat(file.path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST(TraceWriter, WritesTheSameOfOtherWordsThatShareAsMuch) {
  const auto written = [](std::string_view first, std::string_view second) {
    const TraceFile file;
    {
      TracedServer server(file.path());
      server.Ask(Request(Text(first), 0));
      server.Ask(Request(Text(second), 0));
    }
    return file.Text();
  };
  const std::string one = written("the code is 1234", "the code is 1299");
  EXPECT_EQ(one, written("his name was Ada", "his name was Amy"));
  EXPECT_NE(one, written("his name was Ada", "his name is Ada."));
}

TEST(TraceWriter, MooncakesFieldsMeanWhatTheyMeanThere) {
  const TraceFile file;
  TracedServer server(file.path());
  const Tokens shared(1100, 'x');
  for (const char last : {'a', 'b'}) {
    Tokens prompt = shared;
    prompt.resize(1700, last);
    server.Ask(Request(prompt));
  }
  server.writer().Flush();
  const std::vector<Json> lines = file.Lines();
  ASSERT_EQ(lines.size(), 2u);
  std::string plain;
  for (const Json& line : lines) {
    EXPECT_EQ(line["input_length"], 1700);
    ASSERT_EQ(line["hash_ids"].size(), 4u);  // the last block is cut short
    Json four;
    for (const char* field : {"timestamp", "input_length", "output_length", "hash_ids"}) {
      four[field] = line[field];
    }
    plain += four.dump() + "\n";
  }
  EXPECT_EQ(lines[0]["timestamp"], 0);
  EXPECT_EQ(lines[1]["timestamp"], 1000);
  EXPECT_EQ(lines[0]["hash_ids"][1], lines[1]["hash_ids"][1]);
  EXPECT_NE(lines[0]["hash_ids"][2], lines[1]["hash_ids"][2]);
  // A reader that knows only those reads them, and sees the two shared blocks.
  std::istringstream in(plain);
  const auto trace = ReadTrace(in, TraceFormat::kBlocks);
  ASSERT_TRUE(trace.has_value()) << trace.error().message;
  Token unique = INT32_MAX;
  EXPECT_EQ(CommonPrefix(PromptOf(trace->sessions[0].requests[0], 512, &unique),
                         PromptOf(trace->sessions[1].requests[0], 512, &unique)),
            1024u);
}

TEST(TraceWriter, ALineSaysHowItsRequestEnded) {
  const TraceFile file;
  TracedServer server(file.path());
  GenerationRequest endless = Request(Text("nothing ends this"), 2);
  endless.params.ignore_end = true;
  server.Ask(std::move(endless));
  server.Ask(Request(Tokens(3000, 'c')), 2);  // cancelled during its prefill
  GenerationRequest marked = Request(Tokens(900, 'm'));
  marked.shape.marks = {{640, 60'000}};
  marked.shape.reasoning = {{700, 800}};
  marked.reuse = false;
  server.Ask(std::move(marked));
  server.writer().Flush();
  const std::vector<Json> lines = file.Lines();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0]["end"], "length");
  EXPECT_EQ(lines[0]["output_length"], 2);
  EXPECT_EQ(lines[0]["slot"], 0);
  EXPECT_EQ(lines[1]["end"], "cancelled");
  EXPECT_EQ(lines[1]["processed"], 1024);
  const auto trace = file.Read();
  ASSERT_TRUE(trace.has_value());
  EXPECT_EQ(trace->sessions[1].requests[0].cancelled_at, 1024u);
  const TraceRequest& read = trace->sessions[2].requests[0];
  EXPECT_FALSE(read.reuse);
  EXPECT_EQ(read.shape.marks, (std::vector<ClientMark>{{640, 60'000}}));
  EXPECT_EQ(read.shape.reasoning, (std::vector<ReasoningRange>{{700, 800}}));
}

TEST(TraceWriter, SeveralAnswersAreOneLineAndSeveralRequests) {
  const TraceFile file;
  TracedServer server(file.path(), {}, 2);
  GenerationRequest request = Request(Tokens(200, 'n'));
  request.answers = 3;
  server.Ask(std::move(request));
  server.writer().Flush();
  const std::vector<Json> lines = file.Lines();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0]["more_answers"].size(), 2u);
  const auto trace = file.Read();
  ASSERT_TRUE(trace.has_value()) << trace.error().message;
  EXPECT_EQ(trace->sessions[0].requests.size(), 3u);
}

TEST(TraceWriter, AConversationIsKnownByHowItBegan) {
  const TraceFile file;
  TracedServer server(file.path());
  const auto prompt = [](const char* first, const char* more) {
    GenerationRequest request = Request(Tokens(300, 'h'));
    const Tokens words = Text(first);
    request.prompt.insert(request.prompt.end(), words.begin(), words.end());
    request.shape.messages_end = request.prompt.size();
    const Tokens then = Text(more);
    request.prompt.insert(request.prompt.end(), then.begin(), then.end());
    request.shape.tokens = request.prompt.size();
    return request;
  };
  server.Ask(prompt("one", ""));
  server.Ask(prompt("two", ""));
  server.Ask(prompt("one", " and more of it"));
  server.Ask(prompt("two", " goes on"));
  server.writer().Flush();
  std::vector<int> conversations;
  for (const Json& line : file.Lines()) conversations.push_back(line["conversation"].get<int>());
  EXPECT_EQ(conversations, (std::vector<int>{0, 1, 0, 1}));
}

TEST(TraceWriter, NamespacesShareNothing) {
  const TraceFile file;
  TracedServer server(file.path());
  for (const uint32_t name_space : {5U, 9U, 5U}) {
    GenerationRequest request = Request(Tokens(600, 'k'), 1);
    request.name_space = name_space;
    server.Ask(std::move(request));
  }
  server.writer().Flush();
  const std::vector<Json> lines = file.Lines();
  EXPECT_EQ(lines[0]["namespace"], 0);
  EXPECT_EQ(lines[1]["namespace"], 1);
  EXPECT_NE(lines[0]["hash_ids"], lines[1]["hash_ids"]);
  EXPECT_EQ(lines[0]["hash_ids"], lines[2]["hash_ids"]);
}

TEST(TraceWriter, ATornLineIsLeftOutAndTheNextRunGoesOnAfterIt) {
  const TraceFile file;
  {
    TracedServer server(file.path());
    server.Ask(Request(Tokens(300, 'x')));
    server.Ask(Request(Tokens(400, 'x')));
  }
  const std::string whole = file.Text();
  std::filesystem::resize_file(file.path(), whole.size() - 25);
  {
    TracedServer server(file.path());
    server.Ask(Request(Tokens(300, 'x')));
  }
  const auto trace = file.Read();
  ASSERT_TRUE(trace.has_value()) << trace.error().message;
  EXPECT_EQ(trace->torn_lines, 1u);
  const auto steps = Interleave(*trace, 0);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_GT(steps[1].at_ms, steps[0].at_ms);
  // The second server had prefilled nothing yet.
  for (const OracleNeeds& needs : FindNeeds(steps, trace->block_tokens, {})) {
    EXPECT_EQ(needs.deepest, 0u);
  }
}

TEST(TraceWriter, AFullDiskLosesLinesAndNoRequest) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "/dev/full is not there";
  std::vector<std::string> said;
  std::mutex mutex;
  TraceWriterOptions options;
  options.log = [&](LogLevel, std::string_view line) {
    const std::lock_guard lock(mutex);
    said.emplace_back(line);
  };
  auto writer = TraceWriter::Open("/dev/full", options);
  ASSERT_TRUE(writer.has_value()) << writer.error().message;
  FakeEngine engine(FakeEngineOptions{});
  ManualClock clock;
  CheckpointCache cache(CacheOptions{}, *MakePlacement("auto"), *MakeEviction("value"),
                        MakeRamStore());
  Scheduler scheduler(&engine, &cache, &clock, {.observer = writer->get()});
  for (int i = 0; i < 3; ++i) {
    const auto generation = *scheduler.Submit(Request(Tokens(100, 'f')));
    while (scheduler.Step()) {
    }
    GenerationEvent end;
    while (auto event = generation->Next(std::chrono::milliseconds(0))) end = *event;
    EXPECT_EQ(end.kind, GenerationEvent::Kind::kDone);
  }
  (*writer)->Flush();
  EXPECT_EQ((*writer)->stats().lost, 3u);
  EXPECT_EQ((*writer)->stats().written, 0u);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("No space left"), std::string::npos) << said[0];
}

TEST(TraceWriter, WritesToNoFileThatIsSomethingElseOrAnothersOrCannotBeMade) {
  const TraceFile file;
  std::ofstream(file.path()) << "{\"messages\":[]}\n";
  EXPECT_EQ(TraceWriter::Open(file.path()).error().code, ErrorCode::kInvalidArgument);
  std::filesystem::remove(file.path());
  const auto first = TraceWriter::Open(file.path());
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(TraceWriter::Open(file.path()).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(TraceWriter::Open("/nowhere/at/all.jsonl").error().code, ErrorCode::kUnavailable);
}

TEST(TraceWriter, LinesThatTheDiskCannotTakeInTimeAreCounted) {
  const TraceFile file;
  TraceWriterOptions options;
  options.queue_max = 0;
  auto writer = TraceWriter::Open(file.path(), options);
  ASSERT_TRUE(writer.has_value());
  const PromptShape shape;
  const GenerationCost cost;
  const Tokens prompt(10, 'q');
  (*writer)->OnAnswerEnd(
      {.shape = shape, .prompt = prompt, .tokens = {}, .slot = {}, .cost = cost});
  (*writer)->Flush();
  EXPECT_EQ((*writer)->stats().lost, 1u);
}

}  // namespace
}  // namespace cairn::trace_writer_test
