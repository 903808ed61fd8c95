// PreparedPrompt: a conversation as the tokens of its prompt, with everything that is known about
// them (api/prompt/prompt_builder.h makes it).

#ifndef CAIRN_API_PROMPT_PREPARED_PROMPT_H_
#define CAIRN_API_PROMPT_PREPARED_PROMPT_H_

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "api/media/placed_medium.h"
#include "base/tokens.h"
#include "chat/spans/mark_places.h"
#include "chat/spans/prompt_text.h"
#include "chat/spans/token_map.h"
#include "chat/text/message.h"
#include "policy/prompt_shape.h"

namespace cairn {

struct PreparedPrompt {
  PromptText text = {};
  Tokens tokens = {};
  std::vector<PlacedMedium> media = {};
  bool adds_bos = false;  // the first token is not part of the text
  // Where clients' cache marks are in the text.
  std::vector<MarkPlace> marks = {};
  // The same, the turns and the reasoning as token positions, for placement. It holds only the
  // number of tokens if the model needs no checkpoints and there are no marks.
  PromptShape shape = {};
  std::shared_ptr<const TokenMap> map = {};  // null if the shape did not need it
  // The conversation as it was rendered.
  std::vector<Message> messages = {};
  Tools tools = {};
  size_t pinned_texts = 0;      // volatile texts that were replaced by their first values
  size_t dropped_messages = 0;  // left out because the conversation does not fit the context

  // The text after the last message, without prefilled().
  std::string_view generation_prompt() const {
    const std::string_view behind = std::string_view(text.text).substr(text.shape.last_message_end);
    return behind.substr(0, behind.size() - text.prefilled_bytes);
  }
  // The beginning of the answer that the client sent, at the end of the text.
  std::string_view prefilled() const {
    return std::string_view(text.text).substr(text.text.size() - text.prefilled_bytes);
  }
};

}  // namespace cairn

#endif  // CAIRN_API_PROMPT_PREPARED_PROMPT_H_
