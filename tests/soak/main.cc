// soak: plays random clients against the real server for hours, kills it, damages its folder, and
// judges every answer. Run by `make soak`; docs/testing.md says what is judged and how.
//
//   soak [--hours N] [--seed N] [--out DIR] [--only ARCHITECTURE] [--round N] [--program CAIRN]

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "soak/report.h"
#include "soak/round.h"

namespace cairn::soak {
namespace {

std::atomic<bool> interrupted{false};

void OnSignal(int signal) {
  if (interrupted.exchange(true)) std::_Exit(128 + signal);  // the servers get SIGTERM then
}

std::map<std::string, std::string> ParseArguments(int argc, char** argv) {
  std::map<std::string, std::string> arguments = {
      {"--hours", "0.25"}, {"--out", "build/soak"}, {"--program", CAIRN_PROGRAM}};
  for (int i = 1; i + 1 < argc; i += 2) arguments[argv[i]] = argv[i + 1];
  return arguments;
}

void Say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

// `only`: the model of every round.
RoundPlan Plan(uint64_t seed, size_t number, double seconds, const std::string& only) {
  RoundPlan plan = PlanRound(seed, number, seconds);
  for (const SoakModel& model : kModels) {
    if (only == model.architecture) plan.model = model;
  }
  return plan;
}

int Run(std::map<std::string, std::string> arguments) {
  SoakResult soak;
  soak.hours = std::strtod(arguments["--hours"].c_str(), nullptr);
  const std::string& seed = arguments["--seed"];
  soak.seed = seed.empty() ? std::random_device()() : std::strtoull(seed.c_str(), nullptr, 10);
  const Lengths lengths = LengthsOf(soak.hours);
  const std::string& out = arguments["--out"];
  std::filesystem::create_directories(out);
  Say("soak: SEED=" + std::to_string(soak.seed) + ", " + std::to_string(lengths.rounds) +
      " rounds of " + std::to_string(static_cast<int>(lengths.round_s)) + " s");
  const auto began = std::chrono::steady_clock::now();
  // One round alone, to see again what a long run saw.
  const size_t only_round = std::strtoull(arguments["--round"].c_str(), nullptr, 10);
  for (size_t number = 1; number <= lengths.rounds && !interrupted.load(); ++number) {
    if (only_round != 0 && number != only_round) continue;
    RoundOptions options;
    options.program = arguments["--program"];
    options.folder = out + "/round-" + std::to_string(number);
    options.interrupted = &interrupted;
    options.say = Say;
    const RoundPlan plan = Plan(soak.seed, number, lengths.round_s, arguments["--only"]);
    soak.rounds.push_back(PlayRound(plan, options));
    for (const Fault& fault : soak.rounds.back().faults) {
      Say("FAULT " + fault.what + (fault.detail.empty() ? "" : "\n  " + fault.detail));
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  soak.took_s = took.count();
  soak.interrupted = interrupted.load();
  const std::string page = RenderReport(soak);
  std::ofstream(out + "/report.md") << page;
  Say("\n" + page);
  if (soak.interrupted) return 130;
  if (soak.faults() == 0) return 0;
  Say("soak: " + std::to_string(soak.faults()) + " faults; logs and requests are in " + out +
      "; SEED=" + std::to_string(soak.seed) + " draws the same again");
  return 1;
}

}  // namespace
}  // namespace cairn::soak

int main(int argc, char** argv) {
  std::signal(SIGINT, cairn::soak::OnSignal);
  std::signal(SIGTERM, cairn::soak::OnSignal);
  return cairn::soak::Run(cairn::soak::ParseArguments(argc, argv));
}
