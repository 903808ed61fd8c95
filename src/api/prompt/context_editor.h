// ContextEditor: clears old parts of a conversation before its prompt is made, as its client asked
// (ContextEdits): reasoning of older turns, and results of older tool uses, which become a
// placeholder.
//
//   trigger: 5 uses, keep: 2          u result  c cleared
//   u u u u u                         five: nothing happens
//   c c c c u u                       the sixth: all but two are cleared
//   c c c c u u u u u                 they stay cleared, and no further ones are
//   c c c c c c c c u u               until more than five are there again
//
// A client sends the whole conversation in every turn, with what was cleared before. Were
// everything but the newest uses cleared each time, each turn would clear one more, and everything
// behind it would be prefilled again. So the steps are found by walking over the conversation, from
// one place where an answer was asked for to the next, as if each had been a request: what a step
// decides depends on what stands before it and on the steps before. No state is kept, so the next
// turn, a restarted server and another server find the same steps.
//
// At each place the prompt's tokens are the sum of its messages' sizes (api/prompt/message_sizes.h)
// and of the reasoning that the template shows there.
//
// Threads: any, concurrently.

#ifndef CAIRN_API_PROMPT_CONTEXT_EDITOR_H_
#define CAIRN_API_PROMPT_CONTEXT_EDITOR_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "api/media/media_layouts.h"
#include "api/prompt/message_sizes.h"
#include "base/result.h"
#include "chat/template/chat_template.h"
#include "chat/text/message.h"

namespace cairn {

// A model reads this in place of a result that was cleared.
inline constexpr std::string_view kClearedResult = "(old result, removed to save space)";

// The result of clearing. The tokens are those of the texts and media, less their placeholders;
// reasoning counts where the template would have shown it. A text that is no longer than its
// placeholder stays.
struct AppliedEdits {
  bool asked = false;  // ContextEdits::asked
  size_t reasoning_turns = 0;
  size_t reasoning_tokens = 0;
  size_t tool_uses = 0;
  size_t tool_tokens = 0;
};

class ContextEditor {
 public:
  // All outlive it. `media` may be null: then a conversation has none.
  ContextEditor(const MessageSizes* sizes, const ChatTemplate* chat_template, MediaLayouts* media)
      : sizes_(sizes), template_(chat_template), media_(media) {}

  // Makes the conversation's edits and takes them off it, so a second call does nothing. Errors are
  // those of media that cannot be decoded.
  Result<AppliedEdits> Apply(NamespaceId name_space, Conversation* conversation) const;

 private:
  // The answers whose reasoning a template shows.
  enum class Shown : uint8_t { kNone, kBehindLastUser, kAll };

  struct Sizes;
  struct ToolUse;
  struct ReasonedTurn;

  static std::vector<ReasonedTurn> ReasonedTurns(const std::vector<Message>& messages);
  // Returns the message from which on reasoning is kept, of the first `end` messages.
  static size_t ReasoningKeptFrom(const std::vector<ReasonedTurn>& turns,
                                  std::optional<size_t> kept, size_t end);
  // Returns how many of the oldest uses are cleared.
  static size_t CountCleared(const Conversation& conversation, const Sizes& sizes,
                             const std::vector<ReasonedTurn>& turns,
                             const std::vector<ToolUse>& uses);

  Shown FindShown(const Conversation& conversation) const;
  Result<Sizes> Measure(NamespaceId name_space, const Conversation& conversation) const;
  Result<size_t> MediaTokens(NamespaceId name_space, const Message& message) const;
  // Returns the uses that may be cleared, in the order of their results.
  std::vector<ToolUse> FindUses(NamespaceId name_space, const Sizes& sizes,
                                Conversation* conversation) const;

  const MessageSizes* const sizes_;
  const ChatTemplate* const template_;
  MediaLayouts* const media_;
};

}  // namespace cairn

#endif  // CAIRN_API_PROMPT_CONTEXT_EDITOR_H_
