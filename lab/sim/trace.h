// Trace: requests that clients really sent, without their text. A prompt is a sequence of blocks of
// tokens; the shared prefix of two prompts is as long as their blocks agree.
//
//   request 1   [b0][b1][b2][b3]~~          ~~ tokens after the last full block: in no block,
//   request 2   [b0][b1][b2][b4][b5]~          shared with no other request
//
// Formats, one JSON object a line:
//   blocks    one request: timestamp (ms), input_length, output_length, hash_ids; ids are global
//             (Mooncake's). The last block may be cut short by input_length. `cairn serve
//             --trace-out` writes more fields: see docs/traces.md
//   sessions  one session: block_size, tool_tokens, system_tokens, requests with t (s), agent, in,
//             out, blocks as inclusive ranges, kind; ids are local to the session
//   messages  one dialogue: messages as in chat completions. Each answer is a request;
//             lab/sim/pseudo_prompt.h turns the text into tokens
//
// A value; any thread.

#ifndef CAIRN_LAB_SIM_TRACE_H_
#define CAIRN_LAB_SIM_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <istream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/tokens.h"
#include "policy/prompt_shape.h"
#include "trace/block_range.h"

namespace cairn {

struct TraceRequest {
  double at_ms = 0;  // since its session began
  size_t input_tokens = 0;
  size_t output_tokens = 0;        // without an end token
  std::vector<BlockRange> blocks;  // of the prompt; empty if token_ids are given
  // The known boundaries of the prompt; its `tokens` are input_tokens.
  PromptShape shape;

  // Numbers of the prompt's tokens, then the answer's, which are equal for two requests exactly on
  // their shared prefix (trace/sequence_numbers.h). Empty except for our own traces and for texts.
  std::vector<BlockRange> token_ids;
  // The model ended the answer, so the slot holds all of it; otherwise all but the last token.
  bool ended_by_model = false;
  // The client disconnected after this many prompt tokens, before the answer.
  std::optional<size_t> cancelled_at = {};
  bool reuse = true;                         // false: the request forbade reuse
  std::optional<size_t> reused_tokens = {};  // as the server reported
};

// Requests that one client sent, in order.
struct TraceSession {
  std::string name;
  std::vector<TraceRequest> requests;
};

struct Trace {
  size_t block_tokens = 0;
  std::vector<TraceSession> sessions;
  // True: at_ms of all sessions is on one clock; false: each session has a clock of its own.
  bool absolute_time = false;
  // Lines that are not JSON, left by a crash or a full disk; they are skipped.
  size_t torn_lines = 0;
};

enum class TraceFormat { kAuto, kBlocks, kSessions, kMessages };
// kInvalidArgument: no such format; the message lists the known ones.
Result<TraceFormat> ParseTraceFormat(std::string_view name);

// An error names the line and the value expected there.
Result<Trace> ReadTrace(std::istream& in, TraceFormat format);

// Whether PromptOf and AnswerOf return numbered tokens (base/tokens.h). REQUIRES for kNumbered:
// NumbersNamePrefixes().
enum class TokenKind : uint8_t { kPlain, kNumbered };

// Returns the tokens of a request's prompt: the block's own for each block, and unique ones for
// tokens in no block, numbered from `*last_unique` down.
Tokens PromptOf(const TraceRequest& request, size_t block_tokens, Token* last_unique,
                TokenKind kind = TokenKind::kPlain);
// Returns the answer's tokens; empty if the trace does not have them.
Tokens AnswerOf(const TraceRequest& request, TokenKind kind = TokenKind::kPlain);
// Returns the tokens of prompt and answer that the slot of an uncancelled request holds at its end.
size_t SlotTokensAtEnd(const TraceRequest& request);

// A request and its session, in the order of service.
struct TraceStep {
  double at_ms = 0;  // since the trace began
  size_t session = 0;
  const TraceRequest* request = nullptr;
};
// A session of a trace, moved in time.
struct PlacedSession {
  const TraceSession* session = nullptr;
  double shift_ms = 0;
};
// Returns all requests in order of time, each with the index of its session. See below.
std::vector<TraceStep> Interleave(const std::vector<PlacedSession>& sessions, bool absolute_time,
                                  size_t at_once);
// Returns all requests in order of time. `at_once` sessions run concurrently, and the end of one
// starts the next; 0: each starts at its recorded time. The steps point into `trace`.
std::vector<TraceStep> Interleave(const Trace& trace, size_t at_once);

// Whether each number of a block or token always follows the same one, or always begins its prompt:
// then prompts that agree at one position agree up to there. Holds for hashes of prefixes, as in
// Mooncake's traces, and for the token_ids of ours. False too if the numbers of the tokens leave no
// room for those of tokens in no block.
bool NumbersNamePrefixes(const std::vector<TraceStep>& steps, size_t block_tokens);

// TraceReader: parses the lines of one trace format. Each format has a file of its own; the helpers
// here return errors that name the field.
class TraceReader {
 public:
  virtual ~TraceReader() = default;
  virtual Status AddLine(const Json& line, Trace* trace) = 0;
};

std::unique_ptr<TraceReader> MakeBlocksReader();
std::unique_ptr<TraceReader> MakeSessionsReader();
std::unique_ptr<TraceReader> MakeMessagesReader();

// Returns an integer from 0 to 2^53. kInvalidArgument names the field.
Result<size_t> SizeField(const Json& object, const char* field);
// As SizeField() for a token count, kTraceTokensMax at most. `absent`: the value if the field is
// missing; without it the field is required.
Result<size_t> TokensField(const Json& object, const char* field,
                           std::optional<size_t> absent = std::nullopt);

}  // namespace cairn

#endif  // CAIRN_LAB_SIM_TRACE_H_
