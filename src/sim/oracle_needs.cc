#include "sim/oracle_needs.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include "cache/resume.h"

namespace cairn {
namespace {

// Instead of a request's number.
constexpr uint32_t kNever = UINT32_MAX;
constexpr uint32_t kCut = kNever - 1;

// The front of a block, up to `end`, was last seen by a request.
struct Part {
  size_t end = 0;
  uint32_t last_seen = 0;
};

// A block in which a prompt ended.
struct CutBlock {
  std::vector<Part> parts;   // by rising end; the later, the longer ago
  std::vector<size_t> ends;  // of prompts, in rising order
};

// What was seen of every block so far.
class SeenBlocks {
 public:
  SeenBlocks(size_t count, size_t block_tokens)
      : block_tokens_(block_tokens), last_seen_(count, kNever) {}

  // Null: no prompt ended in it.
  const CutBlock* Cut(uint32_t id) const {
    if (last_seen_[id] != kCut) return nullptr;
    return &cut_.find(id)->second;
  }
  // REQUIRES: it is not cut.
  bool Seen(uint32_t id) const { return last_seen_[id] != kNever; }
  size_t LastSeen(uint32_t id) const { return last_seen_[id]; }

  // A prompt holds the first `tokens` tokens of the block; `ends`: and nothing after them.
  void See(uint32_t id, size_t tokens, bool ends, size_t request) {
    const auto now = static_cast<uint32_t>(request);
    if (!ends && last_seen_[id] != kCut) {
      last_seen_[id] = now;
      return;
    }
    CutBlock& block = cut_[id];
    if (last_seen_[id] < kCut) block.parts = {{block_tokens_, last_seen_[id]}};
    last_seen_[id] = kCut;
    std::erase_if(block.parts, [&](const Part& part) { return part.end <= tokens; });
    block.parts.insert(block.parts.begin(), {tokens, now});
    if (!ends) return;
    const auto at = std::lower_bound(block.ends.begin(), block.ends.end(), tokens);
    if (at == block.ends.end() || *at != tokens) block.ends.insert(at, tokens);
  }

 private:
  const size_t block_tokens_;
  std::vector<uint32_t> last_seen_;  // by block: a request, kCut or kNever
  std::unordered_map<uint32_t, CutBlock> cut_;
};

// Walks one prompt after the other.
class NeedsFinder {
 public:
  NeedsFinder(size_t block_count, size_t block_tokens, size_t grid_tokens)
      : block_tokens_(block_tokens), grid_tokens_(grid_tokens), seen_(block_count, block_tokens) {}

  OracleNeeds Next(const TraceRequest& request) {
    OracleNeeds needs;
    needs.prompt_tokens = request.input_tokens;
    begin_ = 0;
    known_tokens_ = 0;
    known_ = true;
    for (const BlockRange& range : request.blocks) {
      for (uint32_t id = range.first; id <= range.last; ++id) AddBlock(id, &needs);
    }
    ++request_;
    CutToDeepest(&needs);
    return needs;
  }

 private:
  void AddBlock(uint32_t id, OracleNeeds* needs) {
    const size_t tokens = std::min(block_tokens_, needs->prompt_tokens - begin_);
    if (tokens == 0) return;
    if (known_) {
      const size_t covered = AddKnown(id, tokens, needs);
      known_tokens_ += covered;
      known_ = covered == tokens;
    }
    begin_ += tokens;
    // A prompt with tokens that are in no block ends where no other can follow.
    seen_.See(id, tokens, begin_ == needs->prompt_tokens, request_);
  }

  // How many of the block's first `tokens` were ever seen.
  size_t AddKnown(uint32_t id, size_t tokens, OracleNeeds* needs) const {
    const CutBlock* cut = seen_.Cut(id);
    if (cut == nullptr) {
      if (!seen_.Seen(id)) return 0;
      AddRun(seen_.LastSeen(id), begin_ + tokens, needs);
      return tokens;
    }
    size_t covered = 0;
    for (const Part& part : cut->parts) {
      if (covered == tokens) break;
      covered = std::min(part.end, tokens);
      AddRun(part.last_seen, begin_ + covered, needs);
    }
    for (const size_t end : cut->ends) {
      if (end <= tokens) needs->ends.push_back(begin_ + end);
    }
    return covered;
  }

  static void AddRun(size_t last_seen, size_t end_tokens, OracleNeeds* needs) {
    std::vector<OracleRun>& runs = needs->runs;
    if (runs.empty() || runs.back().last_seen != last_seen) runs.push_back({last_seen, 0});
    runs.back().end_tokens = end_tokens;
  }

  void CutToDeepest(OracleNeeds* needs) const {
    const size_t most = std::min(known_tokens_, LastCut(needs->prompt_tokens, grid_tokens_));
    needs->deepest = most - most % grid_tokens_;
    if (!needs->ends.empty()) needs->deepest = std::max(needs->deepest, needs->ends.back());
    std::vector<OracleRun>& runs = needs->runs;
    size_t begin = 0;
    size_t count = 0;
    for (; count < runs.size() && begin < needs->deepest; ++count) {
      begin = runs[count].end_tokens = std::min(runs[count].end_tokens, needs->deepest);
    }
    runs.resize(count);
  }

  const size_t block_tokens_;
  const size_t grid_tokens_;
  SeenBlocks seen_;
  size_t request_ = 0;
  // Of the prompt at hand.
  size_t begin_ = 0;         // tokens before the block
  size_t known_tokens_ = 0;  // of them, those seen before
  bool known_ = true;        // they all were
};

}  // namespace

std::vector<OracleNeeds> FindNeeds(const std::vector<TraceStep>& steps, size_t block_tokens,
                                   const OracleInput& input) {
  size_t block_count = 0;
  for (const TraceStep& step : steps) {
    for (const BlockRange& range : step.request->blocks) {
      block_count = std::max(block_count, size_t{range.last} + 1);
    }
  }
  NeedsFinder finder(block_count, block_tokens, input.grid_tokens);
  std::vector<OracleNeeds> all;
  for (const TraceStep& step : steps) {
    const TraceRequest& request = *step.request;
    const bool refused = input.context_tokens > 0 && request.input_tokens >= input.context_tokens;
    if (!refused) all.push_back(finder.Next(request));
  }
  return all;
}

}  // namespace cairn
