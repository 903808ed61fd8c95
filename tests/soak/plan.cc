#include "soak/plan.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <iomanip>
#include <iterator>
#include <sstream>

#include "lab/client/seeded_text.h"

namespace cairn::soak {
namespace {

constexpr double kRoundSecondsMin = 55;
constexpr double kRoundSecondsMax = 600;
constexpr double kGib = 1024.0 * 1024 * 1024;

const char* Pick(SeededText* dice, std::initializer_list<const char*> list) {
  return list.begin()[dice->Number(list.size())];
}

void Add(Flags* flags, const std::string& name, const std::string& value) {
  flags->push_back(name);
  flags->push_back(value);
}

// Returns whole MiB as GiB, with all digits: the server must not round its budget up.
std::string GibDigits(uint64_t bytes) {
  std::ostringstream text;
  text << std::setprecision(10) << static_cast<double>(bytes) / kGib;
  return text.str();
}

void AddCacheFlags(SeededText* dice, Flags* flags) {
  Add(flags, "--cache-ram", Pick(dice, {"1", "2", "4", "8", "16"}));
  Add(flags, "--placement",
      Pick(dice, {"auto", "auto", "auto", "eog", "near-end", "user-turns", "marconi", "every-nt",
                  "near-end,user-turns,every-nt", "none"}));
  Add(flags, "--checkpoint-every-nt", Pick(dice, {"0", "64", "192", "500"}));
  if (FlagOf(*flags, "--placement").find("every-nt") != std::string::npos) {
    flags->back() = Pick(dice, {"64", "192", "500"});
  }
  Add(flags, "--checkpoint-min-step", Pick(dice, {"0", "0", "100"}));
  Add(flags, "--eviction",
      Pick(dice, {"value", "value", "lru", "fifo", "closest-pair", "marconi", "none"}));
  if (dice->Number(3) == 0) Add(flags, "--ctx-checkpoints", Pick(dice, {"1", "4", "32"}));
  if (dice->Number(3) == 0) flags->push_back("--no-cache-idle-slots");
  Add(flags, "--codec", Pick(dice, {"raw", "lossless"}));
  Add(flags, "--save-after-ms", Pick(dice, {"0", "0", "100", "2000"}));
  if (dice->Number(4) == 0) Add(flags, "--disk-write-mib-s", "4");
}

void AddServerFlags(SeededText* dice, Flags* flags) {
  if (dice->Number(3) == 0) flags->push_back("--no-warm");
  if (dice->Number(4) == 0) Add(flags, "--warm-budget", "3000");
  Add(flags, "--queue-limit", Pick(dice, {"2", "64"}));
  if (dice->Number(4) == 0) Add(flags, "--max-streams", Pick(dice, {"1", "3"}));
  Add(flags, "--prefill-share", Pick(dice, {"0.1", "0.5", "1"}));
  if (dice->Number(4) == 0) Add(flags, "--sleep-idle-seconds", "1");
  if (dice->Number(4) == 0) Add(flags, "--sse-ping-interval", "1");
  if (dice->Number(4) == 0) Add(flags, "--log-format", "json");
}

}  // namespace

Lengths LengthsOf(double hours) {
  const double all_s = std::max(hours, 0.0) * 3600;
  Lengths lengths;
  lengths.round_s = std::clamp(all_s / std::size(kModels), kRoundSecondsMin, kRoundSecondsMax);
  lengths.rounds = std::max(kClassesMet, static_cast<size_t>(std::floor(all_s / lengths.round_s)));
  return lengths;
}

RoundPlan PlanRound(uint64_t seed, size_t number, double seconds) {
  SeededText dice(seed, "round " + std::to_string(number));
  RoundPlan plan;
  plan.number = number;
  plan.seed = dice.Number(UINT64_MAX);
  plan.model = kModels[(number - 1) % std::size(kModels)];
  plan.seconds = seconds;
  constexpr size_t kSlots[] = {1, 1, 2, 3};
  plan.slots = kSlots[dice.Number(std::size(kSlots))];
  plan.clients = 3 + dice.Number(4);
  plan.context_tokens = 1536 + 512 * dice.Number(3);
  plan.disk_bytes = (8 + dice.Number(24)) << 20U;
  // One thread, because several wait for each other if the machine has other load.
  plan.neighbour = number % 4 == 2;
  plan.live = number % 5 == 0;
  plan.both = {"--grid", "64", "--reuse", plan.live ? "live" : "exact", "--seed", "7", "-t", "1"};
  Add(&plan.both, "--ubatch-size", Pick(&dice, {"64", "128", "512"}));
  Add(&plan.both, "--context-overflow", Pick(&dice, {"error", "truncate"}));
  return plan;
}

Flags FlagsOfLife(const RoundPlan& plan, size_t life) {
  SeededText dice(plan.seed, "life " + std::to_string(life));
  Flags flags = plan.both;
  Add(&flags, "-np", std::to_string(plan.slots));
  Add(&flags, "-c", std::to_string(plan.slots * plan.context_tokens));
  Add(&flags, "--cache-disk", GibDigits(plan.disk_bytes));
  AddCacheFlags(&dice, &flags);
  AddServerFlags(&dice, &flags);
  return flags;
}

Flags FlagsOfNeighbour(const RoundPlan& plan, size_t life) {
  constexpr size_t kNeighbours = 1'000'000;
  RoundPlan own = plan;
  if (life % 2 == 0) own.disk_bytes /= 10;
  return FlagsOfLife(own, kNeighbours + life);
}

uint64_t QueueBytesMax(const Flags& flags) {
  if (FlagOf(flags, "--disk-write-mib-s").empty()) return 0;
  return std::stoull(FlagOf(flags, "--cache-ram")) << 20U;
}

std::string FlagOf(const Flags& flags, const std::string& name) {
  const auto found = std::find(flags.rbegin(), flags.rend(), name);
  return found == flags.rend() || found == flags.rbegin() ? "" : *std::prev(found);
}

}  // namespace cairn::soak
