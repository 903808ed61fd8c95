// Conversations in the form that every API folder passes to the chat layer: plain data, but for
// the tools, which are parsed JSON (chat/text/tools.h).

#ifndef CAIRN_CHAT_TEXT_MESSAGE_H_
#define CAIRN_CHAT_TEXT_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/text/tools.h"
#include "media/medium.h"

namespace cairn {

// All members have initializers, so that a caller may name only the ones that it sets.

enum class Role { kSystem, kDeveloper, kUser, kAssistant, kTool };

// Returns "system", "developer", "user", "assistant" or "tool".
std::string_view RoleName(Role role);
// Returns the role of that name; nullopt if there is none.
std::optional<Role> RoleFromName(std::string_view name);

struct ToolCall {
  std::string id = {};
  std::string name = {};
  std::string arguments = {};  // JSON text, as the model wrote it
};

// A client's request to keep everything before this place cached (Anthropic's `cache_control`).
// Templates do not see it.
struct CacheMark {
  int64_t ttl_s = 300;
  // True if the mark lies before the end of its message, where no boundary is known; otherwise it
  // is at the end.
  bool inside = false;

  friend bool operator==(const CacheMark&, const CacheMark&) = default;
};

struct Message {
  Role role = Role::kUser;
  std::string content = {};
  std::string reasoning = {};             // assistant only
  std::vector<ToolCall> tool_calls = {};  // assistant only
  std::string tool_call_id = {};          // tool only: the id of the call that it answers
  std::string name = {};                  // name of the tool or the author; may be empty
  std::vector<CacheMark> marks = {};
  MarkedMedia media = {};  // where `content` shows images and recordings
  // Where in `content` a text begins that the client sent as a part of its own behind another text,
  // rising. Nothing stands between the two until JoinTextParts (chat/text/text_parts.h).
  std::vector<size_t> part_begins = {};
};

// Appends a text that is a part of its own to the message's content. Behind a medium it goes on
// where the medium ends.
void AppendTextPart(std::string_view text, Message* message);
// Appends a part of an assistant's reasoning, on a line of its own.
void AppendReasoningPart(std::string_view text, Message* message);
// Notes a type in `left_out`. A type is a client's text: one that is no plain word, or one too
// many, is noted as "others".
void NoteLeftOut(std::string_view type, std::vector<std::string>* left_out);

// The place where a conversation's prompt ends.
enum class PromptEnd : uint8_t {
  kGenerationPrompt,  // after the template's opening of an answer
  kLastMessage,       // after the last message
  kOpenMessage,       // inside the last message, the assistant's, which the answer continues
  kUsual,             // not set by the client; the server decides (api/request/prefill.h)
};

// How much reasoning a client wants, independent of any template.
struct ReasoningWish {
  std::string effort = {};           // one of ReasoningEfforts(); empty: not set
  std::optional<bool> enabled = {};  // nullopt: not set

  friend bool operator==(const ReasoningWish&, const ReasoningWish&) = default;
};

// Whether the wish is for no reasoning.
inline bool IsOff(const ReasoningWish& wish) {
  return wish.effort == "none" || wish.enabled == false;
}

// A client's wish to have old parts of the conversation cleared before its prompt is made
// (Anthropic's `context_management`; api/prompt/context_editor.h). Templates do not see it.
struct ContextEdits {
  // Clears the results of the oldest tool uses, all but the newest `keep`.
  struct ToolUses {
    size_t trigger = 100'000;    // nothing is cleared up to so many
    bool counts_uses = false;    // `trigger` is in uses; otherwise in tokens of the prompt
    size_t keep = 3;             // uses
    size_t clear_at_least = 0;   // tokens; a step that clears fewer is not made
    bool clears_inputs = false;  // of the cleared uses too, of all tools
    std::vector<std::string> cleared_inputs = {};  // or of these
    std::vector<std::string> excluded = {};        // tools whose uses stay and do not count
  };

  // The client sent edits, if only an empty list: the answer tells what was cleared.
  bool asked = false;
  // Turns, of those with reasoning the newest, whose reasoning stays; nullopt: it is left to the
  // template.
  std::optional<size_t> reasoning_turns = {};
  std::optional<ToolUses> tool_uses = {};

  bool any() const { return reasoning_turns.has_value() || tool_uses.has_value(); }
};

struct Conversation {
  std::vector<Message> messages = {};
  ContextEdits edits = {};
  // The types of the parts that a client sent and the messages do not hold, because only the
  // service that wrote them can use them; each once.
  std::vector<std::string> left_out = {};
  Tools tools = {};
  // Tools whose definitions a message shows: they may be called too, and are not in the prompt's
  // list.
  Tools loaded_tools = {};
  std::string template_kwargs_json =
      {};  // the `chat_template_kwargs` object; empty if there are none
  ReasoningWish reasoning = {};
  std::vector<CacheMark> tools_marks = {};
  // The time for templates that print the date, in seconds since 1970. 0: the machine's clock at
  // every rendering. A caller that keeps one value for a conversation keeps its prefix.
  int64_t now_unix_s = 0;
  PromptEnd end = PromptEnd::kGenerationPrompt;
};

// ChatTemplate::Render, for the functions that learn from its prompts.
using RenderConversation = std::function<Result<std::string>(const Conversation& conversation,
                                                             bool add_generation_prompt)>;

}  // namespace cairn

#endif  // CAIRN_CHAT_TEXT_MESSAGE_H_
