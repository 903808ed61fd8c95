#include "sim/oracle.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/check.h"
#include "cache/resume.h"
#include "sim/simulator.h"

namespace cairn {
namespace {

// Part of a prompt whose blocks were all last seen in the same request.
struct Run {
  size_t last_seen = 0;  // a request's number
  size_t end_tokens = 0;
};

// What one request may resume from: shallowest first.
using Runs = std::vector<Run>;

// A slot can go on from where an answer ended, which is on no block's end. What lies beyond the
// last whole block counts as seen when that block was, or just now: later than it was, so cheaper.
void AddTail(size_t shared_tokens, size_t j, Runs* runs) {
  const size_t end = runs->empty() ? 0 : runs->back().end_tokens;
  if (shared_tokens <= end) return;
  if (runs->empty()) runs->push_back({j - 1, 0});
  runs->back().end_tokens = shared_tokens;
}

std::vector<Runs> FindRuns(const std::vector<TraceStep>& steps, size_t block_tokens,
                           size_t grid_tokens) {
  const std::vector<size_t> shared = SharedTokens(steps, block_tokens, grid_tokens);
  std::unordered_map<uint32_t, size_t> last_seen;
  std::vector<Runs> all(steps.size());
  for (size_t j = 0; j < steps.size(); ++j) {
    const TraceRequest& request = *steps[j].request;
    const bool exact = !request.token_ids.empty();
    const size_t most = exact ? shared[j] : LastCut(request.input_tokens, grid_tokens);
    size_t position = 0;
    bool known = true;
    for (const BlockRange& range : request.blocks) {
      for (uint32_t id = range.first; id <= range.last; ++id) {
        const auto [found, is_new] = last_seen.try_emplace(id, j);
        known = known && !is_new;
        if (known) {
          position = std::min(position + block_tokens, most);
          Runs& runs = all[j];
          if (runs.empty() || runs.back().last_seen != found->second)
            runs.push_back({found->second, 0});
          runs.back().end_tokens = position;
        }
        found->second = j;
      }
    }
    for (const BlockRange& range : request.answer_blocks) {
      for (uint32_t id = range.first; id <= range.last; ++id) last_seen[id] = j;
    }
    if (exact) AddTail(shared[j], j, &all[j]);
  }
  return all;
}

class PriceSearch {
 public:
  PriceSearch(const std::vector<Runs>& runs, const OracleInput& input)
      : runs_(runs),
        input_(input),
        prices_(runs.size(), FirstPrice()),
        paid_(runs.size() + 1),
        used_(runs.size() + 1) {}

  // The least bound that was found.
  double Search() {
    double least = Evaluate();
    // Each price moves by how much its time is over or under the line, less and less.
    for (size_t round = 1; round <= input_.rounds; ++round) {
      const double step = 1.0 / std::sqrt(static_cast<double>(round));
      for (size_t i = 0; i < prices_.size(); ++i) {
        const double over = (used_[i] - input_.memory_bytes) / input_.memory_bytes;
        prices_[i] *= std::exp(step * std::clamp(over, -1.0, 1.0));
      }
      least = std::min(least, Evaluate());
    }
    return least;
  }

 private:
  // A token saved for each of its bytes kept over a hundred requests.
  double FirstPrice() const {
    return 1.0 / (100.0 * static_cast<double>(std::max<size_t>(input_.kv_bytes_per_token, 1)));
  }

  // The bound at these prices; fills used_.
  double Evaluate() {
    paid_[0] = 0;
    for (size_t i = 0; i < prices_.size(); ++i) paid_[i + 1] = paid_[i] + prices_[i];
    std::fill(used_.begin(), used_.end(), 0);
    double bound = paid_.back() * input_.memory_bytes;
    for (size_t j = 0; j < runs_.size(); ++j) bound += Best(j);
    // used_ holds differences until here.
    for (size_t i = 1; i < used_.size(); ++i) used_[i] += used_[i - 1];
    return bound;
  }

  double Best(size_t j) {
    const auto kv = static_cast<double>(input_.kv_bytes_per_token);
    const auto snapshot = static_cast<double>(input_.snapshot_bytes);
    double best = 0;
    double kept = 0;  // tokens less the price of their KV
    size_t begin = 0;
    size_t chosen = 0;
    const Runs& runs = runs_[j];
    for (size_t r = 0; r < runs.size(); ++r) {
      const double price = paid_[j] - paid_[runs[r].last_seen];
      kept += static_cast<double>(runs[r].end_tokens - begin) * (1 - kv * price);
      begin = runs[r].end_tokens;
      if (kept - snapshot * price > best) {
        best = kept - snapshot * price;
        chosen = r + 1;
      }
    }
    begin = 0;
    for (size_t r = 0; r < chosen; ++r) {
      Use(runs[r].last_seen, j, static_cast<double>(runs[r].end_tokens - begin) * kv);
      begin = runs[r].end_tokens;
    }
    if (chosen > 0) Use(runs[chosen - 1].last_seen, j, snapshot);
    return best;
  }

  void Use(size_t from, size_t to, double bytes) {
    used_[from] += bytes;
    used_[to] -= bytes;
  }

  const std::vector<Runs>& runs_;
  const OracleInput& input_;
  std::vector<double> prices_;  // of a byte from request i to the next
  std::vector<double> paid_;    // for a byte from the first request to i
  std::vector<double> used_;    // bytes from request i to the next
};

}  // namespace

OracleBound BoundSaved(const std::vector<TraceStep>& steps, size_t block_tokens,
                       const OracleInput& input) {
  CHECK(input.memory_bytes > 0);
  OracleBound bound;
  for (const TraceStep& step : steps) bound.prompt_tokens += step.request->input_tokens;
  const std::vector<Runs> runs = FindRuns(steps, block_tokens, input.grid_tokens);
  double shared = 0;
  for (const Runs& r : runs) shared += r.empty() ? 0 : static_cast<double>(r.back().end_tokens);
  bound.saved_tokens_max = std::min(shared, PriceSearch(runs, input).Search());
  return bound;
}

}  // namespace cairn
