// PromptShape: the facts about a prompt that placement policies use. The chat layer fills it in; a
// prompt that is no chat has only its length.
//
//   0          header_end                       query_end            messages_end   tokens
//   | system, tools | user | [think] assistant | user | assistant | tool |  generation  |
//                   ^ turn  '-----' reasoning   ^ turn            ^ turn   prompt
//
// Every position counts the tokens before it. All lists are shallowest first.

#ifndef CAIRN_POLICY_PROMPT_SHAPE_H_
#define CAIRN_POLICY_PROMPT_SHAPE_H_

#include <cstddef>
#include <vector>

#include "base/provenance.h"

namespace cairn {

// The beginning of a message that a client may edit, drop or branch from.
struct Turn {
  size_t position = 0;
  bool by_user = true;  // false: a tool's result, which clients seldom edit
};

// The tokens [begin, end).
struct ReasoningRange {
  size_t begin = 0;
  size_t end = 0;

  friend bool operator==(const ReasoningRange&, const ReasoningRange&) = default;
};

// Where a client requested a checkpoint, and how long it is kept after its last use.
struct ClientMark {
  size_t position = 0;
  double keep_ms = 300'000;

  friend bool operator==(const ClientMark&, const ClientMark&) = default;
};

struct PromptShape {
  size_t tokens = 0;
  // End of the system message and tool definitions; 0 if unknown or absent.
  size_t header_end = 0;
  std::vector<Turn> turns;
  // End of the last message, where the generation prompt begins; 0 if unknown.
  size_t messages_end = 0;
  // End of the last user message. If tool results follow it, clients drop all reasoning after it at
  // the next query. 0 if unknown; then it is messages_end if the last turn is the user's.
  size_t query_end = 0;
  // Positions after each end-of-generation token, which are the ends of messages.
  std::vector<size_t> eog_ends;
  // Reasoning in the prompt, disjoint. A later prompt leaves it out, so no checkpoint lies in it.
  std::vector<ReasoningRange> reasoning;
  // The images and recordings, disjoint: their rows take up [begin, end).
  std::vector<TokenRange> media;
  // Where the client requested checkpoints (cache_control). Only the first kMarksMax are used.
  std::vector<ClientMark> marks;
  // The next prompt of the conversation begins with all of this one: the template writes before a
  // reply what it writes as the generation prompt, and takes nothing out of the reply.
  bool reply_follows = false;
};

inline constexpr size_t kMarksMax = 4;

}  // namespace cairn

#endif  // CAIRN_POLICY_PROMPT_SHAPE_H_
