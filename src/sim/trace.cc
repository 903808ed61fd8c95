#include "sim/trace.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <queue>
#include <utility>

#include "base/check.h"
#include "sim/trace_reader.h"

namespace cairn {
namespace {

using Json = nlohmann::json;

tl::unexpected<Error> Invalid(const std::string& message) {
  return Fail(ErrorCode::kInvalidArgument, message);
}

Result<std::unique_ptr<TraceReader>> MakeReader(TraceFormat format, const Json& first_line) {
  if (format == TraceFormat::kAuto) {
    if (first_line.contains("hash_ids")) format = TraceFormat::kBlocks;
    if (first_line.contains("requests")) format = TraceFormat::kSessions;
  }
  switch (format) {
    case TraceFormat::kBlocks:
      return MakeBlocksReader();
    case TraceFormat::kSessions:
      return MakeSessionsReader();
    case TraceFormat::kAuto:
      break;
  }
  return Invalid("the format is not known: expected hash_ids (blocks) or requests (sessions)");
}

}  // namespace

Result<size_t> SizeField(const Json& object, const char* field) {
  const auto found = object.find(field);
  if (found == object.end() || !found->is_number() || found->get<double>() < 0) {
    return Invalid(std::string(field) + ": expected a number that is not negative");
  }
  return found->is_number_unsigned() ? found->get<size_t>()
                                     : static_cast<size_t>(found->get<double>());
}

Result<TraceFormat> ParseTraceFormat(std::string_view name) {
  if (name == "auto") return TraceFormat::kAuto;
  if (name == "blocks") return TraceFormat::kBlocks;
  if (name == "sessions") return TraceFormat::kSessions;
  return Invalid("there is no trace format named '" + std::string(name) +
                 "'; there are: auto, blocks, sessions");
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
    if (!json.is_object()) return failed("expected a JSON object");
    if (reader == nullptr) {
      auto made = MakeReader(format, json);
      if (!made) return failed(made.error().message);
      reader = std::move(*made);
    }
    if (Status added = reader->AddLine(json, &trace); !added) return failed(added.error().message);
  }
  if (trace.sessions.empty()) return Invalid("the trace has no requests");
  return trace;
}

Tokens PromptOf(const TraceRequest& request, size_t block_tokens, Token* last_unique) {
  Tokens tokens(request.input_tokens);
  auto at = tokens.begin();
  for (const BlockRange& range : request.blocks) {
    const size_t count = (size_t{range.last} - range.first + 1) * block_tokens;
    const auto left = static_cast<size_t>(tokens.end() - at);
    const auto end = at + static_cast<std::ptrdiff_t>(std::min(count, left));
    std::iota(at, end, static_cast<Token>(range.first * block_tokens));
    at = end;
  }
  for (; at != tokens.end(); ++at) *at = (*last_unique)--;
  return tokens;
}

std::vector<TraceStep> Interleave(const Trace& trace, size_t at_once) {
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
    if (next_session == trace.sessions.size()) return;
    const double began_ms = trace.absolute_time ? 0 : now_ms;
    const double first_ms = trace.sessions[next_session].requests.front().at_ms;
    running.push({std::max(began_ms + first_ms, now_ms), next_session, 0, began_ms});
    ++next_session;
  };
  const size_t places = at_once == 0 ? trace.sessions.size() : at_once;
  for (size_t i = 0; i < places; ++i) begin_next(0);
  std::vector<TraceStep> steps;
  while (!running.empty()) {
    Running now = running.top();
    running.pop();
    const std::vector<TraceRequest>& requests = trace.sessions[now.session].requests;
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

}  // namespace cairn
