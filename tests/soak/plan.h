// RoundPlan: everything that a soak does, derived from its seed: rounds, each with a model of one
// memory class, and the flags of every server in them.
//
// Pure; any thread.

#ifndef CAIRN_TESTS_SOAK_PLAN_H_
#define CAIRN_TESTS_SOAK_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cairn::soak {

using Flags = std::vector<std::string>;

// The synthetic models. The first ones have distinct memory classes, so that the shortest run meets
// every class.
struct SoakModel {
  const char* architecture;
  const char* memory;
};
inline constexpr SoakModel kModels[] = {
    {"llama", "attention"}, {"gemma3", "sliding window"}, {"mamba2", "recurrent"},
    {"qwen35", "hybrid"},   {"lfm2", "hybrid"},           {"gpt-oss", "sliding window"},
    {"jamba", "hybrid"},    {"qwen2vl", "attention"},     {"granitehybrid", "hybrid"},
    {"qwen3", "attention"}, {"falcon-h1", "hybrid"},      {"nemotron_h", "hybrid"},
};
inline constexpr size_t kClassesMet = 5;  // the first models that cover all classes

struct RoundPlan {
  size_t number = 0;  // from 1
  uint64_t seed = 0;  // of all random choices in the round
  SoakModel model = kModels[0];
  double seconds = 0;
  size_t slots = 1;
  size_t clients = 0;
  size_t context_tokens = 0;  // of one slot
  uint64_t disk_bytes = 0;    // --cache-disk
  // A second server uses the same cache folder, and gets requests too.
  bool neighbour = false;
  // `--reuse live`: a reused state is not bit for bit that of a cold run, so a few answers may
  // diverge where two tokens were almost equally likely.
  bool live = false;
  // Flags that may affect answers: for the server and for the one without a cache.
  Flags both;
};

// The length and the number of rounds. A round has a minimum length, because growth of memory takes
// time to show.
struct Lengths {
  double round_s = 0;
  size_t rounds = 0;
};
Lengths LengthsOf(double hours);

// The share of a `live` round's answers that may differ, beyond a few. A token decoded alone and
// one prefilled leave KV that differs in its last bit, which moves the log-probabilities of
// synthetic models by up to 0.07: 2 to 27 % of their answers change. A wrong state changes nearly
// all of them.
inline constexpr double kLiveDifferShare = 0.5;
inline constexpr double kLiveDifferMin = 3;

RoundPlan PlanRound(uint64_t seed, size_t number, double seconds);

// Returns the additional flags of one life of the server; none of them may change an answer.
Flags FlagsOfLife(const RoundPlan& plan, size_t life);

// The same for a neighbour, whose flags are its own. In every second life its budget on the disk is
// a tenth.
Flags FlagsOfNeighbour(const RoundPlan& plan, size_t life);

// Returns the most bytes that may wait in memory for a stalled disk, with these flags.
uint64_t QueueBytesMax(const Flags& flags);

// Returns the value after the last `name`; empty: the flag is not there.
std::string FlagOf(const Flags& flags, const std::string& name);

}  // namespace cairn::soak

#endif  // CAIRN_TESTS_SOAK_PLAN_H_
