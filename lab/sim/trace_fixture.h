// For tests of trace replay: requests made by hand, and small random ones that grow, diverge,
// repeat, end in the middle of a block, or continue from answers.

#ifndef CAIRN_LAB_SIM_TRACE_FIXTURE_H_
#define CAIRN_LAB_SIM_TRACE_FIXTURE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "lab/sim/simulator.h"
#include "policy/eviction.h"
#include "policy/placement.h"
#include "trace/replay/trace.h"
#include "trace/sequence_numbers.h"

namespace cairn::test {

inline constexpr size_t kBlockTokens = 64;

// `more_tokens`: tokens after the last block, shared with no other request.
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

// A session whose requests come one second apart.
inline Trace OneSession(std::vector<TraceRequest> requests) {
  Trace trace;
  trace.block_tokens = kBlockTokens;
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i].at_ms = 1000.0 * static_cast<double>(i);
  }
  trace.sessions.push_back({"one", std::move(requests)});
  return trace;
}

// Makes random traces and profiles; the same seed makes the same sequence.
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

  // Requests with numbered tokens and answers; later ones continue, omit or cut those answers.
  Trace NextAnswered(size_t requests_count, size_t new_tokens_max = 300) {
    struct Said {
      Tokens prompt;
      Tokens all;
    };
    std::vector<Said> said;
    std::vector<TraceRequest> requests;
    SequenceNumbers numbers;
    for (size_t i = 0; i < requests_count; ++i) {
      Said next;
      if (!said.empty() && Below(6) > 0) {
        const Said& before = said[Below(said.size())];
        next.prompt = Below(4) == 0 ? before.prompt : before.all;
        if (Below(5) == 0) next.prompt.resize(Between(1, next.prompt.size()));
      }
      if (next.prompt.empty() || Below(5) > 0) AddTokens(Between(1, new_tokens_max), &next.prompt);
      next.all = next.prompt;
      if (Below(5) > 0) AddTokens(Between(1, new_tokens_max / 3), &next.all);
      requests.push_back(Answered(next.prompt.size(), next.all.size()));
      TraceRequest& request = requests.back();
      // A cancelled request has no answer.
      next.all.resize(request.input_tokens + request.output_tokens);
      request.token_ids = *numbers.Add(0, next.all);
      said.push_back(std::move(next));
    }
    return OneSession(std::move(requests));
  }

  // Random sizes and speeds, for every memory class.
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
    profile.prefill_tokens_per_s = static_cast<double>(Between(100, 10'000));
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

  // Most prompts end in unique tokens, some at a block's end, some in the middle of a block.
  TraceRequest Cut(const std::vector<BlockRange>& blocks) {
    const size_t kind = Below(4);
    TraceRequest request = BlocksRequest(blocks, kind < 2 ? Between(1, kBlockTokens - 1) : 0);
    if (kind == 3) request.input_tokens -= Below(kBlockTokens);
    Shape(&request);
    return request;
  }

  // A request with an answer, or one that is cancelled before it.
  TraceRequest Answered(size_t prompt_tokens, size_t all_tokens) {
    TraceRequest request;
    request.input_tokens = prompt_tokens;
    request.reuse = Below(15) > 0;
    if (Below(8) == 0) {
      request.cancelled_at = Below(prompt_tokens);
    } else {
      request.output_tokens = all_tokens - prompt_tokens;
      request.ended_by_model = Below(3) > 0;
    }
    Shape(&request);
    return request;
  }

  void AddTokens(size_t count, Tokens* tokens) {
    for (size_t i = 0; i < count; ++i) tokens->push_back(static_cast<Token>(Below(1000)));
  }

  void Shape(TraceRequest* request) {
    const size_t tokens = request->input_tokens;
    PromptShape& shape = request->shape;
    shape.tokens = tokens;
    shape.messages_end = tokens - Below(std::min<size_t>(tokens, 12));
    if (Below(2) == 0) shape.header_end = Below(std::min<size_t>(tokens, 256));
    for (size_t at = shape.header_end + Below(64); at < tokens; at += Between(1, 300)) {
      shape.turns.push_back({at, Below(3) > 0});
      if (at > 0) shape.eog_ends.push_back(at);
    }
    if (Below(3) == 0) shape.query_end = shape.messages_end;
    if (Below(4) == 0) shape.marks.push_back({Between(1, tokens), 5000});
  }

  std::mt19937 random_;
};

// Returns every pair of a placement and an eviction policy of the command line.
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

#endif  // CAIRN_LAB_SIM_TRACE_FIXTURE_H_
