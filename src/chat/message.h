// Conversations as every API folder hands them to the chat layer: plain data, no JSON types.

#ifndef CAIRN_CHAT_MESSAGE_H_
#define CAIRN_CHAT_MESSAGE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

// Members are initialised outright so that a caller may name only the ones it sets.

enum class Role { kSystem, kDeveloper, kUser, kAssistant, kTool };

// "system", "developer", "user", "assistant", "tool".
std::string_view RoleName(Role role);
// The role of that name, or nothing.
std::optional<Role> RoleFromName(std::string_view name);

struct ToolCall {
  std::string id = {};
  std::string name = {};
  std::string arguments = {};  // JSON text, as the model wrote it
};

// A client asked that what stands before this place be kept (Anthropic's `cache_control`). No
// template is shown it.
struct CacheMark {
  int64_t ttl_s = 300;
  // Before the end of its message, where no boundary is known; otherwise at its end.
  bool inside = false;

  friend bool operator==(const CacheMark&, const CacheMark&) = default;
};

struct Message {
  Role role = Role::kUser;
  std::string content = {};
  std::string reasoning = {};             // assistant only
  std::vector<ToolCall> tool_calls = {};  // assistant only
  std::string tool_call_id = {};          // tool only: the call it answers
  std::string name = {};                  // of the tool or the speaker; may be empty
  std::vector<CacheMark> marks = {};
};

// Where a conversation's prompt ends.
enum class PromptEnd : uint8_t {
  kGenerationPrompt,  // behind what the template opens an answer with
  kLastMessage,       // behind the last message
  kOpenMessage,  // inside the last message, which is the assistant's: the answer goes on from it
  kUsual,        // the client left it to the server (api/prompt/prefill.h)
};

// How much reasoning a client wants, in no template's words.
struct ReasoningWish {
  std::string effort = {};           // one of ReasoningEfforts(); empty: not said
  std::optional<bool> enabled = {};  // nothing: not said

  friend bool operator==(const ReasoningWish&, const ReasoningWish&) = default;
};

// Whether no reasoning is wanted.
inline bool IsOff(const ReasoningWish& wish) {
  return wish.effort == "none" || wish.enabled == false;
}

struct Conversation {
  std::vector<Message> messages = {};
  std::string tools_json = {};  // the OpenAI `tools` array; empty when there are none
  std::string template_kwargs_json =
      {};  // the `chat_template_kwargs` object; empty when there are none
  ReasoningWish reasoning = {};
  std::vector<CacheMark> tools_marks = {};
  // What a template that asks for the date is told, in seconds since 1970. 0: the machine's clock
  // at every rendering. A caller that keeps one value for a conversation keeps its prefix.
  int64_t now_unix_s = 0;
  PromptEnd end = PromptEnd::kGenerationPrompt;
};

}  // namespace cairn

#endif  // CAIRN_CHAT_MESSAGE_H_
