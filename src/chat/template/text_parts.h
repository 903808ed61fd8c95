// JoinTextParts: makes one text of the parts in which a client sent it.
//
//   [{"type": "text", "text": "What is"}, {"type": "text", "text": "the best"}]
//   ->  "What is\nthe best", where the template takes no parts
//
// Agents send several texts in a message: a reminder, a file, the question. Without anything
// between them words and tags run into one another. The text between two parts depends on the
// template and on the message alone, so a conversation has the same text in every turn.

#ifndef CAIRN_CHAT_TEMPLATE_TEXT_PARTS_H_
#define CAIRN_CHAT_TEMPLATE_TEXT_PARTS_H_

#include "chat/message.h"
#include "chat/template/template_caps.h"

namespace cairn {

// Puts the separators between the parts of every message, or line breaks in a message with media,
// as llama-server does; moves the places of the media along. The messages have no parts afterwards,
// so a second call does nothing. Any thread.
void JoinTextParts(const PartSeparators& separators, Conversation* conversation);

}  // namespace cairn

#endif  // CAIRN_CHAT_TEMPLATE_TEXT_PARTS_H_
