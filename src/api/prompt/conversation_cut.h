// ConversationCut: leaves out a conversation's oldest turns when it does not fit the context
// (api/prompt/context_window.h says which): --context-overflow truncate.
//
// How long a conversation is, is told by its messages one by one, without rendering it: what a
// template makes of a message changes as the conversation goes on (it drops old reasoning), and
// then the next turn would be cut elsewhere. So each message counts with its reasoning, whether
// the template shows it or not, and with what this template puts around a message. That is a little
// more than the prompt has; where it is less after all, Apply is asked for a tighter cut.
//
// The cost: a conversation of fewer bytes than 80 % of the context has tokens is not looked at.
// Of others the messages are tokenised, each once: their sizes are kept.
//
// Threads: any, at the same time.

#ifndef CAIRN_API_PROMPT_CONVERSATION_CUT_H_
#define CAIRN_API_PROMPT_CONVERSATION_CUT_H_

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "api/prompt/context_window.h"
#include "chat/message.h"
#include "chat/template/chat_template.h"
#include "engine/engine.h"

namespace cairn {

class ConversationCut {
 public:
  // Steps of tightness; each takes so many parts of the window away, one part the step.
  static constexpr size_t kTightest = 6;

  // Both outlive it.
  ConversationCut(const Engine* engine, const ChatTemplate* chat_template);

  struct Applied {
    size_t dropped = 0;  // messages
    // It was cut elsewhere, or not at all, when its last answer was asked for.
    bool anew = false;
  };

  // Drops what does not fit. The header (all before the first user message) and the last user's
  // turn stay. `tightness`, up to kTightest: by how much smaller the window is taken to be. The
  // same conversation, grown by some messages, is cut at the same place until it overflows again.
  Applied Apply(Conversation* conversation, size_t tightness = 0) const;
  // What the conversation will be cut to once it overflows; nothing while that is not known, below
  // 80 % of the window. For reading it beforehand.
  std::optional<Conversation> Planned(Conversation conversation) const;

 private:
  struct Found {
    size_t header_messages = 0;
    WindowCut cut;
    WindowCut before;  // of what was there before the last answer
  };

  Found Find(const Conversation& conversation, size_t tightness) const;
  WindowRules RulesOf(size_t tightness) const;
  size_t SizeOf(const Message& message) const;
  size_t HeaderSize(const Conversation& conversation, size_t header_messages) const;
  size_t TokensOf(std::string_view text) const;

  const Engine* const engine_;
  // What the template puts around everything, and around each message.
  size_t around_all_ = 0;
  size_t around_message_ = 0;
  mutable std::mutex mutex_;
  mutable std::unordered_map<std::string, size_t> sizes_;  // by text; guarded by mutex_
  mutable size_t sized_bytes_ = 0;                         // of those texts; guarded by mutex_
};

}  // namespace cairn

#endif  // CAIRN_API_PROMPT_CONVERSATION_CUT_H_
