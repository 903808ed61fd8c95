// For tests: the templates of testdata/templates/, which are ours, in the form of well-known
// families of models; conversations that try them; and what must be true of every boundary.

#ifndef CAIRN_TESTING_CHAT_FAMILY_TEMPLATES_H_
#define CAIRN_TESTING_CHAT_FAMILY_TEMPLATES_H_

#include <memory>
#include <string>
#include <vector>

#include "chat/message.h"
#include "chat/spans/spans.h"
#include "chat/template/chat_template.h"

namespace cairn::test {

// File names without their endings, in alphabetical order.
const std::vector<std::string>& FamilyNames();

inline constexpr char kFamilyBos[] = "<bos>";
inline constexpr char kFamilyEos[] = "<eos>";

// Null, and a failed test, when there is none of that name or it is no template.
std::unique_ptr<ChatTemplate> Family(const std::string& name);

struct NamedConversation {
  std::string name;
  Conversation conversation;
};

// The text of message 3 begins and ends with the words "m3a" and "m3z", as near as what it tries
// lets it; its reasoning with "r3a" and "r3z", its calls' arguments with "c3a" and "c3z".
std::vector<NamedConversation> FamilyConversations();

// What is wrong with a shape, in a sentence; empty when nothing is. The conversation's words are as
// in FamilyConversations. It knows nothing of how boundaries are found.
std::string WrongBoundary(const Conversation& conversation, const std::string& text,
                          const TextShape& shape);

}  // namespace cairn::test

#endif  // CAIRN_TESTING_CHAT_FAMILY_TEMPLATES_H_
