#include "lab/sim/oracle_needs.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

#include "base/check.h"
#include "tree/prompt_cuts.h"

namespace cairn {
namespace {

// Returns the numbers of a request's first `count` tokens, prompt before answer, as few ranges: the
// trace's own token numbers, or those that PromptOf() makes of its blocks. Tokens in no block have
// no number.
std::vector<BlockRange> NumbersOf(const TraceRequest& request, size_t block_tokens, size_t count) {
  const bool numbered = !request.token_ids.empty();
  const size_t each = numbered ? 1 : block_tokens;
  std::vector<BlockRange> numbers;
  for (const BlockRange& range : numbered ? request.token_ids : request.blocks) {
    if (count == 0) break;
    const size_t tokens = std::min((size_t{range.last} - range.first + 1) * each, count);
    const size_t first = range.first * each;
    numbers.push_back({static_cast<uint32_t>(first), static_cast<uint32_t>(first + tokens - 1)});
    count -= tokens;
  }
  return numbers;
}

size_t CountOf(const BlockRange& numbers) {
  return size_t{numbers.last} - numbers.first + 1;
}

// SeenTokens: the tokens that slots have held, with the last request that held each. A number
// identifies its token and the whole prefix before it.
class SeenTokens {
 public:
  // Records that `request` holds all of `numbers`.
  void See(const BlockRange& numbers, size_t request) {
    SplitAt(numbers.first);
    SplitAt(size_t{numbers.last} + 1);
    parts_.erase(parts_.lower_bound(numbers.first), parts_.upper_bound(numbers.last));
    parts_[numbers.first] = {numbers.last, request};
  }

  // Calls add(count, last_seen) for each part of the seen prefix of `numbers`. Returns the length
  // of that prefix.
  template <typename Function>
  size_t ForEachKnown(const BlockRange& numbers, const Function& add) const {
    size_t next = numbers.first;
    auto part = parts_.upper_bound(numbers.first);
    if (part != parts_.begin()) --part;
    for (; part != parts_.end() && next <= numbers.last; ++part) {
      if (part->first > next || part->second.last < next) break;
      const size_t last = std::min(part->second.last, numbers.last);
      add(last - next + 1, part->second.last_seen);
      next = last + 1;
    }
    return next - numbers.first;
  }

 private:
  struct Part {
    uint32_t last = 0;
    size_t last_seen = 0;  // a request's index
  };

  // Splits the part that has `number` inside, so that one begins there.
  void SplitAt(size_t number) {
    if (number > UINT32_MAX) return;
    auto part = parts_.lower_bound(static_cast<uint32_t>(number));
    if (part == parts_.begin()) return;
    --part;
    if (part->second.last < number) return;
    parts_[static_cast<uint32_t>(number)] = part->second;
    part->second.last = static_cast<uint32_t>(number - 1);
  }

  std::map<uint32_t, Part> parts_;  // by their first number
};

// Finds the resume points of one request after the other.
class NeedsFinder {
 public:
  NeedsFinder(size_t block_tokens, const OracleInput& input)
      : block_tokens_(block_tokens), input_(input) {}

  OracleNeeds Next(const TraceRequest& request) {
    OracleNeeds needs;
    needs.prompt_tokens = request.input_tokens;
    if (request.reuse) FindShared(request, &needs);
    Add(request);
    ++request_;
    return needs;
  }

 private:
  void FindShared(const TraceRequest& request, OracleNeeds* needs) const {
    size_t known = 0;
    for (const BlockRange& numbers : NumbersOf(request, block_tokens_, request.input_tokens)) {
      const size_t begin = known;
      known += seen_.ForEachKnown(
          numbers, [&](size_t count, size_t last_seen) { AddRun(last_seen, count, &needs->runs); });
      AddEnds(numbers, begin, needs);
      if (known - begin < CountOf(numbers)) break;
    }
    CutToDeepest(known, needs);
  }

  static void AddRun(size_t last_seen, size_t tokens, std::vector<OracleRun>* runs) {
    const size_t begin = runs->empty() ? 0 : runs->back().end_tokens;
    if (runs->empty() || runs->back().last_seen != last_seen) runs->push_back({last_seen, begin});
    runs->back().end_tokens = begin + tokens;
  }

  // Adds the ends of slots within `numbers`, which begin at position `begin` of the prompt. Only
  // the ends of prompts keep logits, so only those may be the end of this prompt.
  void AddEnds(const BlockRange& numbers, size_t begin, OracleNeeds* needs) const {
    auto end = ends_.lower_bound(numbers.first);
    for (; end != ends_.end() && end->first <= numbers.last; ++end) {
      const size_t position = begin + (end->first - numbers.first) + 1;
      if (position < needs->prompt_tokens || end->second) needs->ends.push_back(position);
    }
  }

  void CutToDeepest(size_t known, OracleNeeds* needs) const {
    const PromptCuts cuts(input_.grid_tokens, needs->prompt_tokens);
    needs->deepest = cuts.AtOrBefore(std::min(known, needs->prompt_tokens - 1));
    if (!needs->ends.empty()) needs->deepest = std::max(needs->deepest, needs->ends.back());
    std::vector<OracleRun>& runs = needs->runs;
    size_t begin = 0;
    size_t count = 0;
    for (; count < runs.size() && begin < needs->deepest; ++count) {
      begin = runs[count].end_tokens = std::min(runs[count].end_tokens, needs->deepest);
    }
    runs.resize(count);
  }

  void Add(const TraceRequest& request) {
    const size_t most = input_.context_tokens > 0 ? input_.context_tokens - 1 : SIZE_MAX;
    const size_t held = std::min(SlotTokensAtEnd(request), most);
    CHECK(held >= request.input_tokens);
    size_t begin = 0;
    for (const BlockRange& numbers : NumbersOf(request, block_tokens_, held)) {
      seen_.See(numbers, request_);
      const size_t end = begin + CountOf(numbers);
      // A prompt that ends in tokens of no block has an end that no other request can share.
      if (begin < request.input_tokens && request.input_tokens <= end) {
        ends_[static_cast<uint32_t>(numbers.first + (request.input_tokens - begin - 1))] = true;
      }
      if (end == held) ends_.try_emplace(numbers.last, false);
      begin = end;
    }
  }

  const size_t block_tokens_;
  const OracleInput& input_;
  SeenTokens seen_;
  std::map<uint32_t, bool> ends_;  // by number; true: of a prompt, not only of an answer
  size_t request_ = 0;
};

}  // namespace

std::vector<OracleNeeds> FindNeeds(const std::vector<TraceStep>& steps, size_t block_tokens,
                                   const OracleInput& input) {
  NeedsFinder finder(block_tokens, input);
  std::vector<OracleNeeds> all;
  for (const TraceStep& step : steps) {
    const TraceRequest& request = *step.request;
    const bool refused = input.context_tokens > 0 && request.input_tokens >= input.context_tokens;
    if (!refused) all.push_back(finder.Next(request));
  }
  return all;
}

}  // namespace cairn
