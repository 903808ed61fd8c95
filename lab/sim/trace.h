// Trace: requests that someone really sent, without their text. A prompt is a row of blocks of
// tokens; two prompts share a prefix exactly as far as their blocks agree.
//
//   request 1   [b0][b1][b2][b3]~~          ~~ tokens after the last whole block: in no block,
//   request 2   [b0][b1][b2][b4][b5]~          shared with nobody
//
// Formats, one JSON object a line:
//   blocks    a request: timestamp (ms), input_length, output_length, hash_ids; ids are global
//             (Mooncake's). The last block may be cut short by input_length. What `cairn serve
//             --trace-out` writes says more: docs/traces.md has its fields
//   sessions  a session: block_size, tool_tokens, system_tokens, requests with t (s), agent, in,
//             out, blocks as inclusive ranges, kind; ids are local to the session
//   messages  a dialogue: messages as chat completions have them. Each answer is a request;
//             lab/sim/pseudo_prompt.h makes tokens of the text
//
// A value; any thread.

#ifndef CAIRN_LAB_SIM_TRACE_H_
#define CAIRN_LAB_SIM_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/tokens.h"
#include "policy/prompt_shape.h"
#include "trace/block_range.h"

namespace cairn {

struct TraceRequest {
  double at_ms = 0;  // since its session began
  size_t input_tokens = 0;
  size_t output_tokens = 0;        // without one that only ended the answer
  std::vector<BlockRange> blocks;  // of the prompt; none where token_ids are
  // What is known of it; its `tokens` are input_tokens.
  PromptShape shape;

  // Known of our own traces and of texts, else empty: numbers of the prompt's and then the answer's
  // tokens, in which two requests agree as far as they do (trace/sequence_numbers.h).
  std::vector<BlockRange> token_ids;
  // The model ended the answer, so it has read all of it; else all but the last token.
  bool ended_by_model = false;
  // The client went away when so much of the prompt was there, before the answer.
  std::optional<size_t> cancelled_at = {};
  bool reuse = true;                         // false: all of the prompt was to be read
  std::optional<size_t> reused_tokens = {};  // what the server said
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
  // Lines that are no JSON, as a crash or a full disk leaves one; nothing is known of them.
  size_t torn_lines = 0;
};

enum class TraceFormat { kAuto, kBlocks, kSessions, kMessages };
// kInvalidArgument names the formats.
Result<TraceFormat> ParseTraceFormat(std::string_view name);

// Errors name the line and what was expected of it.
Result<Trace> ReadTrace(std::istream& in, TraceFormat format);

// The tokens of a request's prompt: each block's own, and for what is in no block tokens that
// nobody else has, numbered from `*last_unique` down.
Tokens PromptOf(const TraceRequest& request, size_t block_tokens, Token* last_unique);
// Those of its answer; none when the trace does not hold them.
Tokens AnswerOf(const TraceRequest& request);
// Tokens of prompt and answer that the slot of a request that was not cut short holds at its end.
size_t HeldTokens(const TraceRequest& request);

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

#endif  // CAIRN_LAB_SIM_TRACE_H_
