// The positions in a rendered prompt of the places that a client marked (`cache_control`).
//
//   system [A][B*]   user [C][D*]             * marked
//
//   <|im_start|>system …<|im_start|>user …<|im_start|>assistant
//                       ^ the end of B    ^ the end of D
//
// A message ends where the next one begins. If that is not known, it ends where the conversation up
// to it ends when rendered alone, provided that this text is a prefix of the prompt, byte for byte.
// A mark whose place cannot be found moves to the last known boundary before it, and is omitted if
// there is none. Places are never guessed.

#ifndef CAIRN_CHAT_SPANS_MARK_PLACES_H_
#define CAIRN_CHAT_SPANS_MARK_PLACES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "chat/spans/prompt_text.h"
#include "chat/template/chat_template.h"
#include "chat/text/message.h"

namespace cairn {

struct MarkPlace {
  size_t offset = 0;  // byte offset in the prompt's text; never 0
  int64_t ttl_s = 0;

  friend bool operator==(const MarkPlace&, const MarkPlace&) = default;
};

// `prompt` must be what `chat_template` renders for `conversation`. Returns the shallowest first,
// at most one for each place. Renders at most once for each mark, and not at all without marks. Any
// thread.
std::vector<MarkPlace> FindMarkPlaces(const ChatTemplate& chat_template,
                                      const Conversation& conversation, const PromptText& prompt);

}  // namespace cairn

#endif  // CAIRN_CHAT_SPANS_MARK_PLACES_H_
