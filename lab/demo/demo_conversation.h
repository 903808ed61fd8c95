// The demo's conversations: somebody asks about a document, follows up, goes back, asks again. Data
// only; whoever plays it puts the server's answers in between.
//
// Thread-safe: pure functions over constants.

#ifndef CAIRN_LAB_DEMO_DEMO_CONVERSATION_H_
#define CAIRN_LAB_DEMO_DEMO_CONVERSATION_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lab/client/chat_client.h"

namespace cairn {

// What a turn does to the messages of its conversation before they are sent.
enum class TurnOperation {
  kAppend,      // a new message at the end; the first one begins the conversation
  kEditFrom,    // another text for an earlier user message; all that came after it is dropped
  kRegenerate,  // the last answer is dropped and asked for again
  kDropPage,    // a page that was pasted into the last user message is taken out of it, and a new
                // message stands at the end
};

struct DemoTurn {
  std::string what;  // in a few words, for people
  TurnOperation operation = TurnOperation::kAppend;
  size_t conversation = 0;
  size_t user_message = 0;     // of kEditFrom: which user message, counted from 0
  std::string text;            // of the user's message; empty for kRegenerate
  bool after_restart = false;  // the server is ended and started before it
};

using Conversations = std::vector<std::vector<ChatMessage>>;

// The document of our own that the demo talks about unless it is given another.
std::string_view DemoDocument();

// About `bytes` of the document, from about `fraction` (0 to 1) of it on, from the beginning of a
// sentence to the end of one where there are sentences.
std::string Passage(std::string_view document, double fraction, size_t bytes);

// The system message, with the document in it.
ChatMessage DemoSystemMessage(std::string_view document);
// The turns. In one of them the user pastes a passage of the document.
std::vector<DemoTurn> DemoTurns(std::string_view document);

// Makes the turn's conversation (which ends with an answer, or has not begun) what is to be sent,
// and returns it. A new one begins with `system`.
// REQUIRES: the message that the turn speaks of is there.
std::vector<ChatMessage>& ApplyTurn(const DemoTurn& turn, const ChatMessage& system,
                                    Conversations* conversations);

}  // namespace cairn

#endif  // CAIRN_LAB_DEMO_DEMO_CONVERSATION_H_
