#include "chat/template/template_turns.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <utility>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "chat/calls/calls_json.h"

namespace cairn {
namespace {

constexpr std::string_view kBetweenTurns = "\n\n";
constexpr std::string_view kReminderBegin = "<system-reminder>\n";
constexpr std::string_view kReminderEnd = "\n</system-reminder>";
constexpr size_t kShortIdSize = 9;

bool IsInstruction(const Message& message) {
  return message.role == Role::kSystem || message.role == Role::kDeveloper;
}

// A text that is put together, and where its parts came from.
struct SourcedText {
  std::string text = {};
  std::vector<TextPiece> pieces = {};

  SourcedText& Add(std::string_view more, TextSource source = {}) {
    pieces.push_back({.begin = text.size(), .source = source});
    text += more;
    return *this;
  }
  SourcedText& Add(const SourcedText& more) {
    for (const TextPiece& piece : more.pieces) {
      pieces.push_back({text.size() + piece.begin, piece.source, piece.offset});
    }
    text += more.text;
    return *this;
  }
};

// `more` behind `text`, a blank line between them where both have something to show.
void AppendText(const SourcedText& more, SourcedText* text) {
  if (!more.text.empty() && !text->text.empty()) text->Add(kBetweenTurns);
  text->Add(more);
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
SourcedText ToolsAsText(const Tools& tools) {
  return SourcedText()
      .Add("# Tools\n\nThese functions can be called:\n<tools>\n")
      .Add(tools.text(), {TextField::kTools})
      .Add(
          "\n</tools>"
          "\n\nTo call a function, write its name and its arguments as JSON in tags, and nothing "
          "behind them. Several calls have a pair of tags each:\n<tool_call>\n"
          "{\"name\": \"NAME\", \"arguments\": {\"PARAMETER\": \"VALUE\"}}\n</tool_call>");
}

SourcedText CallAsText(const ToolCall& call, size_t index) {
  const std::string_view arguments = Trimmed(call.arguments);
  return SourcedText()
      .Add("<tool_call>\n{\"name\": ")
      .Add(JsonString(call.name), {TextField::kOther, index})
      .Add(", \"arguments\": ")
      .Add(arguments.empty() ? "{}" : arguments, {TextField::kArguments, index})
      .Add("}\n</tool_call>");
}

SourcedText Within(std::string_view before, const SourcedText& text, std::string_view behind) {
  return SourcedText().Add(before).Add(text).Add(behind);
}

struct Turn {
  Role role = Role::kUser;
  size_t index = 0;
  SourcedText content = {};
  SourcedText reasoning = {};
  std::vector<ToolCall> calls = {};
  std::vector<size_t> callers = {};
  std::string tool_call_id = {};
  std::string name = {};
};

Turn CallOf(ToolCall call, size_t index) {
  return {.role = Role::kAssistant, .index = index, .calls = {std::move(call)}, .callers = {index}};
}

TemplateTurn Finished(Turn turn) {
  return {.message = {.role = turn.role,
                      .content = std::move(turn.content.text),
                      .reasoning = std::move(turn.reasoning.text),
                      .tool_calls = std::move(turn.calls),
                      .tool_call_id = std::move(turn.tool_call_id),
                      .name = std::move(turn.name)},
          .index = turn.index,
          .content = std::move(turn.content.pieces),
          .reasoning = std::move(turn.reasoning.pieces),
          .callers = std::move(turn.callers)};
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
        AddLate(TurnOf(i));
      } else {
        AddTurn(Adapted(TurnOf(i)));
      }
    }
    FlushCalls();
    FlushWaiting();
    std::vector<TemplateTurn> finished;
    finished.reserve(turns_.size());
    for (Turn& turn : turns_) finished.push_back(Finished(std::move(turn)));
    return finished;
  }

 private:
  Turn TurnOf(size_t index) const {
    const Message& message = conversation_.messages[index];
    Turn turn = {.role = message.role,
                 .index = index,
                 .calls = message.tool_calls,
                 .callers = std::vector<size_t>(message.tool_calls.size(), index),
                 .tool_call_id = message.tool_call_id,
                 .name = message.name};
    turn.content.Add(message.content, {TextField::kContent, index});
    turn.reasoning.Add(message.reasoning, {TextField::kReasoning, index});
    return turn;
  }

  // Leading system and developer messages as one. Returns how many there are.
  size_t AddLeading() {
    const auto& messages = conversation_.messages;
    const auto end = std::find_if_not(messages.begin(), messages.end(), IsInstruction);
    const auto count = static_cast<size_t>(end - messages.begin());
    const bool tools = !caps_.knows_tools() && !conversation_.tools.empty();
    if (count == 0 && !tools) return 0;
    Turn leading = count > 0 ? TurnOf(0) : Turn{.role = Role::kSystem};
    for (size_t i = 1; i < count; ++i) AppendText(TurnOf(i).content, &leading.content);
    if (tools) AppendText(ToolsAsText(conversation_.tools), &leading.content);
    if (leading.role == Role::kDeveloper && !caps_.developer_role) leading.role = Role::kSystem;
    if (caps_.system_role) {
      turns_.push_back(std::move(leading));
    } else {
      Hold(leading.content, 0);
    }
    return count;
  }

  // The probe showed late system messages; late developers are called systems for that reason.
  void AddLate(Turn turn) {
    if (caps_.late_system == LateSystem::kInPlace && caps_.system_role) {
      turn.role = Role::kSystem;
      turns_.push_back(std::move(turn));
      return;
    }
    if (Trimmed(turn.content.text).empty()) return;
    const SourcedText reminder = Within(kReminderBegin, turn.content, kReminderEnd);
    const bool beside = waiting_.text.empty() && !turns_.empty() &&
                        (turns_.back().role == Role::kUser || turns_.back().role == Role::kTool);
    if (beside) {
      AppendText(reminder, &turns_.back().content);
    } else {
      Hold(reminder, turn.index);
    }
  }

  // Until there is a turn to join.
  void Hold(const SourcedText& text, size_t index) {
    if (waiting_.text.empty()) waiting_index_ = index;
    AppendText(text, &waiting_);
  }

  void FlushWaiting() {
    if (waiting_.text.empty()) return;
    Push({.role = Role::kUser, .index = waiting_index_, .content = std::exchange(waiting_, {})});
  }

  void AddTurn(Turn turn) {
    if (turn.role != Role::kTool) FlushCalls();
    if (turn.role == Role::kAssistant) {
      if (caps_.no_empty_answers && turn.calls.empty() && Trimmed(turn.content.text).empty())
        return;
      FlushWaiting();
    }
    if (turn.role == Role::kUser && !waiting_.text.empty()) {
      SourcedText content = std::exchange(waiting_, {});
      AppendText(turn.content, &content);
      turn.content = std::move(content);
    }
    if (turn.role == Role::kTool) {
      if (!waiting_.text.empty()) AppendText(std::exchange(waiting_, {}), &turn.content);
      TakeCallOf(turn);
    }
    if (caps_.single_calls && turn.calls.size() > 1) {
      HoldCalls({turn.calls.begin() + 1, turn.calls.end()}, turn.index);
      turn.calls.resize(1);
      turn.callers.resize(1);
    }
    Push(std::move(turn));
  }

  void HoldCalls(std::vector<ToolCall> calls, size_t index) {
    calls_ = std::move(calls);
    calls_index_ = index;
    calls_by_id_.clear();
    for (size_t i = 0; i < calls_.size(); ++i) calls_by_id_.emplace(calls_[i].id, i);
  }

  // Where a message may have one call, each of the others comes right before its result. Of two
  // calls with one id the first has the first result.
  void TakeCallOf(const Turn& result) {
    const auto found = calls_by_id_.lower_bound(result.tool_call_id);
    if (found == calls_by_id_.end() || found->first != result.tool_call_id) return;
    ToolCall call = std::move(calls_[found->second]);
    calls_by_id_.erase(found);
    Push(CallOf(std::move(call), calls_index_));
  }

  // Calls that have no result, in their order.
  void FlushCalls() {
    std::vector<size_t> left;
    for (const auto& [id, index] : std::exchange(calls_by_id_, {})) left.push_back(index);
    std::sort(left.begin(), left.end());
    for (const size_t index : left) {
      turns_.push_back(CallOf(std::move(calls_[index]), calls_index_));
    }
  }

  void Push(Turn turn) {
    Turn* const before = turns_.empty() ? nullptr : &turns_.back();
    const bool strict = caps_.late_system == LateSystem::kStrictTurns;
    const bool joins =
        before != nullptr &&
        ((strict && turn.role == before->role && turn.role != Role::kTool) ||
         (caps_.no_user_after_tool && turn.role == Role::kUser && before->role == Role::kTool));
    if (!joins) {
      turns_.push_back(std::move(turn));
      return;
    }
    AppendText(turn.content, &before->content);
    AppendText(turn.reasoning, &before->reasoning);
    for (ToolCall& call : turn.calls) before->calls.push_back(std::move(call));
    before->callers.insert(before->callers.end(), turn.callers.begin(), turn.callers.end());
  }

  // Calls and results as text where the template shows none, ids as it wants them.
  Turn Adapted(Turn turn) const {
    if (!caps_.knows_tools() && !turn.calls.empty()) {
      for (const ToolCall& call : turn.calls) {
        AppendText(CallAsText(call, turn.index), &turn.content);
      }
      turn.calls.clear();
      turn.callers.clear();
    }
    if (!caps_.knows_tools() && turn.role == Role::kTool) {
      turn = {.role = Role::kUser,
              .index = turn.index,
              .content = Within("<tool_response>\n", turn.content, "\n</tool_response>")};
    }
    if (caps_.no_text_beside_thinking && !turn.calls.empty() && !turn.reasoning.text.empty()) {
      AppendText(std::exchange(turn.content, {}), &turn.reasoning);
    }
    if (caps_.short_call_ids) {
      for (ToolCall& call : turn.calls) call.id = ShortId(call.id);
      turn.tool_call_id = ShortId(turn.tool_call_id);
    }
    return turn;
  }

  const Conversation& conversation_;
  const TemplateCaps& caps_;
  std::vector<Turn> turns_;
  SourcedText waiting_;  // system text that the next user or tool message takes with it
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
  return std::string(kReminderBegin) + std::string(system_text) + std::string(kReminderEnd);
}

}  // namespace cairn
