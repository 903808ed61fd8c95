// The demo's conversations: a user asks about a document, follows up, edits, and regenerates. Data
// only; the caller inserts the server's answers.
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

// The change that a turn makes to its conversation's messages before they are sent.
enum class TurnOperation {
  kAppend,      // appends a new message; the first one begins the conversation
  kEditFrom,    // replaces an earlier user message and drops everything after it
  kRegenerate,  // drops the last answer and requests it again
  kDropPage,    // removes the page that was pasted into the last user message, and appends a
                // new message
};

struct DemoTurn {
  std::string what;  // in a few words, for people
  TurnOperation operation = TurnOperation::kAppend;
  size_t conversation = 0;
  size_t user_message = 0;     // of kEditFrom: which user message, counted from 0
  std::string text;            // of the user's message; empty for kRegenerate
  bool after_restart = false;  // the server is restarted before the turn
};

using Conversations = std::vector<std::vector<ChatMessage>>;

// Returns the built-in document, the demo's subject unless the user gives another.
std::string_view DemoDocument();

// Returns about `bytes` of the document from about `fraction` (0 to 1) of its length on. The
// passage begins and ends with a sentence if the document has sentences.
std::string Passage(std::string_view document, double fraction, size_t bytes);

// Returns the system message, which contains the document.
ChatMessage DemoSystemMessage(std::string_view document);
// Returns the turns. In one of them the user pastes a passage of the document.
std::vector<DemoTurn> DemoTurns(std::string_view document);

// Applies the turn to its conversation, which ends with an answer or is empty, and returns the
// conversation, ready to be sent. A new conversation begins with `system`.
// REQUIRES: the turn's user message exists.
std::vector<ChatMessage>& ApplyTurn(const DemoTurn& turn, const ChatMessage& system,
                                    Conversations* conversations);

}  // namespace cairn

#endif  // CAIRN_LAB_DEMO_DEMO_CONVERSATION_H_
