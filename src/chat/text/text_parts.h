// JoinTextParts: makes one text of the parts in which a client sent it.
//
//   [{"type": "text", "text": "What is"}, {"type": "text", "text": "the best"}]
//   ->  "What is\nthe best", where the template takes no parts
//
// Agents send several texts in a message: a reminder, a file, the question. Without anything
// between them words and tags run into one another. The text between two parts depends on the
// template and on the message alone, so a conversation has the same text in every turn.

#ifndef CAIRN_CHAT_TEXT_TEXT_PARTS_H_
#define CAIRN_CHAT_TEXT_TEXT_PARTS_H_

#include <string>

#include "chat/text/message.h"

namespace cairn {

// The text between two texts that a client sent as parts of one message: the one that the template
// puts there, or a line break where it takes no parts. Each role has its own.
struct PartSeparators {
  std::string system = "\n";  // of developers too
  std::string user = "\n";
  std::string assistant = "\n";
  std::string tool = "\n";

  const std::string& Of(Role role) const {
    switch (role) {
      case Role::kSystem:
      case Role::kDeveloper:
        return system;
      case Role::kUser:
        return user;
      case Role::kAssistant:
        return assistant;
      case Role::kTool:
        return tool;
    }
    return user;
  }
};

// Puts the separators between the parts of every message, or line breaks in a message with media,
// as llama-server does; moves the places of the media along. The messages have no parts afterwards,
// so a second call does nothing. Any thread.
void JoinTextParts(const PartSeparators& separators, Conversation* conversation);

}  // namespace cairn

#endif  // CAIRN_CHAT_TEXT_TEXT_PARTS_H_
