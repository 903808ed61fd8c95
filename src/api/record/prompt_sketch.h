// PromptSketch: what is remembered of a prompt to tell later why the next one of the same client
// was not reused: which messages it had and where they ended, without a text.
//
//   earlier   [system a][tools][user 1][answer 1][user 2]
//   now       [system b][tools][user 1][answer 1][user 2][answer 2][user 3]
//              ^ differs                                 ^ would share up to here, but for that
//
// Pure functions; any thread.

#ifndef CAIRN_API_RECORD_PROMPT_SKETCH_H_
#define CAIRN_API_RECORD_PROMPT_SKETCH_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "api/record/explanation.h"
#include "chat/text/message.h"

namespace cairn {

struct PromptSketch {
  // Messages of a longer conversation beyond these are not remembered.
  static constexpr size_t kMessagesMax = 1024;

  struct Part {
    Role role = Role::kUser;
    uint64_t said = 0;       // a hash of its content and calls
    uint64_t reasoning = 0;  // a hash; 0: none
    size_t end = 0;          // tokens of the prompt up to its end
  };

  uint64_t system = 0;    // a hash of the leading system messages
  uint64_t tools = 0;     // a hash of the tools as they are
  uint64_t tool_set = 0;  // the same, whatever their order
  size_t header_end = 0;  // tokens before the first of `messages`
  size_t first = 0;       // its index in the conversation
  // Those behind the leading system messages. Empty for a prompt that came as text.
  std::vector<Part> messages = {};
};

// `explanation`: of the same prompt.
PromptSketch SketchOf(const ExplainedPrompt& prompt, const Explanation& explanation);

// The part that a prompt has in common with an earlier one, whatever changed in between.
struct SketchMatch {
  // Tokens that could be shared if nothing had changed: up to the end of the last message that the
  // earlier prompt has, and of the answer to it.
  size_t tokens = 0;
  size_t messages = 0;     // of the prompt that the earlier one has, behind the system messages
  bool continues = false;  // `tokens` ends behind the answer to the earlier prompt
  bool system_differs = false;
  bool tools_differ = false;
  bool tools_are_reordered = false;
  size_t dropped = 0;  // so many of the earlier prompt's first messages are missing
  // Index in `messages` of the first message that is another one, though those behind it are the
  // same again, and of the first whose reasoning differs.
  std::optional<size_t> changed = {};
  std::optional<size_t> changed_reasoning = {};
};

SketchMatch MatchSketches(const PromptSketch& now, const PromptSketch& earlier);

}  // namespace cairn

#endif  // CAIRN_API_RECORD_PROMPT_SKETCH_H_
