// What a soak does, drawn from its seed: rounds, each with a model of one memory class, and the
// flags of every server in them.
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

// Of the made models, those whose memory is of another class each come first, so that the shortest
// run has met all.
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
inline constexpr size_t kClassesMet = 5;  // so many of the first have all classes

struct RoundPlan {
  size_t number = 0;  // from 1
  uint64_t seed = 0;  // of all that is drawn in it
  SoakModel model = kModels[0];
  double seconds = 0;
  size_t slots = 1;
  size_t clients = 0;
  size_t context_tokens = 0;  // of one slot
  uint64_t disk_bytes = 0;    // --cache-disk
  // A second server works on the same cache folder, and is asked too.
  bool neighbour = false;
  // `--reuse live`: a reused state is not bit for bit that of a cold run, so a few answers may part
  // from it where two tokens were nearly as likely.
  bool live = false;
  // Of the server and of the one without a cache: what may decide an answer.
  Flags both;
};

// How long a round takes, and how many there are. A round is not shorter than it takes to see
// whether memory grows.
struct Lengths {
  double round_s = 0;
  size_t rounds = 0;
};
Lengths LengthsOf(double hours);

// Of the answers of a `live` round, how many may differ: a share of all, and a few beyond. A token
// that was decoded alone and one that was prefilled leave KV that differs in its last bit, which
// moves log-probabilities of made models by up to 0.07: 2 to 27 % of their answers change. A wrong
// state changes nearly all of them.
inline constexpr double kLiveDifferShare = 0.5;
inline constexpr double kLiveDifferMin = 3;

RoundPlan PlanRound(uint64_t seed, size_t number, double seconds);

// What one life of the server is started with beyond that: nothing of it may change an answer.
Flags FlagsOfLife(const RoundPlan& plan, size_t life);

// Of what may wait in memory, in a life with such flags, for a disk that is held up.
uint64_t QueueBytesMax(const Flags& flags);

// The value behind the last `name`; empty: it is not there.
std::string FlagOf(const Flags& flags, const std::string& name);

}  // namespace cairn::soak

#endif  // CAIRN_TESTS_SOAK_PLAN_H_
