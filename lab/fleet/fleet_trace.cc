#include "lab/fleet/fleet_trace.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_set>

#include "base/check.h"
#include "lab/fleet/number_ranges.h"
#include "lab/sim/oracle_needs.h"

namespace cairn {
namespace {

// A block that so many others follow ends a header; a conversation's own messages have few
// variants.
constexpr size_t kHeaderBranches = 16;
// The copies of a trace with times begin within this time.
constexpr double kCopiesMs = 600'000;
// As in NumbersNamePrefixes(): the rest is for tokens in no block.
constexpr size_t kNumbersMax = size_t{kNumberedMax} / 8 * 7;

const std::vector<BlockRange>& NumbersOf(const TraceRequest& request) {
  return request.token_ids.empty() ? request.blocks : request.token_ids;
}

// Returns the first `count` numbers.
std::vector<BlockRange> FirstOf(const std::vector<BlockRange>& numbers, size_t count) {
  std::vector<BlockRange> front;
  for (const BlockRange& range : numbers) {
    if (count == 0) break;
    const size_t taken = std::min(count, size_t{range.last} - range.first + 1);
    front.push_back({range.first, static_cast<uint32_t>(range.first + taken - 1)});
    count -= taken;
  }
  return front;
}

// Returns the numbers that end headers because many others follow them, sorted.
std::vector<uint32_t> HeaderEnds(const std::vector<TraceStep>& steps) {
  std::map<uint32_t, std::unordered_set<uint32_t>> followers;
  std::vector<BlockRange> all;
  for (const TraceStep& step : steps) {
    const BlockRange* before = nullptr;
    for (const BlockRange& range : NumbersOf(*step.request)) {
      if (before != nullptr) followers[before->last].insert(range.first);
      before = &range;
      if (range.first < range.last) all.push_back({range.first, range.last - 1});
    }
  }
  const NumberRanges followed(std::move(all));  // by the next number
  std::vector<uint32_t> ends;
  for (auto& [number, after] : followers) {
    if (followed.Has(number)) after.insert(number + 1);
    if (after.size() >= kHeaderBranches) ends.push_back(number);
  }
  return ends;
}

// Returns the numbers of all headers of a trace that names no sessions.
NumberRanges InferredHeaders(const std::vector<TraceStep>& steps) {
  const std::vector<uint32_t> ends = HeaderEnds(steps);
  std::vector<BlockRange> headers;
  for (const TraceStep& step : steps) {
    size_t position = 0;
    size_t header = 0;
    for (const BlockRange& range : NumbersOf(*step.request)) {
      const auto above = std::upper_bound(ends.begin(), ends.end(), range.last);
      if (above != ends.begin() && *std::prev(above) >= range.first) {
        header = position + (*std::prev(above) - range.first) + 1;
      }
      position += size_t{range.last} - range.first + 1;
    }
    for (const BlockRange& range : FirstOf(NumbersOf(*step.request), header)) {
      headers.push_back(range);
    }
  }
  return NumberRanges(std::move(headers));
}

// Returns the numbers of all headers of a trace with sessions: what they share, and the header that
// each names, which its copies share.
NumberRanges NamedHeaders(const Trace& trace) {
  std::vector<NumberRanges> sets;
  std::vector<BlockRange> headers;
  for (const TraceSession& session : trace.sessions) {
    std::vector<BlockRange> all;
    for (const TraceRequest& request : session.requests) {
      const std::vector<BlockRange>& numbers = NumbersOf(request);
      all.insert(all.end(), numbers.begin(), numbers.end());
      const size_t each = request.token_ids.empty() ? trace.block_tokens : 1;
      for (const BlockRange& range : FirstOf(numbers, request.shape.header_end / each)) {
        headers.push_back(range);
      }
    }
    sets.emplace_back(std::move(all));
  }
  const NumberRanges several = InSeveral(sets);
  headers.insert(headers.end(), several.ranges().begin(), several.ranges().end());
  return NumberRanges(std::move(headers));
}

// Whether the trace names no sessions: then each request is one.
bool IsUnnamed(const Trace& trace) {
  return trace.sessions.size() > 1 &&
         std::all_of(trace.sessions.begin(), trace.sessions.end(),
                     [](const TraceSession& session) { return session.requests.size() == 1; });
}

// Numbers requests' conversations by their first private block.
class Conversations {
 public:
  explicit Conversations(const NumberRanges* headers) : headers_(headers) {}

  uint32_t Of(const TraceRequest& request) {
    uint64_t key = UINT64_MAX;  // a prompt of tokens in no block
    for (const BlockRange& range : NumbersOf(request)) {
      const bool shared = headers_->Has(range.first);
      const uint32_t until = headers_->SameUntil(range);
      const bool all_shared = shared && until == range.last;
      key = shared ? uint64_t{until} + (all_shared ? kOnlyHeader : 1) : range.first;
      if (!all_shared) break;
    }
    return indices_.try_emplace(key, static_cast<uint32_t>(indices_.size())).first->second;
  }

 private:
  // A prompt that is a header belongs to a conversation of that header.
  static constexpr uint64_t kOnlyHeader = uint64_t{1} << 32;

  const NumberRanges* const headers_;
  std::unordered_map<uint64_t, uint32_t> indices_;
};

std::vector<FleetRequest::Span> SpansOf(const TraceRequest& request, size_t block_tokens,
                                        const NumberRanges& headers, const NumberRanges& own) {
  const bool numbered = !request.token_ids.empty();
  const size_t each = numbered ? 1 : block_tokens;
  size_t left = numbered ? SIZE_MAX : request.input_tokens;
  std::vector<FleetRequest::Span> spans;
  for (BlockRange range : NumbersOf(request)) {
    while (left > 0) {
      const bool shared = headers.Has(range.first);
      const NumberRanges& set = shared ? headers : own;
      const uint32_t until = std::min(headers.SameUntil(range), set.SameUntil(range));
      const size_t count = std::min(left, (size_t{until} - range.first + 1) * each);
      spans.push_back({shared, static_cast<uint32_t>(set.PlaceOf(range.first) * each),
                       static_cast<uint32_t>(count)});
      left -= count;
      if (until == range.last) break;
      range.first = until + 1;
    }
  }
  return spans;
}

size_t HeaderTokensOf(const FleetRequest& request) {
  size_t tokens = 0;
  for (const FleetRequest::Span& span : request.spans) {
    if (!span.shared) break;
    tokens += span.count;
  }
  return std::min(tokens, request.asked->input_tokens);
}

size_t KnownTokensOf(const FleetRequest& request, size_t block_tokens) {
  if (!request.asked->token_ids.empty()) return request.asked->input_tokens;
  size_t tokens = 0;
  for (const FleetRequest::Span& span : request.spans) tokens += span.count;
  return tokens - tokens % block_tokens;
}

void Append(size_t first, size_t count, Tokens* tokens) {
  CHECK(first + count <= size_t{kNumberedMax} + 1);
  const size_t begin = tokens->size();
  tokens->resize(begin + count);
  Token next = Numbered(static_cast<Token>(first));
  for (size_t i = begin; i < tokens->size(); ++i) (*tokens)[i] = next++;
}

}  // namespace

std::optional<size_t> Numbering::Find(ConversationKey conversation) const {
  const auto found = begins_.find(conversation);
  if (found == begins_.end()) return std::nullopt;
  return found->second;
}

std::optional<size_t> Numbering::Add(ConversationKey conversation, size_t tokens) {
  if (const auto known = Find(conversation)) return known;
  if (next_ + tokens > kNumbersMax) return std::nullopt;
  begins_[conversation] = next_;
  ranges_.emplace_back(next_, conversation);
  next_ += tokens;
  return ranges_.back().first;
}

std::optional<FleetRun> Numbering::TokenOf(size_t number) const {
  if (number >= next_) return std::nullopt;
  const auto after =
      std::upper_bound(ranges_.begin(), ranges_.end(), number,
                       [](size_t wanted, const auto& range) { return wanted < range.first; });
  const size_t end = after != ranges_.end() ? after->first : next_;
  if (after == ranges_.begin()) {
    const size_t header_end = std::min(end, first_);
    return FleetRun{{true, 0, static_cast<uint32_t>(number)},
                    static_cast<uint32_t>(header_end - number)};
  }
  const auto& [begin, conversation] = *std::prev(after);
  return FleetRun{{false, conversation, static_cast<uint32_t>(number - begin)},
                  static_cast<uint32_t>(end - number)};
}

std::optional<std::vector<FleetRun>> Numbering::RunsOf(TokenSpan tokens) const {
  std::vector<FleetRun> runs;
  for (size_t at = 0; at < tokens.size();) {
    const auto number = static_cast<size_t>(int64_t{tokens[at]} - INT32_MIN);
    std::optional<FleetRun> run = TokenOf(number);
    if (!run) return std::nullopt;
    const size_t most = std::min<size_t>(run->count, tokens.size() - at);
    size_t count = 1;
    while (count < most && tokens[at + count] == tokens[at] + static_cast<Token>(count)) ++count;
    run->count = static_cast<uint32_t>(count);
    runs.push_back(*run);
    at += count;
  }
  return runs;
}

Result<FleetTrace> FleetTrace::Make(const Trace& trace, size_t at_once, const OracleInput& oracle) {
  const std::vector<TraceStep> steps = Interleave(trace, at_once);
  if (!NumbersNamePrefixes(steps, trace.block_tokens)) {
    return Fail(ErrorCode::kInvalidArgument,
                "the trace's blocks name no prefixes, so its conversations cannot be told apart; "
                "expected hash_ids of prefixes, sessions, or a trace of serve --trace-out");
  }
  FleetTrace fleet;
  fleet.trace_ = &trace;
  const bool unnamed = IsUnnamed(trace);
  const NumberRanges headers = unnamed ? InferredHeaders(steps) : NamedHeaders(trace);
  Conversations inferred(&headers);
  std::vector<std::vector<BlockRange>> numbers;  // of each conversation
  for (size_t i = 0; i < trace.sessions.size(); ++i) {
    fleet.session_begins_.push_back(fleet.requests_.size());
    for (const TraceRequest& request : trace.sessions[i].requests) {
      FleetRequest added;
      added.asked = &request;
      added.conversation = unnamed ? inferred.Of(request) : static_cast<uint32_t>(i);
      numbers.resize(std::max<size_t>(numbers.size(), added.conversation + size_t{1}));
      for (BlockRange range : NumbersOf(request)) {
        const bool shared = headers.Has(range.first);
        if (shared) range.first = headers.SameUntil(range) + 1;
        if (range.first <= range.last) numbers[added.conversation].push_back(range);
      }
      fleet.requests_.push_back(std::move(added));
    }
  }
  const size_t each = !steps.front().request->token_ids.empty() ? 1 : trace.block_tokens;
  std::vector<NumberRanges> own;
  for (std::vector<BlockRange>& of_one : numbers) own.emplace_back(std::move(of_one));
  for (const NumberRanges& set : own) fleet.private_tokens_.push_back(set.size() * each);
  fleet.header_tokens_ = headers.size() * each;
  std::unordered_map<const TraceRequest*, FleetRequest*> by_asked;
  for (FleetRequest& request : fleet.requests_) {
    request.spans = SpansOf(*request.asked, trace.block_tokens, headers, own[request.conversation]);
    request.header_tokens = HeaderTokensOf(request);
    request.known_tokens = KnownTokensOf(request, trace.block_tokens);
    by_asked[request.asked] = &request;
  }
  const std::vector<OracleNeeds> needs = FindNeeds(steps, trace.block_tokens, oracle);
  size_t next = 0;
  for (const TraceStep& step : steps) {
    FleetRequest& request = *by_asked.at(step.request);
    const size_t tokens = request.asked->input_tokens;
    if (oracle.context_tokens > 0 && tokens >= oracle.context_tokens) continue;
    const size_t deepest = needs[next++].deepest;
    request.new_header_tokens = request.header_tokens - std::min(request.header_tokens, deepest);
    request.new_private_tokens = tokens - std::max(request.header_tokens, deepest);
  }
  return fleet;
}

std::vector<FleetStep> FleetTrace::Steps(size_t copies, size_t at_once, double stretch) const {
  const std::vector<TraceSession>& sessions = trace_->sessions;
  std::vector<PlacedSession> placed;
  std::vector<size_t> copy_of;
  for (size_t i = 0; i < sessions.size(); ++i) {
    for (size_t copy = 0; copy < copies; ++copy) {
      const auto share = static_cast<double>(copy) / static_cast<double>(copies);
      const size_t at =
          trace_->absolute_time ? i : (i + copy * sessions.size() / copies) % sessions.size();
      placed.push_back({&sessions[at], trace_->absolute_time ? share * kCopiesMs : 0});
      copy_of.push_back(copy);
    }
  }
  std::vector<FleetStep> steps;
  for (const TraceStep& step : Interleave(placed, trace_->absolute_time, at_once)) {
    const TraceSession* const session = placed[step.session].session;
    const size_t begin = session_begins_[static_cast<size_t>(session - sessions.data())];
    const auto at = static_cast<size_t>(step.request - session->requests.data());
    const FleetRequest& request = requests_[begin + at];
    steps.push_back(
        {step.at_ms * stretch, KeyOf(copy_of[step.session], request.conversation), &request});
  }
  return steps;
}

Tokens FleetTrace::PromptOf(const FleetStep& step, Numbering* numbering) const {
  const size_t input = step.request->asked->input_tokens;
  Tokens tokens = FrontOf(step, input, *numbering);
  while (tokens.size() < input) Append(numbering->NextUnique(), 1, &tokens);
  return tokens;
}

Tokens FleetTrace::KnownPromptOf(const FleetStep& step, const Numbering& numbering) const {
  return FrontOf(step, step.request->known_tokens, numbering);
}

Tokens FleetTrace::FrontOf(const FleetStep& step, size_t count, const Numbering& numbering) {
  const size_t begin = *numbering.Find(step.conversation);
  Tokens tokens;
  tokens.reserve(count);
  for (const FleetRequest::Span& span : step.request->spans) {
    const size_t taken = std::min<size_t>(span.count, count - tokens.size());
    if (taken == 0) break;
    Append(span.first + (span.shared ? 0 : begin), taken, &tokens);
  }
  return tokens;
}

Tokens FleetTrace::AnswerOf(const FleetStep& step, const Numbering& numbering) const {
  const TraceRequest& asked = *step.request->asked;
  Tokens tokens;
  if (asked.token_ids.empty()) return tokens;
  const size_t begin = *numbering.Find(step.conversation);
  size_t position = 0;
  for (const FleetRequest::Span& span : step.request->spans) {
    const size_t skipped =
        std::min<size_t>(span.count, asked.input_tokens - std::min(position, asked.input_tokens));
    Append(span.first + skipped + (span.shared ? 0 : begin), span.count - skipped, &tokens);
    position += span.count;
  }
  return tokens;
}

Tokens FleetTrace::HeaderOf(const FleetStep& step) const {
  Tokens tokens;
  for (const FleetRequest::Span& span : step.request->spans) {
    if (!span.shared || tokens.size() >= step.request->header_tokens) break;
    Append(span.first, std::min<size_t>(span.count, step.request->header_tokens - tokens.size()),
           &tokens);
  }
  if (tokens.size() < step.request->asked->input_tokens || tokens.empty()) {
    Append(Numbering::kNoToken, 1, &tokens);
  }
  return tokens;
}

Tokens FleetTrace::TokensOf(const std::vector<FleetRun>& runs, Numbering* numbering) const {
  Tokens tokens;
  for (const FleetRun& run : runs) {
    const FleetToken& first = run.first;
    size_t begin = 0;
    if (!first.shared) {
      const auto added = numbering->Add(first.conversation, PrivateTokens(first.conversation));
      if (!added) return {};
      begin = *added;
    }
    Append(begin + first.number, run.count, &tokens);
  }
  return tokens;
}

std::optional<FleetToken> FleetTrace::TokenBefore(const FleetStep& step, size_t position) const {
  size_t begin = 0;
  for (const FleetRequest::Span& span : step.request->spans) {
    if (position <= begin + span.count) {
      const auto number = static_cast<uint32_t>(span.first + (position - begin - 1));
      return FleetToken{span.shared, span.shared ? 0 : step.conversation, number};
    }
    begin += span.count;
  }
  return std::nullopt;
}

}  // namespace cairn
