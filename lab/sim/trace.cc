#include "lab/sim/trace.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "base/json.h"

namespace cairn {
namespace {

tl::unexpected<Error> Invalid(const std::string& message) {
  return Fail(ErrorCode::kInvalidArgument, message);
}

Result<std::unique_ptr<TraceReader>> MakeReader(TraceFormat format, const Json& first_line) {
  if (format == TraceFormat::kAuto) {
    if (first_line.contains("hash_ids")) format = TraceFormat::kBlocks;
    if (first_line.contains("requests")) format = TraceFormat::kSessions;
    if (first_line.contains("messages")) format = TraceFormat::kMessages;
  }
  switch (format) {
    case TraceFormat::kBlocks:
      return MakeBlocksReader();
    case TraceFormat::kSessions:
      return MakeSessionsReader();
    case TraceFormat::kMessages:
      return MakeMessagesReader();
    case TraceFormat::kAuto:
      break;
  }
  return Invalid(
      "the format is not known: expected hash_ids (blocks), requests (sessions) or "
      "messages (messages)");
}

// The JSON library throws for a field of the wrong type; this turns that into an error.
Status AddLine(const Json& line, TraceReader* reader, Trace* trace) {
  try {
    return reader->AddLine(line, trace);
  } catch (const Json::exception& error) {
    return Invalid(error.what());
  }
}

// The rest is for tokens in no block.
constexpr size_t kNumbersMax = size_t{kNumberedMax} / 8 * 7;

// Whether the ranges' numbers leave room for unique ones above them.
bool AreBelow(size_t limit, const std::vector<BlockRange>& ranges) {
  return std::all_of(ranges.begin(), ranges.end(),
                     [limit](const BlockRange& range) { return range.last < limit; });
}

Token TokenOf(size_t number, TokenKind kind) {
  const auto token = static_cast<Token>(number);
  CHECK(kind != TokenKind::kNumbered || number <= static_cast<size_t>(kNumberedMax));
  return kind == TokenKind::kNumbered ? Numbered(token) : token;
}

// Returns the tokens [begin, end) of prompt and answer.
Tokens NumbersIn(const TraceRequest& request, size_t begin, size_t end, TokenKind kind) {
  Tokens tokens;
  tokens.reserve(end - begin);
  size_t position = 0;
  for (const BlockRange& range : request.token_ids) {
    const size_t count = range.last - range.first + 1;
    const size_t from = std::max(position, begin);
    const size_t to = std::min(position + count, end);
    for (size_t i = from; i < to; ++i) {
      tokens.push_back(TokenOf(range.first + (i - position), kind));
    }
    position += count;
  }
  return tokens;
}

// Stands for the number before a prompt's first.
constexpr uint64_t kBegin = UINT64_MAX;

class Predecessors {
 public:
  // Returns false if a number that begins a range has had another predecessor.
  bool Add(const std::vector<BlockRange>& ranges) {
    uint64_t before = kBegin;
    for (const BlockRange& range : ranges) {
      const auto [known, is_new] = before_.try_emplace(range.first, before);
      if (!is_new && known->second != before) return false;
      ranges_.push_back(range);
      before = range.last;
    }
    return true;
  }

  // Inside a range each number follows the one below it. Returns false if a number does so in one
  // range and follows another number at the start of a second range.
  bool AgreeInside() {
    std::sort(ranges_.begin(), ranges_.end(),
              [](const BlockRange& a, const BlockRange& b) { return a.first < b.first; });
    uint64_t covered = 0;  // the last number of the ranges so far
    for (size_t i = 0; i < ranges_.size(); ++i) {
      const BlockRange& range = ranges_[i];
      const bool inside = i > 0 && ranges_[i - 1].first < range.first && range.first <= covered;
      if (inside && before_.at(range.first) != uint64_t{range.first} - 1) return false;
      covered = std::max<uint64_t>(covered, range.last);
    }
    return true;
  }

 private:
  std::unordered_map<uint32_t, uint64_t> before_;
  std::vector<BlockRange> ranges_;
};

}  // namespace

Result<size_t> SizeField(const Json& object, const char* field) {
  constexpr double kSizeMax = 9007199254740992;  // 2^53: a double holds all integers up to it
  const auto found = object.find(field);
  const double number =
      found != object.end() && found->is_number() ? found->get<double>() : std::nan("");
  if (!(number >= 0 && number <= kSizeMax)) {
    return Invalid(std::string(field) + ": expected a number that is not negative");
  }
  return static_cast<size_t>(number);
}

Result<size_t> TokensField(const Json& object, const char* field, std::optional<size_t> absent) {
  if (absent && !object.contains(field)) return *absent;
  auto tokens = SizeField(object, field);
  if (tokens && *tokens > kTraceTokensMax) {
    return Invalid(std::string(field) + ": more tokens than can be numbered");
  }
  return tokens;
}

Result<TraceFormat> ParseTraceFormat(std::string_view name) {
  if (name == "auto") return TraceFormat::kAuto;
  if (name == "blocks") return TraceFormat::kBlocks;
  if (name == "sessions") return TraceFormat::kSessions;
  if (name == "messages") return TraceFormat::kMessages;
  return Invalid("there is no trace format named '" + std::string(name) +
                 "'; there are: auto, blocks, messages, sessions");
}

Result<Trace> ReadTrace(std::istream& in, TraceFormat format) {
  Trace trace;
  std::unique_ptr<TraceReader> reader;
  std::string line;
  for (size_t number = 1; std::getline(in, line); ++number) {
    if (line.empty()) continue;
    const Json json = Json::parse(line, nullptr, false);
    const auto failed = [&](const std::string& why) {
      return Invalid("line " + std::to_string(number) + ": " + why);
    };
    if (json.is_discarded()) {
      ++trace.torn_lines;
      continue;
    }
    if (!json.is_object()) return failed("expected a JSON object");
    if (reader == nullptr) {
      auto made = MakeReader(format, json);
      if (!made) return failed(made.error().message);
      reader = std::move(*made);
    }
    if (Status added = AddLine(json, reader.get(), &trace); !added) {
      return failed(added.error().message);
    }
  }
  if (trace.sessions.empty()) {
    return Invalid("the trace has no requests" +
                   (trace.torn_lines == 0
                        ? std::string()
                        : ", and " + std::to_string(trace.torn_lines) + " lines are no JSON"));
  }
  // A server writes requests in the order in which they ended.
  for (TraceSession& session : trace.sessions) {
    if (!trace.absolute_time) break;
    std::stable_sort(session.requests.begin(), session.requests.end(),
                     [](const auto& a, const auto& b) { return a.at_ms < b.at_ms; });
  }
  return trace;
}

Tokens PromptOf(const TraceRequest& request, size_t block_tokens, Token* last_unique,
                TokenKind kind) {
  if (!request.token_ids.empty()) return NumbersIn(request, 0, request.input_tokens, kind);
  Tokens tokens(request.input_tokens);
  auto at = tokens.begin();
  for (const BlockRange& range : request.blocks) {
    const size_t count = (size_t{range.last} - range.first + 1) * block_tokens;
    const auto left = static_cast<size_t>(tokens.end() - at);
    const auto end = at + static_cast<std::ptrdiff_t>(std::min(count, left));
    std::iota(at, end, TokenOf(range.first * block_tokens, kind));
    at = end;
  }
  for (; at != tokens.end(); ++at) *at = TokenOf(static_cast<size_t>((*last_unique)--), kind);
  return tokens;
}

Tokens AnswerOf(const TraceRequest& request, TokenKind kind) {
  if (request.token_ids.empty()) return {};
  const size_t end = request.input_tokens + request.output_tokens;
  return NumbersIn(request, request.input_tokens, end, kind);
}

// An answer's last token is decoded only to sample the end token after it.
size_t SlotTokensAtEnd(const TraceRequest& request) {
  const bool answered = !request.token_ids.empty() && !request.cancelled_at;
  if (!answered || request.output_tokens == 0) return request.input_tokens;
  return request.input_tokens + request.output_tokens - (request.ended_by_model ? 0 : 1);
}

std::vector<TraceStep> Interleave(const Trace& trace, size_t at_once) {
  std::vector<PlacedSession> sessions;
  for (const TraceSession& session : trace.sessions) sessions.push_back({&session, 0});
  return Interleave(sessions, trace.absolute_time, at_once);
}

std::vector<TraceStep> Interleave(const std::vector<PlacedSession>& sessions, bool absolute_time,
                                  size_t at_once) {
  struct Running {
    double next_ms = 0;
    size_t session = 0;
    size_t request = 0;
    double began_ms = 0;
    bool operator>(const Running& other) const {
      return std::tie(next_ms, session) > std::tie(other.next_ms, other.session);
    }
  };
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running;
  size_t next_session = 0;
  const auto begin_next = [&](double now_ms) {
    if (next_session == sessions.size()) return;
    const PlacedSession& next = sessions[next_session];
    const double began_ms = next.shift_ms + (absolute_time ? 0 : now_ms);
    const double first_ms = next.session->requests.front().at_ms;
    running.push({std::max(began_ms + first_ms, now_ms), next_session, 0, began_ms});
    ++next_session;
  };
  const size_t places = at_once == 0 ? sessions.size() : at_once;
  for (size_t i = 0; i < places; ++i) begin_next(0);
  std::vector<TraceStep> steps;
  while (!running.empty()) {
    Running now = running.top();
    running.pop();
    const std::vector<TraceRequest>& requests = sessions[now.session].session->requests;
    steps.push_back({now.next_ms, now.session, &requests[now.request]});
    if (++now.request == requests.size()) {
      begin_next(now.next_ms);
      continue;
    }
    now.next_ms = std::max(now.next_ms, now.began_ms + requests[now.request].at_ms);
    running.push(now);
  }
  return steps;
}

bool NumbersNamePrefixes(const std::vector<TraceStep>& steps, size_t block_tokens) {
  Predecessors predecessors;
  const bool of_tokens = !steps.empty() && !steps.front().request->token_ids.empty();
  for (const TraceStep& step : steps) {
    const TraceRequest& request = *step.request;
    if (request.token_ids.empty() == of_tokens) return false;
    const std::vector<BlockRange>& ranges = of_tokens ? request.token_ids : request.blocks;
    if (!AreBelow(of_tokens ? kNumbersMax : kNumbersMax / block_tokens, ranges)) return false;
    if (!predecessors.Add(ranges)) return false;
  }
  return predecessors.AgreeInside();
}

}  // namespace cairn
