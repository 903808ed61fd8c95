#include "cmd/doctor/cured_trace.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cairn {
namespace {

size_t CountOf(const BlockRange& range) {
  return size_t{range.last} - range.first + 1;
}

size_t CountOf(const std::vector<BlockRange>& numbers) {
  size_t count = 0;
  for (const BlockRange& range : numbers) count += CountOf(range);
  return count;
}

// Appends the numbers at [begin, end).
void AppendPart(const std::vector<BlockRange>& numbers, size_t begin, size_t end,
                std::vector<BlockRange>* to) {
  size_t position = 0;
  for (const BlockRange& range : numbers) {
    const size_t count = CountOf(range);
    const size_t from = std::max(begin, position);
    const size_t until = std::min(end, position + count);
    if (from < until) {
      to->push_back({static_cast<uint32_t>(range.first + (from - position)),
                     static_cast<uint32_t>(range.first + (until - position) - 1)});
    }
    position += count;
  }
}

// A request begins with another one's first `to` numbers, in place of its own first `from`.
struct Joint {
  size_t from = 0;
  size_t to = 0;

  // Where a place of the request is.
  size_t PlaceOf(size_t place) const { return place + to - std::min(place + to, from); }
};

// `header_end`: of the other request.
void MoveShape(const Joint& joint, size_t header_end, PromptShape* shape) {
  shape->tokens = joint.PlaceOf(shape->tokens);
  if (joint.from == joint.to) return;
  const bool joins_inside = shape->header_end > joint.from;
  shape->header_end = joins_inside ? joint.PlaceOf(shape->header_end) : header_end;
  shape->messages_end = joint.PlaceOf(shape->messages_end);
  shape->query_end = joint.PlaceOf(shape->query_end);
  for (Turn& turn : shape->turns) turn.position = joint.PlaceOf(turn.position);
  for (size_t& end : shape->eog_ends) end = joint.PlaceOf(end);
  for (ReasoningRange& range : shape->reasoning) {
    range = {joint.PlaceOf(range.begin), joint.PlaceOf(range.end)};
  }
  std::erase_if(shape->reasoning, [](const auto& range) { return range.begin >= range.end; });
  for (ClientMark& mark : shape->marks) mark.position = joint.PlaceOf(mark.position);
}

// The numbers of single tokens of a request that has blocks.
std::vector<BlockRange> TokenNumbers(const TraceRequest& request, size_t block_tokens,
                                     uint64_t* next_unique) {
  std::vector<BlockRange> numbers;
  size_t left = request.input_tokens;
  for (const BlockRange& range : request.blocks) {
    const size_t count = std::min(left, CountOf(range) * block_tokens);
    if (count == 0) break;
    const uint64_t first = uint64_t{range.first} * block_tokens;
    numbers.push_back({static_cast<uint32_t>(first), static_cast<uint32_t>(first + count - 1)});
    left -= count;
  }
  if (left > 0) {
    numbers.push_back(
        {static_cast<uint32_t>(*next_unique), static_cast<uint32_t>(*next_unique + left - 1)});
    *next_unique += left;
  }
  return numbers;
}

}  // namespace

NumberOwners::Known NumberOwners::Find(const std::vector<BlockRange>& numbers) const {
  Known known;
  for (const BlockRange& range : numbers) {
    for (uint64_t number = range.first; number <= range.last;) {
      const auto after = owned_.upper_bound(static_cast<uint32_t>(number));
      if (after == owned_.begin()) return known;
      const Owned& owned = std::prev(after)->second;
      if (owned.last < number) return known;
      const uint64_t end = std::min(range.last, owned.last) + uint64_t{1};
      known.tokens += end - number;
      known.owner = owned.owner;
      number = end;
    }
  }
  return known;
}

void NumberOwners::Add(const std::vector<BlockRange>& numbers, size_t known, size_t owner) {
  std::vector<BlockRange> added;
  AppendPart(numbers, known, SIZE_MAX, &added);
  for (const BlockRange& range : added) owned_.emplace(range.first, Owned{range.last, owner});
}

std::vector<TraceRequest> CuredRequests(const std::vector<TraceRequest>& requests,
                                        const std::vector<std::optional<Cure>>& cures) {
  NumberOwners owners;
  std::vector<TraceRequest> cured;
  std::vector<Joint> joints;
  for (size_t i = 0; i < requests.size(); ++i) {
    const TraceRequest& request = requests[i];
    const NumberOwners::Known known = owners.Find(request.token_ids);
    owners.Add(request.token_ids, known.tokens, i);
    // The place in the recorded request that it has the beginning of.
    size_t base = known.owner;
    Joint joint{known.tokens, known.tokens};
    const std::optional<Cure>& cure = cures[i];
    if (cure && cure->tokens >= known.tokens && cure->tokens < request.input_tokens) {
      base = cure->earlier;
      joint = {cure->tokens, cure->earlier_tokens};
    }
    TraceRequest one = request;
    if (joint.from > 0) {
      joint.to = joints[base].PlaceOf(joint.to);
      one.token_ids.clear();
      AppendPart(cured[base].token_ids, 0, joint.to, &one.token_ids);
      AppendPart(request.token_ids, joint.from, SIZE_MAX, &one.token_ids);
      one.input_tokens = CountOf(one.token_ids) - request.output_tokens;
      MoveShape(joint, cured[base].shape.header_end, &one.shape);
      if (one.cancelled_at) one.cancelled_at = joint.PlaceOf(*one.cancelled_at);
    }
    cured.push_back(std::move(one));
    joints.push_back(joint);
  }
  return cured;
}

RecordedRequests RecordedRequestsOf(const Trace& trace) {
  uint64_t next_unique = 0;
  for (const TraceSession& session : trace.sessions) {
    for (const TraceRequest& request : session.requests) {
      for (const BlockRange& range : request.blocks) {
        next_unique = std::max(next_unique, (uint64_t{range.last} + 1) * trace.block_tokens);
      }
    }
  }
  RecordedRequests recorded;
  // Sessions with clocks of their own come one after the other.
  for (const TraceStep& step : Interleave(trace, trace.absolute_time ? 0 : 1)) {
    TraceRequest request = *step.request;
    if (request.token_ids.empty()) {
      request.token_ids = TokenNumbers(request, trace.block_tokens, &next_unique);
      request.blocks.clear();
      request.output_tokens = 0;
    }
    recorded.requests.push_back(std::move(request));
    recorded.at_ms.push_back(step.at_ms);
  }
  return recorded;
}

Result<std::vector<size_t>> ReusedInReplay(const std::vector<TraceRequest>& requests,
                                           const std::vector<double>& at_ms,
                                           const SimOptions& options) {
  std::vector<TraceStep> steps;
  for (size_t i = 0; i < requests.size(); ++i) steps.push_back({at_ms[i], 0, &requests[i]});
  auto server = SimServer::Make(options, ContextTokens(steps, options));
  if (!server) return tl::unexpected(server.error());
  StepTokens tokens(steps, 1);
  std::vector<size_t> reused;
  for (size_t i = 0; i < requests.size(); ++i) {
    const TraceRequest& asked = requests[i];
    reused.push_back((*server)
                         ->Serve(asked, at_ms[i], tokens.PromptOf(asked), tokens.AnswerOf(asked))
                         .reused_tokens);
  }
  return reused;
}

}  // namespace cairn
