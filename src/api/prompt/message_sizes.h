// MessageSizes: how many tokens the messages of a conversation take, found without rendering it.
//
// A template renders a message differently as the conversation grows (it drops old reasoning). What
// is decided by rendered sizes would then be decided otherwise in the next turn. So a message's
// size depends on that message alone: its texts by the model's tokenizer, and the template's text
// around a message, which is measured once. The sum over a conversation is close to its prompt's
// length.
//
// Cost: a text is tokenized once, and its size is kept for its namespace. The first use renders
// four conversations of a few words.
//
// Threads: any, concurrently.

#ifndef CAIRN_API_PROMPT_MESSAGE_SIZES_H_
#define CAIRN_API_PROMPT_MESSAGE_SIZES_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "base/memory/kept_by_key.h"
#include "cache/objects/segment_index.h"
#include "chat/template/chat_template.h"
#include "chat/text/message.h"
#include "engine/engine.h"

namespace cairn {

class MessageSizes {
 public:
  // Both outlive it.
  MessageSizes(const Engine* engine, const ChatTemplate* chat_template);

  // The template's tokens around all messages, around each, and around a call's name and arguments
  // beside those of its message.
  size_t around_all() const { return around().all; }
  size_t around_message() const { return around().message; }
  size_t around_call() const { return around().call; }

  // Media count as nothing.
  size_t Of(NamespaceId name_space, const Message& message) const;
  size_t OfContent(NamespaceId name_space, const Message& message) const;
  size_t OfText(NamespaceId name_space, std::string_view text) const;
  // Returns what the tools add to a prompt.
  size_t OfTools(NamespaceId name_space, const Tools& tools) const;

 private:
  struct Around {
    size_t all = 0;
    size_t message = 0;
    size_t call = 0;
  };

  // Measured at the first use: most servers never need it.
  const Around& around() const;
  Around Measured() const;
  // Returns the tokens of a message's texts alone.
  size_t TextsOf(NamespaceId name_space, const Message& message) const;
  // Returns a lower bound of the text's tokens if that does not fit the context: such a text need
  // not be tokenized to be dropped. Otherwise 0.
  size_t LeastOfLong(std::string_view text) const;

  const Engine* const engine_;
  const ChatTemplate* const template_;
  mutable std::once_flag measured_;
  mutable Around around_;
  mutable KeptByKey<size_t> kept_;  // by namespace and text
};

}  // namespace cairn

#endif  // CAIRN_API_PROMPT_MESSAGE_SIZES_H_
