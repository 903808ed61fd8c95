// Trace: requests that someone really sent, without their text. A prompt is a row of blocks of
// tokens; two prompts share a prefix exactly as far as their blocks agree.
//
//   request 1   [b0][b1][b2][b3]~~          ~~ tokens after the last whole block: in no block,
//   request 2   [b0][b1][b2][b4][b5]~          shared with nobody
//
// Formats, one JSON object a line:
//   blocks    a request: timestamp (ms), input_length, output_length, hash_ids; ids are global
//             (Mooncake's). The last block may be cut short by input_length. Our own request log
//             adds conversation, header, turns, query_end, block_size (docs/traces.md).
//   sessions  a session: block_size, tool_tokens, system_tokens, requests with t (s), agent, in,
//             out, blocks as inclusive ranges, kind; ids are local to the session
//
// A value; any thread.

#ifndef CAIRN_SIM_TRACE_H_
#define CAIRN_SIM_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/tokens.h"
#include "policy/prompt_shape.h"

namespace cairn {

// Blocks [first, last], in order.
struct BlockRange {
  uint32_t first = 0;
  uint32_t last = 0;
};

struct TraceRequest {
  double at_ms = 0;  // since its session began
  size_t input_tokens = 0;
  size_t output_tokens = 0;
  std::vector<BlockRange> blocks;
  // What is known of it; its `tokens` are input_tokens.
  PromptShape shape;
};

// Requests that one client sent, in order.
struct TraceSession {
  std::string name;
  std::vector<TraceRequest> requests;
};

struct Trace {
  size_t block_tokens = 0;
  std::vector<TraceSession> sessions;
  // Sessions began when at_ms says; false: each line's clock is its own.
  bool absolute_time = false;
};

enum class TraceFormat { kAuto, kBlocks, kSessions };
// kInvalidArgument names the formats.
Result<TraceFormat> ParseTraceFormat(std::string_view name);

// Errors name the line and what was expected of it.
Result<Trace> ReadTrace(std::istream& in, TraceFormat format);

// The tokens of a request: each block's own, and for what is in no block tokens that nobody else
// has, numbered from `*last_unique` down.
Tokens PromptOf(const TraceRequest& request, size_t block_tokens, Token* last_unique);

// A request and whose it is, in the order in which they are served.
struct TraceStep {
  double at_ms = 0;  // since the trace began
  size_t session = 0;
  const TraceRequest* request = nullptr;
};
// All requests in order of time, when `at_once` sessions run side by side and one that ends makes
// room for the next; 0: all when the trace says so. The steps point into `trace`.
std::vector<TraceStep> Interleave(const Trace& trace, size_t at_once);

}  // namespace cairn

#endif  // CAIRN_SIM_TRACE_H_
