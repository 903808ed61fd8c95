// The values that a chat template receives, made from a Conversation.

#ifndef CAIRN_CHAT_TEMPLATE_TEMPLATE_INPUT_H_
#define CAIRN_CHAT_TEMPLATE_TEMPLATE_INPUT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "chat/template/rendered_text.h"
#include "chat/template/template_caps.h"
#include "chat/text/message.h"
#include "jinja/value/value.h"

namespace cairn {

// An entry of `messages`, and where its texts came from.
struct TemplateMessage {
  struct Pieces {
    std::string member;  // of `json`
    size_t item = 0;     // if that is a list
    std::vector<TextPiece> pieces;
  };

  Json json = Json::object();
  size_t index = kNoMessage;  // of the first message that it was made from
  std::vector<Pieces> texts = {};
  std::vector<size_t> callers = {};  // messages of its calls
};

// Returns the `messages` array in the form that the template needs. A call's arguments become an
// object where it needs one, whatever they are (chat/text/call_arguments.h). Returns
// kInvalidArgument if there are too many messages. Any thread.
Result<std::vector<TemplateMessage>> TemplateMessages(const Conversation& conversation,
                                                      const TemplateCaps& caps);

// Returns an entry as a value whose texts have their sources' numbers. Raises a Failure, so only
// inside of jinja::Template::Render.
jinja::Value ValueOfMessage(jinja::Heap* heap, const TemplateMessage& message,
                            TextSources* sources);
// The same for all texts of a value.
jinja::Value ValueWithSource(jinja::Heap* heap, const Json& json, const TextSource& source,
                             TextSources* sources);

// Returns the `chat_template_kwargs` object; empty if the conversation has none.
Result<Json> TemplateKwargs(const Conversation& conversation);

}  // namespace cairn

#endif  // CAIRN_CHAT_TEMPLATE_TEMPLATE_INPUT_H_
