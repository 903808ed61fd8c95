#include "api/prompt/context_editor.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "sched/request/adapter_name_space.h"

namespace cairn {
namespace {

constexpr std::string_view kNoInput = "{}";

bool Names(const std::vector<std::string>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// Whether an answer was asked for, or is now, behind the first `end` messages.
bool IsAskedBehind(const std::vector<Message>& messages, size_t end) {
  if (messages[end - 1].role == Role::kAssistant) return false;
  return end == messages.size() || messages[end].role == Role::kAssistant;
}

}  // namespace

// A user's message and all behind it up to the next one, if it has reasoning.
struct ContextEditor::ReasonedTurn {
  size_t begin = 0;  // messages
  size_t first = 0;  // the first message with reasoning
};

struct ContextEditor::Sizes {
  Shown shown = Shown::kAll;
  size_t header = 0;  // the tools, and the text around all messages
  // Sums over the first messages: all but reasoning, and reasoning. One more than there are
  // messages.
  std::vector<size_t> text = {0};
  std::vector<size_t> reasoning = {0};
  std::vector<size_t> last_user = {0};  // the last user's message among them
  std::vector<size_t> media = {};       // of each message

  // The message from which on the template shows reasoning, of the first `end`.
  size_t ShownFrom(size_t end) const {
    if (shown == Shown::kAll) return 0;
    return shown == Shown::kNone ? end : last_user[end];
  }
  size_t Reasoning(size_t begin, size_t end) const {
    return begin < end ? reasoning[end] - reasoning[begin] : 0;
  }
};

struct ContextEditor::ToolUse {
  size_t result = 0;         // its message
  ToolCall* call = nullptr;  // whose input is cleared too; null: it stays
  bool clears_result = false;
  size_t tokens = 0;  // what clearing it saves
};

std::vector<ContextEditor::ReasonedTurn> ContextEditor::ReasonedTurns(
    const std::vector<Message>& messages) {
  std::vector<ReasonedTurn> turns;
  size_t begin = 0;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].role == Role::kUser) begin = i;
    const bool noted = !turns.empty() && turns.back().begin == begin;
    if (!messages[i].reasoning.empty() && !noted) turns.push_back({begin, i});
  }
  return turns;
}

size_t ContextEditor::ReasoningKeptFrom(const std::vector<ReasonedTurn>& turns,
                                        std::optional<size_t> kept, size_t end) {
  if (!kept) return 0;
  const auto behind = std::partition_point(
      turns.begin(), turns.end(), [end](const ReasonedTurn& turn) { return turn.first < end; });
  const auto count = static_cast<size_t>(behind - turns.begin());
  if (count <= *kept) return 0;
  return *kept == 0 ? end : turns[count - *kept].begin;
}

ContextEditor::Shown ContextEditor::FindShown(const Conversation& conversation) const {
  constexpr const char* kOld = "OldThought";
  constexpr const char* kNew = "NewThought";
  Conversation talk;
  talk.template_kwargs_json = conversation.template_kwargs_json;
  const Message question{.role = Role::kUser, .content = "x"};
  Message answer{.role = Role::kAssistant, .content = "x", .reasoning = kOld};
  Message call{.role = Role::kAssistant, .reasoning = kNew};
  call.tool_calls.push_back({"call00001", "read", R"({"path": "x"})"});
  const Message result{
      .role = Role::kTool, .content = "x", .tool_call_id = "call00001", .name = "read"};
  talk.messages = {question, answer, question, call, result};
  const auto text = template_->Render(talk, true);
  // Most templates show the reasoning behind the last user's message.
  if (!text) return Shown::kBehindLastUser;
  if (text->find(kOld) != std::string::npos) return Shown::kAll;
  return text->find(kNew) != std::string::npos ? Shown::kBehindLastUser : Shown::kNone;
}

Result<size_t> ContextEditor::MediaTokens(NamespaceId name_space, const Message& message) const {
  size_t tokens = 0;
  for (const MarkedMedium& marked : message.media) {
    if (media_ == nullptr) break;
    const auto layout = media_->Of(*marked.medium, OwnerOf(name_space));
    if (!layout) return tl::unexpected(layout.error());
    tokens += (*layout)->tokens();
  }
  return tokens;
}

Result<ContextEditor::Sizes> ContextEditor::Measure(NamespaceId name_space,
                                                    const Conversation& conversation) const {
  Sizes sizes;
  sizes.shown = FindShown(conversation);
  sizes.header = sizes_->around_all() + sizes_->OfTools(name_space, conversation.tools);
  for (size_t i = 0; i < conversation.messages.size(); ++i) {
    const Message& message = conversation.messages[i];
    const auto media = MediaTokens(name_space, message);
    if (!media) return tl::unexpected(media.error());
    const size_t reasoning = sizes_->OfText(name_space, message.reasoning);
    const size_t all = sizes_->Of(name_space, message);
    sizes.media.push_back(*media);
    sizes.text.push_back(sizes.text.back() + all - reasoning + *media);
    sizes.reasoning.push_back(sizes.reasoning.back() + reasoning);
    sizes.last_user.push_back(message.role == Role::kUser ? i : sizes.last_user.back());
  }
  return sizes;
}

std::vector<ContextEditor::ToolUse> ContextEditor::FindUses(NamespaceId name_space,
                                                            const Sizes& sizes,
                                                            Conversation* conversation) const {
  const ContextEdits::ToolUses& wish = *conversation->edits.tool_uses;
  const size_t placeholder = sizes_->OfText(name_space, kClearedResult);
  const size_t no_input = sizes_->OfText(name_space, kNoInput);
  std::vector<ToolUse> uses;
  std::map<std::string_view, ToolCall*> calls;     // by id
  std::map<std::string_view, ToolCall*> answered;  // those with a result
  for (size_t i = 0; i < conversation->messages.size(); ++i) {
    Message& message = conversation->messages[i];
    for (ToolCall& call : message.tool_calls) calls[call.id] = &call;
    if (message.role != Role::kTool) continue;
    const auto found = calls.find(message.tool_call_id);
    ToolCall* const call = found == calls.end() ? nullptr : found->second;
    const std::string_view name = call == nullptr ? message.name : call->name;
    if (Names(wish.excluded, name)) continue;
    ToolUse use{.result = i};
    const size_t result = sizes_->OfContent(name_space, message) + sizes.media[i];
    use.clears_result = result > placeholder;
    if (use.clears_result) use.tokens = result - placeholder;
    const bool first_result = call != nullptr && std::exchange(answered[call->id], call) != call;
    if (first_result && (wish.clears_inputs || Names(wish.cleared_inputs, name))) {
      const size_t input = sizes_->OfText(name_space, call->arguments);
      if (input > no_input) use.call = call;
      if (input > no_input) use.tokens += input - no_input;
    }
    uses.push_back(use);
  }
  return uses;
}

size_t ContextEditor::CountCleared(const Conversation& conversation, const Sizes& sizes,
                                   const std::vector<ReasonedTurn>& turns,
                                   const std::vector<ToolUse>& uses) {
  const ContextEdits& edits = conversation.edits;
  const ContextEdits::ToolUses& wish = *edits.tool_uses;
  std::vector<size_t> saved = {0};  // by the first uses
  for (const ToolUse& use : uses) saved.push_back(saved.back() + use.tokens);
  size_t cleared = 0;
  size_t done = 0;  // uses whose result is there
  for (size_t end = 1; end <= conversation.messages.size(); ++end) {
    while (done < uses.size() && uses[done].result < end) ++done;
    if (!IsAskedBehind(conversation.messages, end)) continue;
    const size_t reasoning_from =
        std::max(sizes.ShownFrom(end), ReasoningKeptFrom(turns, edits.reasoning_turns, end));
    const size_t tokens = sizes.header + sizes.text[end] + sizes.Reasoning(reasoning_from, end);
    const size_t length = wish.counts_uses ? done - cleared : tokens - saved[cleared];
    const size_t next = done - std::min(done, wish.keep);
    if (length <= wish.trigger || next <= cleared) continue;
    const size_t step = saved[next] - saved[cleared];
    if (step > 0 && step >= wish.clear_at_least) cleared = next;
  }
  return cleared;
}

Result<AppliedEdits> ContextEditor::Apply(NamespaceId name_space,
                                          Conversation* conversation) const {
  AppliedEdits applied{.asked = conversation->edits.asked};
  if (!conversation->edits.any()) return applied;
  std::vector<Message>& messages = conversation->messages;
  const auto sizes = Measure(name_space, *conversation);
  if (!sizes) return tl::unexpected(sizes.error());
  const std::vector<ReasonedTurn> turns = ReasonedTurns(messages);
  if (conversation->edits.tool_uses) {
    std::vector<ToolUse> uses = FindUses(name_space, *sizes, conversation);
    uses.resize(CountCleared(*conversation, *sizes, turns, uses));
    for (const ToolUse& use : uses) {
      if (use.tokens == 0) continue;
      ++applied.tool_uses;
      applied.tool_tokens += use.tokens;
      if (use.call != nullptr) use.call->arguments = kNoInput;
      if (!use.clears_result) continue;
      Message& result = messages[use.result];
      result.content = kClearedResult;
      result.media.clear();
      result.part_begins.clear();
    }
  }
  const size_t kept_from =
      ReasoningKeptFrom(turns, conversation->edits.reasoning_turns, messages.size());
  const size_t shown_from = sizes->ShownFrom(messages.size());
  applied.reasoning_tokens = sizes->Reasoning(shown_from, kept_from);
  for (const ReasonedTurn& turn : turns) {
    if (turn.begin >= shown_from && turn.begin < kept_from) ++applied.reasoning_turns;
  }
  for (size_t i = 0; i < kept_from; ++i) messages[i].reasoning.clear();
  conversation->edits = {};
  return applied;
}

}  // namespace cairn
