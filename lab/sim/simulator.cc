#include "lab/sim/simulator.h"

#include <algorithm>

#include "lab/sim/oracle_needs.h"

namespace cairn {

double LiveBytesMax(const std::vector<TraceStep>& steps, const SimOptions& options) {
  const size_t kv = ContextTokens(steps, options) * options.profile.kv_bytes_per_token;
  return static_cast<double>(kv + options.slots * options.profile.snapshot_bytes);
}

OracleInput OracleInputFor(const std::vector<TraceStep>& steps, const SimOptions& options) {
  const ModelProfile& profile = options.profile;
  OracleInput input;
  input.snapshot_bytes = profile.snapshot_bytes;
  input.kv_bytes_per_token = profile.kv_bytes_per_token;
  if (profile.window_tokens > 0) {
    // As SizedEngine sizes its snapshots.
    input.snapshot_bytes -= profile.snapshot_bytes % profile.window_tokens;
    input.free_tokens = profile.window_tokens;
  }
  input.disk_bytes = static_cast<double>(options.disk.bytes_max);
  input.read_tokens_per_byte = profile.prefill_tokens_per_s / options.disk.read_bytes_per_s;
  input.memory_bytes = static_cast<double>(options.cache.ram_bytes_max) +
                       LiveBytesMax(steps, options) + input.disk_bytes;
  // With chunks smaller than the grid, a cancelled request may leave its slot off the grid.
  const bool cut_off_grid =
      options.chunk_tokens_max < kUsualGridTokens &&
      std::any_of(
          steps.begin(), steps.end(),
          [](const TraceStep& step) { return step.request->cancelled_at.has_value(); });
  input.grid_tokens = options.reuse == ReuseMode::kAny || cut_off_grid ? 1 : kUsualGridTokens;
  input.context_tokens = ContextTokens(steps, options);
  return input;
}

Result<SimReport> Simulate(const std::vector<TraceStep>& steps, size_t block_tokens,
                           const SimOptions& options,
                           const std::function<void(size_t done)>& on_progress) {
  auto server = SimServer::Make(options, ContextTokens(steps, options));
  if (!server) return tl::unexpected(server.error());
  StepTokens tokens(steps, block_tokens);
  for (size_t i = 0; i < steps.size(); ++i) {
    const TraceRequest& asked = *steps[i].request;
    (*server)->Serve(asked, steps[i].at_ms, tokens.PromptOf(asked), tokens.AnswerOf(asked));
    if (on_progress) on_progress(i + 1);
  }
  SimReport report = (*server)->Finish();
  for (const OracleNeeds& needs : FindNeeds(steps, block_tokens, OracleInputFor(steps, options))) {
    report.shared_tokens += needs.deepest;
  }
  return report;
}

}  // namespace cairn
