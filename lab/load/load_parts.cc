#include "lab/load/load_parts.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "lab/client/seeded_text.h"

namespace cairn {
namespace load {

size_t Scaled(const LoadOptions& options, size_t tokens, size_t least) {
  return std::max(static_cast<size_t>(static_cast<double>(tokens) * options.scale), least);
}

std::string NewText(const LoadOptions& options, const std::string& name, size_t tokens) {
  SeededText text(options.seed, name + " of repetition " + std::to_string(options.repetition));
  return text.Prose(static_cast<size_t>(static_cast<double>(tokens) * options.bytes_per_token));
}

LoadAsk AskFor(std::vector<ChatMessage> messages, size_t answer_tokens) {
  LoadAsk ask;
  ask.messages = std::move(messages);
  ask.params.tokens_max = answer_tokens;
  ask.params.ignore_end = true;
  return ask;
}

void AtOnce(size_t count, const std::function<void(size_t index)>& play) {
  std::vector<std::thread> threads;
  threads.reserve(count);
  for (size_t i = 0; i < count; ++i) threads.emplace_back(play, i);
  for (std::thread& thread : threads) thread.join();
}

std::vector<LoadReply> AskAtOnce(const LoadClient& client, const std::vector<LoadAsk>& asks) {
  std::vector<LoadReply> replies(asks.size());
  AtOnce(asks.size(), [&](size_t i) { replies[i] = client.Ask(asks[i]); });
  return replies;
}

bool Faults::Accept(const LoadReply& reply) {
  if (reply.kind == LoadReply::Kind::kWhole || reply.kind == LoadReply::Kind::kGivenUp) return true;
  const std::string what =
      reply.kind == LoadReply::Kind::kBusy ? "503 with Retry-After" : reply.fault;
  const std::lock_guard<std::mutex> lock(mutex_);
  // The first fault of a kind is kept with the server's message.
  if (++run_->faults[what] == 1) run_->fault_details[what] = reply.detail;
  return false;
}

void SleepMs(double ms) {
  if (ms > 0) std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms));
}

void PutTimes(const std::string& key, const std::vector<double>& values, LoadRun* run) {
  if (values.empty()) return;
  const Spread spread = SpreadOf(values);
  run->figures[key + "_p50_ms"] = spread.p50;
  run->figures[key + "_p99_ms"] = spread.p99;
  run->samples[key] = values;
}

}  // namespace load

const std::array<std::string_view, 6>& LoadWorkloads() {
  static constexpr std::array<std::string_view, 6> kWorkloads = {"speed", "crowds", "mixed",
                                                                 "gaps",  "turns",  "streams"};
  return kWorkloads;
}

LoadRun PlayLoad(std::string_view workload, const LoadOptions& options) {
  LoadRun run;
  run.workload = workload;
  run.repetition = options.repetition;
  const LoadClient client(options.url, options.clock, options.http);
  if (workload == "speed") {
    load::PlaySpeed(options, client, &run);
  } else if (workload == "crowds") {
    load::PlayCrowds(options, client, &run);
  } else if (workload == "mixed") {
    load::PlayMixed(options, client, &run);
  } else if (workload == "gaps") {
    load::PlayGaps(options, client, &run);
  } else if (workload == "turns") {
    load::PlayTurns(options, client, &run);
  } else if (workload == "streams") {
    load::PlayStreams(options, client, &run);
  } else {
    run.error = "there is no workload '" + std::string(workload) + "'; there are";
    for (const std::string_view name : LoadWorkloads()) run.error.append(" ").append(name);
  }
  return run;
}

}  // namespace cairn
