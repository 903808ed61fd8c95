// ConversationCut: drops a conversation's oldest turns when it does not fit the context, for
// --context-overflow truncate. api/prompt/context_window.h decides which.
//
// The length of a conversation is the sum of its messages' sizes (api/prompt/message_sizes.h), so
// that the next turn is cut at the same place. Each message counts with its reasoning, whether the
// template shows it or not. The sum is a little more than the prompt; if it is less after all,
// Apply is called again with a tighter cut.
//
// Cost: a conversation of fewer bytes than 80 % of the context's tokens is not examined.
//
// Threads: any, concurrently.

#ifndef CAIRN_API_PROMPT_CONVERSATION_CUT_H_
#define CAIRN_API_PROMPT_CONVERSATION_CUT_H_

#include <cstddef>
#include <optional>

#include "api/prompt/context_window.h"
#include "api/prompt/message_sizes.h"
#include "chat/text/message.h"
#include "engine/engine.h"

namespace cairn {

class ConversationCut {
 public:
  // Steps of tightness; each step takes one more part of the window away.
  static constexpr size_t kTightest = 6;

  // Both outlive it.
  ConversationCut(const Engine* engine, const MessageSizes* sizes)
      : engine_(engine), sizes_(sizes) {}

  struct Applied {
    size_t dropped = 0;  // messages
    // Whether the last request of the conversation was cut at another place, or not at all.
    bool anew = false;
  };

  // Drops the oldest turns that do not fit. The system prefix (everything before the first user
  // message) and the last turn stay. `tightness`, up to kTightest, is by how much the assumed
  // window is smaller. The same conversation with more messages is cut at the same place until it
  // overflows again.
  Applied Apply(NamespaceId name_space, Conversation* conversation, size_t tightness = 0) const;
  // Returns the conversation as it will be cut at the next overflow, for prefetch. Nullopt below 80
  // % of the window, where the cut is not known yet.
  std::optional<Conversation> Planned(NamespaceId name_space, Conversation conversation) const;

 private:
  struct Found {
    size_t header_messages = 0;
    WindowCut cut;
    WindowCut before;  // of the messages before the last answer
  };

  Found Find(NamespaceId name_space, const Conversation& conversation, size_t tightness) const;
  WindowRules RulesOf(size_t tightness) const;
  size_t HeaderSize(NamespaceId name_space, const Conversation& conversation,
                    size_t header_messages) const;

  const Engine* const engine_;
  const MessageSizes* const sizes_;
};

}  // namespace cairn

#endif  // CAIRN_API_PROMPT_CONVERSATION_CUT_H_
