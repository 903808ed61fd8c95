// ConversationCut: drops a conversation's oldest turns when it does not fit the context, for
// --context-overflow truncate. api/prompt/context_window.h decides which.
//
// The length of a conversation is the sum of its messages' lengths, without rendering it. A
// template renders a message differently as the conversation grows (it drops old reasoning), and
// then the next turn would be cut at another place. So each message counts with its reasoning,
// whether the template shows it or not, and with the template's text around a message. The sum is a
// little more than the prompt; if it is less after all, Apply is called again with a tighter cut.
//
// Cost: a conversation of fewer bytes than 80 % of the context's tokens is not examined. Otherwise
// every message is tokenized once, and its size is kept.
//
// Threads: any, concurrently.

#ifndef CAIRN_API_PROMPT_CONVERSATION_CUT_H_
#define CAIRN_API_PROMPT_CONVERSATION_CUT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "api/prompt/context_window.h"
#include "base/mutex.h"
#include "chat/template/chat_template.h"
#include "chat/text/message.h"
#include "engine/engine.h"

namespace cairn {

class ConversationCut {
 public:
  // Steps of tightness; each step takes one more part of the window away.
  static constexpr size_t kTightest = 6;

  // Both outlive it.
  ConversationCut(const Engine* engine, const ChatTemplate* chat_template);

  struct Applied {
    size_t dropped = 0;  // messages
    // Whether the last request of the conversation was cut at another place, or not at all.
    bool anew = false;
  };

  // Drops the oldest turns that do not fit. The system prefix (everything before the first user
  // message) and the last turn stay. `tightness`, up to kTightest, is by how much the assumed
  // window is smaller. The same conversation with more messages is cut at the same place until it
  // overflows again.
  Applied Apply(Conversation* conversation, size_t tightness = 0) const;
  // Returns the conversation as it will be cut at the next overflow, for prefetch. Nullopt below 80
  // % of the window, where the cut is not known yet.
  std::optional<Conversation> Planned(Conversation conversation) const;

 private:
  struct Found {
    size_t header_messages = 0;
    WindowCut cut;
    WindowCut before;  // of the messages before the last answer
  };

  Found Find(const Conversation& conversation, size_t tightness) const;
  WindowRules RulesOf(size_t tightness) const;
  size_t SizeOf(const Message& message) const;
  size_t HeaderSize(const Conversation& conversation, size_t header_messages) const;
  size_t TokensOf(std::string_view text) const;

  const Engine* const engine_;
  // Tokens that the template adds to the prompt, and to each message.
  size_t around_all_ = 0;
  size_t around_message_ = 0;
  mutable Mutex mutex_;
  mutable std::unordered_map<std::string, size_t> sizes_ GUARDED_BY(mutex_);  // by text
  mutable size_t sized_bytes_ GUARDED_BY(mutex_) = 0;                         // of those texts
};

}  // namespace cairn

#endif  // CAIRN_API_PROMPT_CONVERSATION_CUT_H_
