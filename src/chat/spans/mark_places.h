// Where the places that a client marked (`cache_control`) stand in a rendered prompt.
//
//   system [A][B*]   user [C][D*]        <|im_start|>system … <|im_start|>user …
//   <|im_start|>assistant
//   * marked                                                  ^ the end of B      ^ the end of D
//
// A message ends where the next one begins, or, when that is not known, where the conversation up
// to it ends when it is rendered alone: if that text is the prompt's own beginning, byte for byte.
// A mark whose place cannot be found moves to the last known boundary before it, and is left out
// when there is none. Never a guess.

#ifndef CAIRN_CHAT_SPANS_MARK_PLACES_H_
#define CAIRN_CHAT_SPANS_MARK_PLACES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "chat/message.h"
#include "chat/template/chat_template.h"
#include "chat/template/prompt_text.h"

namespace cairn {

struct MarkPlace {
  size_t offset = 0;  // bytes of the prompt's text before it; never 0
  int64_t ttl_s = 0;

  friend bool operator==(const MarkPlace&, const MarkPlace&) = default;
};

// `prompt` must be what `chat_template` renders for `conversation`. Shallowest first, one a place.
// Renders at most once for each mark, and not at all without marks. Any thread.
std::vector<MarkPlace> FindMarkPlaces(const ChatTemplate& chat_template,
                                      const Conversation& conversation, const PromptText& prompt);

}  // namespace cairn

#endif  // CAIRN_CHAT_SPANS_MARK_PLACES_H_
