// Sessions of coding agents: each line is a session, and its block ids are local. The reader makes
// all ids unique to their session, because the trace does not say what sessions share.
//
// Message boundaries are inferred in part: if a request continues the last one of the same agent,
// its new message begins where that prompt and its answer ended.

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/json.h"
#include "lab/sim/trace.h"

namespace cairn {
namespace {

constexpr double kSecondsMax = 1e10;  // about 300 years

// The last request of one agent of a session.
struct Agent {
  TraceRequest last;
  size_t query_end = 0;
};

size_t SharedBlocks(const std::vector<BlockRange>& a, const std::vector<BlockRange>& b) {
  size_t shared = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i].first != b[i].first) break;
    const uint32_t last = std::min(a[i].last, b[i].last);
    shared += last - a[i].first + 1;
    if (a[i].last != b[i].last) break;
  }
  return shared;
}

// Adds the boundaries of the messages shared with the agent's last request, and of the new one.
void AddTurns(const Agent& agent, size_t block_tokens, bool by_user, TraceRequest* request) {
  PromptShape& shape = request->shape;
  const TraceRequest& last = agent.last;
  const size_t shared = SharedBlocks(last.blocks, request->blocks) * block_tokens;
  for (const Turn& turn : last.shape.turns) {
    if (turn.position < shared) shape.turns.push_back(turn);
  }
  const size_t begin = last.input_tokens == 0 ? shape.header_end
                       : shared + block_tokens > last.input_tokens
                           ? last.input_tokens + last.output_tokens
                           : shared;
  const bool after_others = shape.turns.empty() || begin > shape.turns.back().position;
  if (begin < request->input_tokens && after_others) shape.turns.push_back({begin, by_user});
}

class SessionsReader final : public TraceReader {
 public:
  Status AddLine(const Json& line, Trace* trace) override {
    const auto block_tokens = TokensField(line, "block_size");
    if (!block_tokens) return tl::unexpected(block_tokens.error());
    if (*block_tokens == 0 || (trace->block_tokens != 0 && trace->block_tokens != *block_tokens)) {
      return Fail(ErrorCode::kInvalidArgument, "block_size: expected one for all sessions");
    }
    trace->block_tokens = *block_tokens;
    if (!line.contains("requests") || !line["requests"].is_array() || line["requests"].empty()) {
      return Fail(ErrorCode::kInvalidArgument, "requests: expected a list of requests");
    }
    TraceSession session;
    session.name = line.value("session", std::to_string(trace->sessions.size()));
    const auto tools = TokensField(line, "tool_tokens", 0);
    const auto system = TokensField(line, "system_tokens", 0);
    if (!tools || !system) return tl::unexpected(tools ? system.error() : tools.error());
    header_tokens_ = *tools + *system;
    agents_.clear();
    uint64_t ids = 0;
    for (const Json& entry : line["requests"]) {
      if (Status added = AddRequest(entry, *block_tokens, &session, &ids); !added) return added;
    }
    first_id_ += ids;
    if (first_id_ * *block_tokens > kTraceTokensMax) {
      return Fail(ErrorCode::kInvalidArgument, "blocks: more than tokens can be numbered");
    }
    trace->sessions.push_back(std::move(session));
    return {};
  }

 private:
  Status AddRequest(const Json& entry, size_t block_tokens, TraceSession* session, uint64_t* ids) {
    TraceRequest request;
    const auto input = TokensField(entry, "in");
    const auto output = TokensField(entry, "out");
    if (!input || !output) return tl::unexpected(input ? output.error() : input.error());
    if (*input == 0) return Fail(ErrorCode::kInvalidArgument, "in: expected tokens");
    request.input_tokens = *input;
    request.output_tokens = *output;
    const auto at_s = entry.value("t", 0.0);
    if (!(std::abs(at_s) <= kSecondsMax)) {
      return Fail(ErrorCode::kInvalidArgument, "t: expected seconds since the session began");
    }
    request.at_ms = at_s * 1000;
    if (!entry.contains("blocks") || !entry["blocks"].is_array()) {
      return Fail(ErrorCode::kInvalidArgument, "blocks: expected a list of ranges");
    }
    for (const Json& range : entry["blocks"]) {
      if (!range.is_array() || range.size() != 2 || !range[0].is_number_unsigned() ||
          !range[1].is_number_unsigned() || range[0] > range[1]) {
        return Fail(ErrorCode::kInvalidArgument, "blocks: expected [first, last] of block ids");
      }
      const auto last = range[1].get<uint64_t>();
      if (last >= kTraceTokensMax || (first_id_ + last + 1) * block_tokens > kTraceTokensMax) {
        return Fail(ErrorCode::kInvalidArgument, "blocks: more than tokens can be numbered");
      }
      *ids = std::max(*ids, last + 1);
      request.blocks.push_back({static_cast<uint32_t>(first_id_ + range[0].get<uint64_t>()),
                                static_cast<uint32_t>(first_id_ + last)});
    }
    const auto agent = SizeField(entry, "agent");
    if (entry.contains("agent") && !agent) return tl::unexpected(agent.error());
    AddShape(entry, block_tokens, agent.value_or(0), &request);
    session->requests.push_back(std::move(request));
    return {};
  }

  void AddShape(const Json& entry, size_t block_tokens, size_t number, TraceRequest* request) {
    Agent& agent = agents_[number];
    PromptShape& shape = request->shape;
    shape.tokens = request->input_tokens;
    // The system prefix's size is the main agent's; that of a sub-agent is not known.
    if (number == 0 && header_tokens_ < request->input_tokens) shape.header_end = header_tokens_;
    const bool by_user =
        entry.value("kind", std::string()).find("tool_result") == std::string::npos;
    AddTurns(agent, block_tokens, by_user, request);
    shape.messages_end = request->input_tokens;
    if (by_user) agent.query_end = request->input_tokens;
    shape.query_end = std::min(agent.query_end, request->input_tokens);
    agent.last = *request;
  }

  uint64_t first_id_ = 0;  // of the session
  size_t header_tokens_ = 0;
  std::map<size_t, Agent> agents_;
};

}  // namespace

std::unique_ptr<TraceReader> MakeSessionsReader() {
  return std::make_unique<SessionsReader>();
}

}  // namespace cairn
