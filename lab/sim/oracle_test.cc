#include "lab/sim/oracle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <map>
#include <numeric>
#include <tuple>
#include <vector>

#include "base/clock.h"
#include "lab/sim/oracle_needs.h"
#include "lab/sim/simulator.h"
#include "lab/sim/trace_fixture.h"
#include "testing/base/played_share.h"

namespace cairn {
namespace {

using test::AllPolicyPairs;
using test::BlocksRequest;
using test::kBlockTokens;
using test::OneSession;
using test::RandomTraces;

// The model of docs/oracle.md without optimisations: after each request it tries every set of
// snapshots and of KV ranges that can be kept and fits. A place is a prefix that two requests
// share; its KV range begins at the place before it.
class BruteForce {
 public:
  BruteForce(const std::vector<TraceStep>& steps, const OracleInput& input) : input_(input) {
    Token unique = INT32_MAX;
    for (const TraceStep& step : steps) {
      const TraceRequest& request = *step.request;
      Held held{PromptOf(request, kBlockTokens, &unique), request.input_tokens, request.reuse};
      const Tokens answer = AnswerOf(request);
      held.tokens.insert(held.tokens.end(), answer.begin(), answer.end());
      held.tokens.resize(SlotTokensAtEnd(request));
      held_.push_back(std::move(held));
    }
    for (size_t j = 0; j < held_.size(); ++j) paths_.push_back(PathOf(j));
  }

  size_t places() const { return sizes_.size(); }
  size_t MostSaved() { return MostSaved(0, 0, 0); }

 private:
  using Set = uint32_t;  // of places, by number
  struct Place {
    size_t position = 0;
    size_t number = 0;
    bool stands = false;  // a request may resume here; otherwise prompts only diverge here
    bool resumable = false;
  };
  // Prompt and answer, as far as a slot has computed them.
  struct Held {
    Tokens tokens;
    size_t prompt_tokens = 0;
    bool reuse = true;
  };
  struct Sizes {
    double kv = 0;
    double snapshot = 0;
  };

  static bool Holds(Set set, const Place& place) { return (set >> place.number & 1) != 0; }
  bool NeedsSnapshot(size_t position) const {
    return input_.snapshot_bytes > 0 && position > input_.free_tokens;
  }

  // Returns the places of request j, shallowest first.
  std::vector<Place> PathOf(size_t j) {
    const auto& [tokens, prompt_tokens, reuse] = held_[j];
    std::vector<Place> path;
    size_t before = 0;
    for (size_t p = 1; p <= tokens.size(); ++p) {
      const Tokens prefix(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(p));
      bool shared = false;
      bool parts = false;
      bool ends = false;
      bool ended = false;     // a prompt ended here before
      bool answered = false;  // or an answer
      for (size_t i = 0; i < held_.size(); ++i) {
        const Held& other = held_[i];
        const size_t common = CommonPrefix(other.tokens, tokens);
        if (common < p) continue;
        parts = parts || common == p;
        shared = shared || i != j;
        ends = ends || other.prompt_tokens == p || other.tokens.size() == p;
        ended = ended || (i < j && other.prompt_tokens == p);
        answered = answered || (i < j && other.tokens.size() == p);
      }
      const bool on_grid = p % input_.grid_tokens == 0;
      const bool inside = p < prompt_tokens && (on_grid || ended || answered);
      const bool stands = on_grid || ends;
      if (!shared || (!stands && !parts)) continue;
      const size_t number = numbers_.try_emplace(prefix, numbers_.size()).first->second;
      sizes_.resize(numbers_.size());
      sizes_[number].kv = static_cast<double>((p - before) * input_.kv_bytes_per_token);
      if (stands && NeedsSnapshot(p))
        sizes_[number].snapshot = static_cast<double>(input_.snapshot_bytes);
      path.push_back({p, number, stands, reuse && (inside || (ended && p == prompt_tokens))});
      before = p;
    }
    return path;
  }

  bool Fits(Set snapshots, Set kv) const {
    double bytes = 0;
    for (size_t i = 0; i < sizes_.size(); ++i) {
      if ((kv >> i & 1) != 0) bytes += sizes_[i].kv;
      if ((snapshots >> i & 1) != 0) bytes += sizes_[i].snapshot;
    }
    return bytes <= input_.memory_bytes;
  }

  // Returns the most tokens saved from request j on, with these sets kept.
  size_t MostSaved(size_t j, Set snapshots, Set kv) {
    if (j == held_.size()) return 0;
    const auto key = std::make_tuple(j, snapshots, kv);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    size_t most = GoOnFrom(j, 0, snapshots, kv);
    for (const Place& place : paths_[j]) {
      if (!Holds(kv, place)) break;
      if (!place.resumable) continue;
      if (NeedsSnapshot(place.position) && !Holds(snapshots, place)) continue;
      most = std::max(most, place.position + GoOnFrom(j, place.position, snapshots, kv));
    }
    known_[key] = most;
    return most;
  }

  // Returns the most tokens saved after request j, which resumed from `from`.
  size_t GoOnFrom(size_t j, size_t from, Set snapshots, Set kv) {
    for (const Place& place : paths_[j]) {
      kv |= Set{1} << place.number;
      if (place.stands && place.position > from) snapshots |= Set{1} << place.number;
    }
    size_t most = 0;
    for (Set kept_kv = kv;; kept_kv = (kept_kv - 1) & kv) {
      for (Set kept = snapshots;; kept = (kept - 1) & snapshots) {
        if (Fits(kept, kept_kv)) most = std::max(most, MostSaved(j + 1, kept, kept_kv));
        if (kept == 0) break;
      }
      if (kept_kv == 0) break;
    }
    return most;
  }

  const OracleInput& input_;
  std::vector<Held> held_;
  std::map<Tokens, size_t> numbers_;
  std::vector<Sizes> sizes_;  // of each place
  std::vector<std::vector<Place>> paths_;
  std::map<std::tuple<size_t, Set, Set>, size_t> known_;
};

OracleInput InputOf(const ModelProfile& profile, double memory_bytes) {
  OracleInput input;
  input.snapshot_bytes = profile.snapshot_bytes;
  input.kv_bytes_per_token = profile.kv_bytes_per_token;
  input.free_tokens = profile.window_tokens;
  input.memory_bytes = memory_bytes;
  return input;
}

double SharedTokens(const std::vector<TraceStep>& steps, const OracleInput& input) {
  size_t shared = 0;
  for (const OracleNeeds& needs : FindNeeds(steps, kBlockTokens, input)) shared += needs.deepest;
  return static_cast<double>(shared);
}

TEST(OracleNeeds, SayWhenEachPartOfAPromptWasLastSeen) {
  const Trace trace = OneSession({BlocksRequest({{0, 9}}), BlocksRequest({{0, 3}}, 10),
                                  BlocksRequest({{0, 9}, {20, 20}}, 10)});
  const auto needs = FindNeeds(Interleave(trace, 0), kBlockTokens, {});
  ASSERT_EQ(needs.size(), 3u);
  EXPECT_EQ(needs[0].deepest, 0u);
  EXPECT_EQ(needs[1].deepest, 256u);
  ASSERT_EQ(needs[2].runs.size(), 2u);
  EXPECT_EQ(needs[2].runs[0].last_seen, 1u);
  EXPECT_EQ(needs[2].runs[0].end_tokens, 256u);
  EXPECT_EQ(needs[2].runs[1].last_seen, 0u);
  EXPECT_EQ(needs[2].runs[1].end_tokens, 640u);
  EXPECT_EQ(needs[2].deepest, 640u);
}

// The first prompt ends in the middle of a block, where its slot can be resumed from.
TEST(OracleNeeds, KnowPromptsThatEndInTheMiddleOfABlock) {
  std::vector<TraceRequest> requests(3, BlocksRequest({{0, 1}}));
  requests[0].input_tokens = requests[2].input_tokens = 100;
  const Trace trace = OneSession(requests);
  const auto needs = FindNeeds(Interleave(trace, 0), kBlockTokens, {});
  EXPECT_EQ(needs[1].deepest, 100u);
  EXPECT_EQ(needs[1].ends, std::vector<size_t>{100});
  // The same prompt again needs no prefill.
  EXPECT_EQ(needs[2].deepest, 100u);
}

// By hand: a prompt of 100 tokens and an answer of 50. If the model ended the answer, its slot
// holds all of it; if the answer was cut short, all but the last token.
TEST(OracleNeeds, KnowWhereAnswersEnd) {
  for (const bool ended_by_model : {true, false}) {
    std::vector<TraceRequest> requests(4);
    for (TraceRequest& request : requests) request.input_tokens = 100;
    requests[0].output_tokens = 50;
    requests[0].ended_by_model = ended_by_model;
    requests[0].token_ids = {{0, 149}};
    requests[1].input_tokens = 180;  // the answer, and more
    requests[1].token_ids = {{0, 149}, {200, 229}};
    requests[2].input_tokens = 150;  // the answer and nothing more: its end keeps no logits
    requests[2].token_ids = {{0, 149}};
    requests[3].token_ids = {{0, 99}};
    requests[3].reuse = false;
    const Trace trace = OneSession(requests);
    const auto needs = FindNeeds(Interleave(trace, 0), kBlockTokens, {});
    const size_t end = ended_by_model ? 150 : 149;
    EXPECT_EQ(needs[1].deepest, end);
    EXPECT_EQ(needs[1].ends, (std::vector<size_t>{100, end}));
    EXPECT_EQ(needs[2].deepest, ended_by_model ? 128u : 149u);
    EXPECT_EQ(needs[2].runs.front().last_seen, 1u);
    EXPECT_EQ(needs[3].deepest, 0u);
  }
}

TEST(OracleNeeds, LeaveOutWhatIsTooLongForTheContext) {
  const Trace trace = OneSession({BlocksRequest({{0, 9}}), BlocksRequest({{0, 3}}, 1)});
  OracleInput input;
  input.context_tokens = 640;
  const auto needs = FindNeeds(Interleave(trace, 0), kBlockTokens, input);
  ASSERT_EQ(needs.size(), 1u);
  EXPECT_EQ(needs[0].deepest, 0u);
}

class OracleByForce : public testing::TestWithParam<bool> {};

TEST_P(OracleByForce, EqualsBruteForceOnTinyTraces) {
  size_t compared = 0;
  size_t pressed = 0;
  for (uint32_t seed = 1; seed <= test::Played(400); ++seed) {
    RandomTraces random(seed);
    const size_t requests = random.Between(3, 6);
    const Trace trace = GetParam() ? random.NextAnswered(requests, 60) : random.Next(requests, 2);
    const auto steps = Interleave(trace, 0);
    const ModelProfile profile = random.NextProfile();
    const size_t prompt_bytes = profile.snapshot_bytes + 128 * profile.kv_bytes_per_token;
    const OracleInput input =
        InputOf(profile, static_cast<double>(random.Between(1, 3 * prompt_bytes)));
    BruteForce brute(steps, input);
    if (brute.places() > 5) continue;
    const OracleBound best = BestSaved(steps, kBlockTokens, input);
    ASSERT_EQ(best.kind, BoundKind::kExact) << "seed " << seed;
    ASSERT_EQ(best.saved_tokens_max, static_cast<double>(brute.MostSaved())) << "seed " << seed;
    ++compared;
    if (best.saved_tokens_max < SharedTokens(steps, input)) ++pressed;
  }
  EXPECT_GT(compared, test::Played(200u));
  EXPECT_GT(pressed, test::Played(80u));
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutAnswers, OracleByForce, testing::Bool());

SimOptions RandomOptions(const std::vector<TraceStep>& steps, RandomTraces* random) {
  SimOptions options;
  options.profile = random->NextProfile();
  options.slots = random->Between(1, 3);
  options.reuse = std::array{ReuseMode::kLive, ReuseMode::kLive, ReuseMode::kExact,
                             ReuseMode::kAny}[random->Below(4)];
  options.keep_ends = random->Below(4) > 0;
  options.chunk_tokens_max =
      random->Below(6) == 0 ? random->Between(8, 63) : 64 * random->Between(1, 8);
  options.cache.min_step_tokens = random->Below(2) * 128;
  options.cache.path_checkpoints_max = random->Below(3) * 2;
  if (random->Below(2) == 0) options.context_tokens = random->Between(256, 4096);
  const auto live = static_cast<size_t>(LiveBytesMax(steps, options));
  options.cache.ram_bytes_max = random->Below(live + 1);
  return options;
}

// How often the oracle's answer was exact, how often less than everything could be saved, and how
// many bytes were read from disks.
struct Tried {
  size_t exact = 0;
  size_t pressed = 0;
  uint64_t disk_read_bytes = 0;
};

// Tokens that are prefilled in the time that all requests waited.
double WaitedTokens(const SimReport& report, const ModelProfile& profile) {
  const double ms = std::accumulate(report.wait_ms.begin(), report.wait_ms.end(), 0.0);
  return ms / kMsPerS * profile.prefill_tokens_per_s;
}

// On one trace: no policy saves more than the oracle's figure or makes requests wait less, and the
// exact figure is no more than the upper bound.
void ExpectNoPolicyIsBetter(const std::vector<TraceStep>& steps, SimOptions options, uint32_t seed,
                            Tried* tried) {
  OracleInput input = OracleInputFor(steps, options);
  input.steps_max = 300'000;
  const OracleBound upper = BoundSaved(steps, kBlockTokens, input);
  const OracleBound best = BestSaved(steps, kBlockTokens, input);
  EXPECT_LE(best.saved_tokens_max, upper.saved_tokens_max + 1e-3) << "seed " << seed;
  if (best.kind == BoundKind::kExact) ++tried->exact;
  if (best.saved_tokens_max < SharedTokens(steps, input)) ++tried->pressed;
  for (const auto& [placement, eviction] : AllPolicyPairs()) {
    options.placement = placement;
    options.eviction = eviction;
    const auto report = Simulate(steps, kBlockTokens, options);
    ASSERT_TRUE(report.has_value()) << report.error().message;
    EXPECT_EQ(report->prompt_tokens, best.prompt_tokens);
    EXPECT_LE(static_cast<double>(report->reused_tokens), best.saved_tokens_max)
        << "seed " << seed << ", " << placement << " and " << eviction;
    EXPECT_GE(WaitedTokens(*report, options.profile), best.wait_tokens_min - 1e-3)
        << "seed " << seed << ", " << placement << " and " << eviction;
    tried->disk_read_bytes += report->disk_read_bytes;
  }
}

// A thousand traces, and three hundred with answers, in parts that can run in parallel.
class OracleAndPolicies : public testing::TestWithParam<uint32_t> {};

TEST_P(OracleAndPolicies, IsNeverBelowAnyOfThem) {
  constexpr uint32_t kTraces = 250;
  Tried tried;
  for (uint32_t i = 1; i <= test::Played(kTraces); ++i) {
    const uint32_t seed = GetParam() * kTraces + i;
    RandomTraces random(seed);
    const Trace trace = random.Next(random.Between(2, 14));
    const auto steps = Interleave(trace, 0);
    ExpectNoPolicyIsBetter(steps, RandomOptions(steps, &random), seed, &tried);
  }
  EXPECT_GT(tried.exact, test::Played(200u));
  EXPECT_GT(tried.pressed, test::Played(20u));
}

TEST_P(OracleAndPolicies, IsNeverBelowAnyOfThemWhenAnswersAreGoneOnFrom) {
  constexpr uint32_t kTraces = 75;
  Tried tried;
  for (uint32_t i = 1; i <= test::Played(kTraces); ++i) {
    const uint32_t seed = 10'000 + GetParam() * kTraces + i;
    RandomTraces random(seed);
    const Trace trace = random.NextAnswered(random.Between(6, 14), 150);
    const auto steps = Interleave(trace, 0);
    SimOptions options = RandomOptions(steps, &random);
    options.cache.ram_bytes_max /= 8;
    ExpectNoPolicyIsBetter(steps, options, seed, &tried);
  }
  EXPECT_GT(tried.exact, test::Played(40u));
  EXPECT_GT(tried.pressed, test::Played(10u));
}

// Returns options with little memory and a disk, whose reads take up to as long as the prefill that
// they save. States are large beside the headers of files.
SimOptions RandomDisk(const std::vector<TraceStep>& steps, RandomTraces* random) {
  SimOptions options = RandomOptions(steps, random);
  ModelProfile& profile = options.profile;
  for (size_t* const bytes : {&profile.kv_bytes_per_token, &profile.snapshot_bytes}) *bytes *= 100;
  profile.logits_bytes += sizeof(float);  // a claim has so many, and no row has fewer
  profile.move_bytes_per_s = 1e9;
  options.slots = 1;
  options.context_tokens = 0;
  const auto live = static_cast<size_t>(LiveBytesMax(steps, options));
  options.cache.ram_bytes_max = random->Below(live / 2 + 1);
  options.disk.bytes_max = random->Between(1, live);
  const auto state = static_cast<double>(profile.snapshot_bytes + 512 * profile.kv_bytes_per_token);
  options.disk.read_bytes_per_s =
      state / 512 * profile.prefill_tokens_per_s * static_cast<double>(random->Between(1, 50));
  return options;
}

TEST_P(OracleAndPolicies, IsNeverBelowAnyOfThemWithADisk) {
  constexpr uint32_t kTraces = 75;
  Tried tried;
  for (uint32_t i = 1; i <= test::Played(kTraces); ++i) {
    const uint32_t seed = 20'000 + GetParam() * kTraces + i;
    RandomTraces random(seed);
    const Trace trace = random.Next(random.Between(8, 16));
    const auto steps = Interleave(trace, 0);
    ExpectNoPolicyIsBetter(steps, RandomDisk(steps, &random), seed, &tried);
  }
  EXPECT_GT(tried.pressed, test::Played(10u));
  EXPECT_GT(tried.disk_read_bytes, 100'000u);
}

INSTANTIATE_TEST_SUITE_P(ManyTraces, OracleAndPolicies, testing::Range(0U, 4U));

// Two prompts of 1,024 tokens and one more alternate, twenty times each.
Trace TwoInTurn() {
  std::vector<TraceRequest> requests;
  for (uint32_t i = 0; i < 40; ++i) {
    const uint32_t first = i % 2 == 0 ? 0 : 1000;
    requests.push_back(BlocksRequest({{first, first + 15}}, 1));
  }
  return OneSession(requests);
}

// What one of them needs.
double BytesOfOne(const ModelProfile& profile) {
  return static_cast<double>(profile.snapshot_bytes + 1024 * profile.kv_bytes_per_token);
}

// Two prompts alternate, with memory for one: half of their repeated tokens are reused.
TEST(Oracle, KnowsThatWhatDoesNotFitIsReadAgain) {
  const Trace trace = TwoInTurn();
  const ModelProfile profile = *FindModelProfile("qwen3.5-4b");
  const double one = BytesOfOne(profile);
  OracleInput input = InputOf(profile, one);
  input.rounds = 2000;
  const auto steps = Interleave(trace, 0);
  // 38 requests could reuse 1,024 tokens each; the memory holds one of the two at a time.
  const OracleBound best = BestSaved(steps, kBlockTokens, input);
  EXPECT_EQ(best.kind, BoundKind::kExact);
  EXPECT_EQ(best.saved_tokens_max, 19.0 * 1024);
  const double upper = BoundSaved(steps, kBlockTokens, input).saved_tokens_max;
  EXPECT_GE(upper, 19.0 * 1024);
  EXPECT_LE(upper, 20.0 * 1024);
  input.memory_bytes = 2 * one;
  EXPECT_EQ(BestSaved(steps, kBlockTokens, input).saved_tokens_max, 38.0 * 1024);
  EXPECT_NEAR(BoundSaved(steps, kBlockTokens, input).saved_tokens_max, 38.0 * 1024, 1);
}

// As above, with room for the other prompt on a disk: nothing is prefilled again, but one of the
// two is read each time, 19 times in all.
TEST(Oracle, KnowsThatWhatDoesNotFitIsReadFromTheDisk) {
  const Trace trace = TwoInTurn();
  const ModelProfile profile = *FindModelProfile("qwen3.5-4b");
  const double one = BytesOfOne(profile);
  OracleInput input = InputOf(profile, 2 * one);
  input.disk_bytes = one;
  input.rounds = 2000;
  for (const double read_tokens : {0.0, 1.0, 100.0, 500.0}) {
    input.read_tokens_per_byte = read_tokens / one;
    const OracleBound bound = BestSaved(Interleave(trace, 0), kBlockTokens, input);
    EXPECT_EQ(bound.saved_tokens_max, 38.0 * 1024);
    const double least = 40.0 * 1025 - 38.0 * 1024 + 19 * read_tokens;
    EXPECT_LE(bound.wait_tokens_min, least + 1e-3);
    EXPECT_GE(bound.wait_tokens_min, least - 0.02 * 38 * 1024);
  }
  // Reads that take longer than prefill are of no use: the memory alone saves half.
  input.read_tokens_per_byte = 5000 / one;
  const OracleBound bound = BestSaved(Interleave(trace, 0), kBlockTokens, input);
  EXPECT_LE(bound.wait_tokens_min, 40.0 * 1025 - 19 * 1024);
  EXPECT_GE(bound.wait_tokens_min, 40.0 * 1025 - 20 * 1024);
}

// A request that resumes beyond a position leaves no snapshot there. The system prefix of A must be
// kept through request 2, or A's second request must prefill more than it had to.
//
//   1  header A1       2  header A1 A2       3  header B
TEST(Oracle, KnowsThatOnlyWhatIsReadLeavesASnapshot) {
  const Trace trace = OneSession({BlocksRequest({{0, 9}, {10, 19}}, 1),
                                  BlocksRequest({{0, 9}, {10, 19}, {30, 39}}, 1),
                                  BlocksRequest({{0, 9}, {40, 49}}, 1)});
  const auto steps = Interleave(trace, 0);
  OracleInput input;
  input.snapshot_bytes = 1000;
  input.memory_bytes = 1000;
  // Either 1,280 and then 0, or 0 and then 640; never both, with memory for one snapshot.
  EXPECT_EQ(BestSaved(steps, kBlockTokens, input).saved_tokens_max, 1280);
  EXPECT_NEAR(BoundSaved(steps, kBlockTokens, input).saved_tokens_max, 1280 + 640, 1);
  input.memory_bytes = 2000;
  EXPECT_EQ(BestSaved(steps, kBlockTokens, input).saved_tokens_max, 1280 + 640);
}

// If the search cannot finish, the result is a bound and marked as one.
TEST(Oracle, SaysWhenItIsOnlyABound) {
  RandomTraces random(3);
  const Trace trace = random.Next(12);
  const auto steps = Interleave(trace, 0);
  OracleInput input;
  input.snapshot_bytes = 1000;
  input.kv_bytes_per_token = 10;
  input.memory_bytes = 4000;
  const OracleBound best = BestSaved(steps, kBlockTokens, input);
  EXPECT_EQ(best.kind, BoundKind::kExact);
  input.steps_max = 10;
  const OracleBound bound = BestSaved(steps, kBlockTokens, input);
  EXPECT_EQ(bound.kind, BoundKind::kUpper);
  EXPECT_GE(bound.saved_tokens_max, best.saved_tokens_max);
  EXPECT_LE(static_cast<double>(bound.saved_tokens_found), best.saved_tokens_max);
}

}  // namespace
}  // namespace cairn
