// For tests: the templates of testdata/templates/, which we wrote in the form of those of
// well-known model families; conversations for them; and a check of every boundary.

#ifndef CAIRN_TESTING_CHAT_FAMILY_TEMPLATES_H_
#define CAIRN_TESTING_CHAT_FAMILY_TEMPLATES_H_

#include <memory>
#include <string>
#include <vector>

#include "chat/spans/spans.h"
#include "chat/template/chat_template.h"
#include "chat/text/message.h"

namespace cairn::test {

// File names without their extensions, sorted.
const std::vector<std::string>& FamilyNames();

inline constexpr char kFamilyBos[] = "<bos>";
inline constexpr char kFamilyEos[] = "<eos>";

// Returns null, and fails the test, if there is none of that name or it is not a template.
std::unique_ptr<ChatTemplate> Family(const std::string& name);

struct NamedConversation {
  std::string name;
  Conversation conversation;
};

// The text of message 3 begins and ends with the words "m3a" and "m3z", as far as its test case
// allows; its reasoning with "r3a" and "r3z", its calls' arguments with "c3a" and "c3z".
std::vector<NamedConversation> FamilyConversations();

// Returns what is wrong with a shape, in a sentence, or an empty string. The conversation's words
// are as in FamilyConversations. The check is independent of how boundaries are found.
std::string WrongBoundary(const Conversation& conversation, const std::string& text,
                          const TextShape& shape);

}  // namespace cairn::test

#endif  // CAIRN_TESTING_CHAT_FAMILY_TEMPLATES_H_
