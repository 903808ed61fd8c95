// FleetTrace: the requests of a trace as many servers get them: each belongs to a conversation, by
// which a front may choose a server, and the trace may be played in several copies side by side.
//
//   conversation   of a named session the session; where a trace names none (Mooncake's), the
//                  requests with the same first private block
//   header         blocks that several conversations share: all copies share them too
//   private        all other blocks: each copy has its own
//
//   copy 0   [header][conversation 7 ...]       every copy sends the same lengths in the same
//   order, copy 1   [header][conversation 7'...]       at other times and with other private tokens
//
// The tokens of a request are numbers, as few as a server meets: headers come first, and each
// conversation has a range of its own, which the server's Numbering assigns.
//
// A value; any thread. It points into the trace, which must outlive it.

#ifndef CAIRN_LAB_FLEET_FLEET_TRACE_H_
#define CAIRN_LAB_FLEET_FLEET_TRACE_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/tokens.h"
#include "lab/sim/oracle.h"
#include "trace/replay/trace.h"

namespace cairn {

// A conversation of one of the copies.
using ConversationKey = uint64_t;

// A token, wherever it is computed; it stands for all tokens before it too.
struct FleetToken {
  bool shared = false;               // a header's
  ConversationKey conversation = 0;  // 0 if it is shared
  uint32_t number = 0;

  friend auto operator<=>(const FleetToken&, const FleetToken&) = default;
};

// Tokens with consecutive numbers.
struct FleetRun {
  FleetToken first;
  uint32_t count = 0;
};

struct FleetRequest {
  // Tokens with consecutive numbers.
  struct Span {
    bool shared = false;
    uint32_t first = 0;
    uint32_t count = 0;
  };

  const TraceRequest* asked = nullptr;
  uint32_t conversation = 0;
  std::vector<Span> spans;   // of the prompt, then of the answer; tokens in no block have none
  size_t header_tokens = 0;  // shared ones at the begin of the prompt
  size_t known_tokens = 0;   // of the prompt: those in blocks that are whole
  // Tokens that no earlier request of any conversation has, so that any cache prefills them.
  size_t new_header_tokens = 0;
  size_t new_private_tokens = 0;
};

struct FleetStep {
  double at_ms = 0;
  ConversationKey conversation = 0;
  const FleetRequest* request = nullptr;
};

// Numbering: where one server's numbers of each conversation's tokens begin.
class Numbering {
 public:
  // `first`: the numbers before it are the headers'.
  explicit Numbering(size_t first) : first_(first), next_(first) {}

  // Returns nullopt if the server has not met the conversation.
  std::optional<size_t> Find(ConversationKey conversation) const;
  // Adds the conversation, of `tokens` private tokens, if it is new. Returns nullopt if there are
  // no numbers left.
  std::optional<size_t> Add(ConversationKey conversation, size_t tokens);
  // Returns the tokens as all servers name them; nullopt if one is in no block.
  std::optional<std::vector<FleetRun>> RunsOf(TokenSpan tokens) const;
  // A number for a token in no block.
  size_t NextUnique() { return last_unique_--; }
  // A number that no server's token has.
  static constexpr size_t kNoToken = kNumberedMax;

 private:
  // Returns the token of a number, and how many numbers follow that are its conversation's too.
  std::optional<FleetRun> TokenOf(size_t number) const;

  std::unordered_map<ConversationKey, size_t> begins_;
  std::vector<std::pair<size_t, ConversationKey>> ranges_;  // by their begin
  const size_t first_;
  size_t next_;
  size_t last_unique_ = kNoToken - 1;
};

class FleetTrace {
 public:
  // `at_once`: as of Interleave(), for all copies together. `oracle`: the server's limits, for the
  // tokens that are new. kInvalidArgument if numbers do not name prefixes.
  static Result<FleetTrace> Make(const Trace& trace, size_t at_once, const OracleInput& oracle);

  // Returns the requests of all copies in order of time. Copies of a trace with times begin within
  // the first ten minutes; others begin at different sessions. All times are multiplied by
  // `stretch`.
  std::vector<FleetStep> Steps(size_t copies, size_t at_once, double stretch = 1) const;

  const std::vector<FleetRequest>& requests() const { return requests_; }
  size_t conversations() const { return private_tokens_.size(); }
  // The private tokens of a conversation in one copy.
  size_t PrivateTokens(ConversationKey key) const { return private_tokens_[IndexOf(key)]; }
  size_t header_tokens() const { return header_tokens_; }

  // Returns the tokens as a server with this numbering has them. REQUIRES: it has the conversation.
  Tokens PromptOf(const FleetStep& step, Numbering* numbering) const;
  Tokens AnswerOf(const FleetStep& step, const Numbering& numbering) const;
  // Returns the first known_tokens of the prompt.
  Tokens KnownPromptOf(const FleetStep& step, const Numbering& numbering) const;
  // Returns the prompt as a server has it that never met the conversation: a header, and one token
  // that it does not know.
  Tokens HeaderOf(const FleetStep& step) const;
  // Returns the tokens that all servers name so; conversations are added to the numbering. Empty if
  // there are no numbers left.
  Tokens TokensOf(const std::vector<FleetRun>& runs, Numbering* numbering) const;
  // Returns the prompt's token before `position`; nullopt if it is in no block.
  std::optional<FleetToken> TokenBefore(const FleetStep& step, size_t position) const;

  static ConversationKey KeyOf(size_t copy, uint32_t conversation) {
    return (uint64_t{copy} << 32) | conversation;
  }
  static uint32_t IndexOf(ConversationKey key) { return static_cast<uint32_t>(key); }

 private:
  // Returns the tokens in blocks, at most `count` of them.
  static Tokens FrontOf(const FleetStep& step, size_t count, const Numbering& numbering);

  const Trace* trace_ = nullptr;
  std::vector<size_t> session_begins_;  // of each session: the index of its first request
  std::vector<FleetRequest> requests_;
  std::vector<size_t> private_tokens_;  // of each conversation
  size_t header_tokens_ = 0;            // of all headers
};

}  // namespace cairn

#endif  // CAIRN_LAB_FLEET_FLEET_TRACE_H_
