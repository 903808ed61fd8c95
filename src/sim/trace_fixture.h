// For tests of what replays traces: requests made by hand, and random small ones that grow, part,
// come back and are cut short in the middle of a block.

#ifndef CAIRN_SIM_TRACE_FIXTURE_H_
#define CAIRN_SIM_TRACE_FIXTURE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "policy/eviction.h"
#include "policy/placement.h"
#include "sim/simulator.h"
#include "sim/trace.h"

namespace cairn::test {

inline constexpr size_t kBlockTokens = 64;

// `more_tokens`: after the last block, shared with nobody.
inline TraceRequest BlocksRequest(const std::vector<BlockRange>& blocks, size_t more_tokens = 0) {
  TraceRequest request;
  request.blocks = blocks;
  request.input_tokens = more_tokens;
  for (const BlockRange& range : blocks) {
    request.input_tokens += (range.last - range.first + 1) * kBlockTokens;
  }
  request.shape.tokens = request.input_tokens;
  request.shape.messages_end = request.input_tokens;
  return request;
}

// A session whose requests come a second apart.
inline Trace OneSession(std::vector<TraceRequest> requests) {
  Trace trace;
  trace.block_tokens = kBlockTokens;
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i].at_ms = 1000.0 * static_cast<double>(i);
  }
  trace.sessions.push_back({"one", std::move(requests)});
  return trace;
}

// The same seed makes the same things.
class RandomTraces {
 public:
  explicit RandomTraces(uint32_t seed) : random_(seed) {}

  size_t Below(size_t n) { return random_() % n; }
  size_t Between(size_t low, size_t high) { return low + Below(high - low + 1); }

  Trace Next(size_t requests_count, size_t new_blocks_max = 6) {
    std::vector<std::vector<BlockRange>> prompts;
    std::vector<TraceRequest> requests;
    uint32_t next_id = 0;
    for (size_t i = 0; i < requests_count; ++i) {
      std::vector<BlockRange> blocks;
      if (!prompts.empty() && Below(6) > 0) blocks = FrontOf(prompts[Below(prompts.size())]);
      if (blocks.empty() || Below(4) > 0) {
        const auto more = static_cast<uint32_t>(Between(1, new_blocks_max));
        blocks.push_back({next_id, next_id + more - 1});
        next_id += more;
      }
      prompts.push_back(blocks);
      requests.push_back(Cut(blocks));
    }
    return OneSession(std::move(requests));
  }

  // Sizes and speeds of no real model, of every memory class.
  ModelProfile NextProfile() {
    constexpr std::array kClasses = {MemoryClass::kAttention, MemoryClass::kSlidingWindow,
                                     MemoryClass::kRecurrent, MemoryClass::kHybrid,
                                     MemoryClass::kHybrid};
    ModelProfile profile;
    profile.name = "random";
    profile.memory_class = kClasses[Below(kClasses.size())];
    if (profile.memory_class != MemoryClass::kRecurrent) {
      profile.kv_bytes_per_token = Between(1, 16);
      profile.segment_bytes = Below(3) * 8;
    }
    if (profile.memory_class != MemoryClass::kAttention) profile.snapshot_bytes = Between(1, 4000);
    if (profile.memory_class == MemoryClass::kSlidingWindow) {
      profile.window_tokens = Between(16, 160);
      profile.snapshot_bytes += profile.window_tokens;
    }
    profile.logits_bytes = Below(200);
    profile.read_tokens_per_s = static_cast<double>(Between(100, 10'000));
    profile.move_bytes_per_s = static_cast<double>(Between(1'000, 10'000'000));
    return profile;
  }

 private:
  std::vector<BlockRange> FrontOf(const std::vector<BlockRange>& prompt) {
    std::vector<BlockRange> front;
    for (BlockRange range : prompt) {
      const bool stop = Below(6) == 0;
      if (stop) range.last -= static_cast<uint32_t>(Below(range.last - range.first + 1));
      front.push_back(range);
      if (stop) break;
    }
    return front;
  }

  // Most prompts end in tokens of their own, some with a block, some in the middle of one.
  TraceRequest Cut(const std::vector<BlockRange>& blocks) {
    const size_t kind = Below(4);
    TraceRequest request = BlocksRequest(blocks, kind < 2 ? Between(1, kBlockTokens - 1) : 0);
    if (kind == 3) request.input_tokens -= Below(kBlockTokens);
    const size_t tokens = request.input_tokens;
    PromptShape& shape = request.shape;
    shape.tokens = tokens;
    shape.messages_end = tokens - Below(std::min<size_t>(tokens, 12));
    if (Below(2) == 0) shape.header_end = Below(std::min<size_t>(tokens, 256));
    for (size_t at = shape.header_end + Below(64); at < tokens; at += Between(1, 300)) {
      shape.turns.push_back({at, Below(3) > 0});
      if (at > 0) shape.eog_ends.push_back(at);
    }
    if (Below(3) == 0) shape.query_end = shape.messages_end;
    if (Below(4) == 0) shape.marks.push_back({Between(1, tokens), 5000});
    return request;
  }

  std::mt19937 random_;
};

// Every placement beside every eviction that the command line knows.
inline std::vector<std::pair<std::string, std::string>> AllPolicyPairs() {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const PolicySummary& placement : PlacementSummaries()) {
    for (const PolicySummary& eviction : EvictionSummaries()) {
      pairs.emplace_back(placement.name, eviction.name);
    }
  }
  return pairs;
}

}  // namespace cairn::test

#endif  // CAIRN_SIM_TRACE_FIXTURE_H_
