#include "chat/template/template_turns.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <utility>

#include "base/hash.h"
#include "base/json.h"
#include "base/white_space.h"
#include "chat/calls/calls_json.h"

namespace cairn {
namespace {

constexpr std::string_view kBetweenTurns = "\n\n";
constexpr size_t kShortIdSize = 9;

bool IsInstruction(const Message& message) {
  return message.role == Role::kSystem || message.role == Role::kDeveloper;
}

// `more` behind `text`, a blank line between them where both have something to show.
void AppendText(std::string_view more, std::string* text) {
  if (more.empty()) return;
  if (!text->empty()) *text += kBetweenTurns;
  *text += more;
}

// An id of nine letters and digits, the same for the same id.
std::string ShortId(const std::string& id) {
  constexpr std::string_view kDigits =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const bool fits = id.size() == kShortIdSize && std::all_of(id.begin(), id.end(), [](char c) {
                      return std::isalnum(static_cast<unsigned char>(c)) != 0;
                    });
  if (fits || id.empty()) return id;
  uint64_t hash = Hash64(id);
  std::string text;
  for (size_t i = 0; i < kShortIdSize; ++i, hash /= kDigits.size()) {
    text += kDigits[hash % kDigits.size()];
  }
  return text;
}

// How a template that knows no tools is told of them: as part of the system text. The calls are
// in the form that most models have seen, and that the Hermes parser reads.
std::string ToolsAsText(const Tools& tools) {
  return "# Tools\n\nThese functions can be called:\n<tools>\n" + tools.text() +
         "\n</tools>"
         "\n\nTo call a function, write its name and its arguments as JSON in tags, and nothing "
         "behind them. Several calls have a pair of tags each:\n<tool_call>\n"
         "{\"name\": \"NAME\", \"arguments\": {\"PARAMETER\": \"VALUE\"}}\n</tool_call>";
}

std::string CallAsText(const ToolCall& call) {
  const std::string_view arguments = Trimmed(call.arguments);
  return "<tool_call>\n{\"name\": " + JsonString(call.name) +
         ", \"arguments\": " + (arguments.empty() ? "{}" : std::string(arguments)) +
         "}\n</tool_call>";
}

class TurnBuilder {
 public:
  TurnBuilder(const Conversation& conversation, const TemplateCaps& caps)
      : conversation_(conversation), caps_(caps) {}

  std::vector<TemplateTurn> Build() {
    const auto& messages = conversation_.messages;
    const size_t first = AddLeading();
    for (size_t i = first; i < messages.size(); ++i) {
      if (IsInstruction(messages[i])) {
        AddLate(messages[i], i);
      } else {
        AddTurn(Adapted(messages[i]), i);
      }
    }
    FlushCalls();
    FlushWaiting();
    return std::move(turns_);
  }

 private:
  // Leading system and developer messages as one. Returns how many there are.
  size_t AddLeading() {
    const auto& messages = conversation_.messages;
    const auto end = std::find_if_not(messages.begin(), messages.end(), IsInstruction);
    const auto count = static_cast<size_t>(end - messages.begin());
    const bool tools = !caps_.knows_tools() && !conversation_.tools.empty();
    if (count == 0 && !tools) return 0;
    Message leading = count > 0 ? messages.front() : Message{.role = Role::kSystem};
    for (size_t i = 1; i < count; ++i) AppendText(messages[i].content, &leading.content);
    if (tools) AppendText(ToolsAsText(conversation_.tools), &leading.content);
    if (leading.role == Role::kDeveloper && !caps_.developer_role) leading.role = Role::kSystem;
    if (caps_.system_role) {
      turns_.push_back({std::move(leading), 0});
    } else {
      Hold(leading.content, 0);
    }
    return count;
  }

  // The probe showed late system messages; late developers are called systems for that reason.
  void AddLate(const Message& message, size_t index) {
    if (caps_.late_system == LateSystem::kInPlace && caps_.system_role) {
      turns_.push_back({message, index});
      turns_.back().message.role = Role::kSystem;
      return;
    }
    if (Trimmed(message.content).empty()) return;
    const std::string reminder = SystemReminder(message.content);
    const bool beside =
        waiting_.empty() && !turns_.empty() &&
        (turns_.back().message.role == Role::kUser || turns_.back().message.role == Role::kTool);
    if (beside) {
      AppendText(reminder, &turns_.back().message.content);
    } else {
      Hold(reminder, index);
    }
  }

  // Until there is a turn to join.
  void Hold(std::string_view text, size_t index) {
    if (waiting_.empty()) waiting_index_ = index;
    AppendText(text, &waiting_);
  }

  void FlushWaiting() {
    if (waiting_.empty()) return;
    Push({.role = Role::kUser, .content = std::exchange(waiting_, {})}, waiting_index_);
  }

  void AddTurn(Message message, size_t index) {
    if (message.role != Role::kTool) FlushCalls();
    if (message.role == Role::kAssistant) {
      if (caps_.no_empty_answers && message.tool_calls.empty() && Trimmed(message.content).empty())
        return;
      FlushWaiting();
    }
    if (message.role == Role::kUser && !waiting_.empty()) {
      std::string content = std::exchange(waiting_, {});
      AppendText(message.content, &content);
      message.content = std::move(content);
    }
    if (message.role == Role::kTool) {
      AppendText(std::exchange(waiting_, {}), &message.content);
      TakeCallOf(message);
    }
    if (caps_.single_calls && message.tool_calls.size() > 1) {
      HoldCalls({message.tool_calls.begin() + 1, message.tool_calls.end()}, index);
      message.tool_calls.resize(1);
    }
    Push(std::move(message), index);
  }

  void HoldCalls(std::vector<ToolCall> calls, size_t index) {
    calls_ = std::move(calls);
    calls_index_ = index;
    calls_by_id_.clear();
    for (size_t i = 0; i < calls_.size(); ++i) calls_by_id_.emplace(calls_[i].id, i);
  }

  // Where a message may have one call, each of the others comes right before its result. Of two
  // calls with one id the first has the first result.
  void TakeCallOf(const Message& result) {
    const auto found = calls_by_id_.lower_bound(result.tool_call_id);
    if (found == calls_by_id_.end() || found->first != result.tool_call_id) return;
    ToolCall call = std::move(calls_[found->second]);
    calls_by_id_.erase(found);
    Push({.role = Role::kAssistant, .tool_calls = {std::move(call)}}, calls_index_);
  }

  // Calls that have no result, in their order.
  void FlushCalls() {
    std::vector<size_t> left;
    for (const auto& [id, index] : std::exchange(calls_by_id_, {})) left.push_back(index);
    std::sort(left.begin(), left.end());
    for (const size_t index : left) {
      turns_.push_back(
          {{.role = Role::kAssistant, .tool_calls = {std::move(calls_[index])}}, calls_index_});
    }
  }

  void Push(Message message, size_t index) {
    Message* const before = turns_.empty() ? nullptr : &turns_.back().message;
    const bool strict = caps_.late_system == LateSystem::kStrictTurns;
    const bool joins =
        before != nullptr &&
        ((strict && message.role == before->role && message.role != Role::kTool) ||
         (caps_.no_user_after_tool && message.role == Role::kUser && before->role == Role::kTool));
    if (!joins) {
      turns_.push_back({std::move(message), index});
      return;
    }
    AppendText(message.content, &before->content);
    AppendText(message.reasoning, &before->reasoning);
    for (ToolCall& call : message.tool_calls) before->tool_calls.push_back(std::move(call));
  }

  // Calls and results as text where the template shows none, ids as it wants them.
  Message Adapted(Message message) const {
    if (!caps_.knows_tools() && !message.tool_calls.empty()) {
      for (const ToolCall& call : message.tool_calls) {
        AppendText(CallAsText(call), &message.content);
      }
      message.tool_calls.clear();
    }
    if (!caps_.knows_tools() && message.role == Role::kTool) {
      message = {.role = Role::kUser,
                 .content = "<tool_response>\n" + message.content + "\n</tool_response>"};
    }
    if (caps_.no_text_beside_thinking && !message.tool_calls.empty() &&
        !message.reasoning.empty()) {
      AppendText(std::exchange(message.content, {}), &message.reasoning);
    }
    if (caps_.short_call_ids) {
      for (ToolCall& call : message.tool_calls) call.id = ShortId(call.id);
      message.tool_call_id = ShortId(message.tool_call_id);
    }
    return message;
  }

  const Conversation& conversation_;
  const TemplateCaps& caps_;
  std::vector<TemplateTurn> turns_;
  std::string waiting_;  // system text that the next user or tool message takes with it
  size_t waiting_index_ = 0;
  std::vector<ToolCall> calls_;                     // of one message
  std::multimap<std::string, size_t> calls_by_id_;  // those that wait for their results
  size_t calls_index_ = 0;
};

}  // namespace

std::vector<TemplateTurn> TurnsForTemplate(const Conversation& conversation,
                                           const TemplateCaps& caps) {
  return TurnBuilder(conversation, caps).Build();
}

std::string SystemReminder(std::string_view system_text) {
  return "<system-reminder>\n" + std::string(system_text) + "\n</system-reminder>";
}

}  // namespace cairn
