// Traces, in every format: the prompts of all parsed requests can be made, and each request is
// played once, in order of time.

#include <set>
#include <sstream>
#include <string>

#include "base/check.h"
#include "fuzz/input.h"
#include "fuzz/json_mutator.h"
#include "trace/replay/trace.h"

namespace cairn {
namespace {

// A prompt of many tokens is not a bug, only slow to make.
constexpr size_t kTokensMax = 100'000;

void CheckRequest(const TraceRequest& request, size_t block_tokens) {
  CHECK(request.input_tokens > 0);
  CHECK(request.input_tokens <= kTraceTokensMax && request.output_tokens <= kTraceTokensMax);
  CHECK(request.shape.tokens == request.input_tokens);
  CHECK(request.shape.header_end <= request.input_tokens);
  for (const BlockRange& range : request.blocks) CHECK(range.first <= range.last);
  for (const BlockRange& range : request.token_ids) CHECK(range.first <= range.last);
  CHECK(SlotTokensAtEnd(request) >= request.input_tokens);
  if (request.input_tokens + request.output_tokens > kTokensMax) return;
  Token last_unique = -1;
  const Tokens prompt = PromptOf(request, block_tokens, &last_unique);
  CHECK(prompt.size() == request.input_tokens);
  for (const Token token : prompt) CHECK(token > last_unique);
  const Tokens answer = AnswerOf(request);
  CHECK(answer.empty() || answer.size() == request.output_tokens);
}

void CheckTrace(const Trace& trace) {
  CHECK(trace.block_tokens > 0 && trace.block_tokens <= kTraceTokensMax);
  std::set<const TraceRequest*> requests;
  for (const TraceSession& session : trace.sessions) {
    CHECK(!session.requests.empty());
    for (const TraceRequest& request : session.requests) {
      CheckRequest(request, trace.block_tokens);
      requests.insert(&request);
    }
  }
  for (const size_t at_once : {0, 1, 3}) {
    std::set<const TraceRequest*> played;
    double at_ms = 0;
    for (const TraceStep& step : Interleave(trace, at_once)) {
      CHECK(step.at_ms >= at_ms);
      at_ms = step.at_ms;
      CHECK(played.insert(step.request).second);
    }
    CHECK(played == requests);
  }
}

}  // namespace
}  // namespace cairn

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cairn;  // NOLINT: the target begins here
  fuzz::FuzzInput input(data, size);
  constexpr TraceFormat kFormats[] = {TraceFormat::kAuto, TraceFormat::kBlocks,
                                      TraceFormat::kSessions, TraceFormat::kMessages};
  const TraceFormat format = kFormats[input.Below(std::size(kFormats))];
  std::istringstream in{std::string(input.RestText())};
  if (const auto trace = ReadTrace(in, format)) CheckTrace(*trace);
  return 0;
}
