// prefill: the cost of checkpoints for a prompt without a cached prefix. The same synthetic model
// prefills new prompts with checkpointing on (placement auto, ends kept, slot state offloaded) and
// off, in turn. The budget is small, so that most checkpoints evict an older one.
//
// CPU time is reported beside wall time: with a single-threaded model it is the same on a machine
// with other load.

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "benchmark.h"
#include "made_engine.h"
#include "sched/scheduler.h"

namespace cairn::bench {
namespace {

// A chat: a system prefix, turns of equal length, and a few tokens that begin the answer.
constexpr size_t kTurns = 8;
constexpr size_t kGenerationTokens = 6;
constexpr size_t kPromptsInBudget = 4;

// An engine and a cache for each side, so that neither side changes the other's slot.
class Side {
 public:
  static Result<std::unique_ptr<Side>> Make(const BenchSizes& sizes, bool checkpoints);

  // Prefills `prompt` and samples the first token.
  Status Read(const Tokens& prompt);
  CacheStats stats() const { return cache_->stats(); }

 private:
  Side(std::unique_ptr<LlamaEngine> engine, std::unique_ptr<CheckpointCache> cache,
       bool checkpoints);

  const std::unique_ptr<LlamaEngine> engine_;
  const std::unique_ptr<CheckpointCache> cache_;
  const SteadyClock clock_;
  Scheduler scheduler_;
};

PromptShape ShapeOf(size_t tokens) {
  PromptShape shape;
  shape.tokens = tokens;
  shape.header_end = tokens / 4;
  for (size_t i = 0; i < kTurns; ++i) {
    shape.turns.push_back({shape.header_end + (tokens - shape.header_end) * i / kTurns});
  }
  shape.messages_end = shape.query_end = tokens - kGenerationTokens;
  return shape;
}

SchedulerOptions OptionsOf(bool checkpoints) {
  SchedulerOptions options;
  options.slots.keep_ends = options.slots.offload = checkpoints;
  return options;
}

Side::Side(std::unique_ptr<LlamaEngine> engine, std::unique_ptr<CheckpointCache> cache,
           bool checkpoints)
    : engine_(std::move(engine)),
      cache_(std::move(cache)),
      scheduler_(engine_.get(), cache_.get(), &clock_, OptionsOf(checkpoints)) {}

Result<std::unique_ptr<Side>> Side::Make(const BenchSizes& sizes, bool checkpoints) {
  ModelShape shape;
  shape.architecture = "qwen35";
  auto engine = LoadMade(shape, sizes.prefill_tokens + 2 * kGridTokens, sizes.threads);
  if (!engine) return tl::unexpected(engine.error());
  auto placement = MakePlacement(checkpoints ? "auto" : "none");
  if (!placement) return tl::unexpected(placement.error());
  auto eviction = MakeEviction("value");
  if (!eviction) return tl::unexpected(eviction.error());
  const MemoryTraits& traits = (*engine)->traits();
  CacheOptions options;
  options.ram_bytes_max = kPromptsInBudget * (sizes.prefill_tokens * traits.kv_bytes_per_token +
                                              kTurns * traits.snapshot_bytes);
  auto cache = std::make_unique<CheckpointCache>(options, std::move(*placement),
                                                 std::move(*eviction), MakeRamStore());
  return std::unique_ptr<Side>(new Side(std::move(*engine), std::move(cache), checkpoints));
}

Status Side::Read(const Tokens& prompt) {
  GenerationRequest request;
  request.prompt = prompt;
  request.shape = ShapeOf(prompt.size());
  request.params.sampling.temperature = 0;
  request.params.tokens_max = 1;
  const auto generation = scheduler_.Submit(std::move(request));
  if (!generation) return tl::unexpected(generation.error());
  while (scheduler_.Step()) {
  }
  while (const auto event = (*generation)->Next(std::chrono::milliseconds(0))) {
    if (event->kind == GenerationEvent::Kind::kFailed) return tl::unexpected(event->error);
    if (event->cost.reused_tokens > 0) {
      return Fail(ErrorCode::kInternal, "a prompt that nobody sent before was not read whole");
    }
  }
  return {};
}

double ProcessorMs() {
  return 1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

// Returns the speed of `on` relative to `off`, by the least time of each: other load on the machine
// only adds to a time.
double Speed(const std::vector<double>& off_ms, const std::vector<double>& on_ms) {
  return Least(off_ms) / Least(on_ms);
}

}  // namespace

Result<std::vector<Row>> BenchPrefill(const BenchSizes& sizes) {
  auto off = Side::Make(sizes, false);
  if (!off) return tl::unexpected(off.error());
  auto on = Side::Make(sizes, true);
  if (!on) return tl::unexpected(on.error());
  const std::array<Side*, 2> sides = {off->get(), on->get()};
  std::array<Row, 2> rows;
  std::array<std::vector<double>, 2> processor_ms;
  // Run 0 is not measured: it offloads nothing and touches new pages.
  for (size_t run = 0; run <= sizes.prefill_runs; ++run) {
    const Tokens prompt = RandomTokens(sizes.prefill_tokens, run);
    for (size_t i = 0; i < sides.size(); ++i) {
      // The sides alternate in going first.
      const size_t side = (run + i) % sides.size();
      Status read;
      const double begin_ms = ProcessorMs();
      const double ms = TimeMs([&] { read = sides[side]->Read(prompt); });
      const double used_ms = ProcessorMs() - begin_ms;
      if (!read) return tl::unexpected(read.error());
      if (run == 0) continue;
      rows[side].ms.push_back(ms);
      processor_ms[side].push_back(used_ms);
    }
  }
  rows[0].what = "qwen35, placement none";
  rows[0].note = std::to_string(sizes.prefill_tokens) + " tokens";
  rows[1].what = "qwen35, auto, " + std::to_string((*on)->stats().inserted) + " stored";
  std::array<char, 64> note{};
  std::snprintf(note.data(), note.size(), "%.3f of none's speed, %.3f by CPU time",
                Speed(rows[0].ms, rows[1].ms), Speed(processor_ms[0], processor_ms[1]));
  rows[1].note = note.data();
  return std::vector<Row>(rows.begin(), rows.end());
}

}  // namespace cairn::bench
