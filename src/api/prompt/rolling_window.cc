#include "api/prompt/rolling_window.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/hash.h"

namespace cairn {
namespace {

uint64_t MessageHash(const Message& message) {
  uint64_t hash = HashMix(static_cast<uint64_t>(message.role), Hash64(message.content));
  hash = HashMix(hash, Hash64(message.name));
  for (const ToolCall& call : message.tool_calls) {
    hash = HashMix(hash, Hash64(call.name));
    hash = HashMix(hash, Hash64(call.arguments));
  }
  return hash;
}

// A window may begin with an answer, so the fixed prefix ends at the first message that is not a
// system message.
size_t HeaderMessages(const Conversation& conversation) {
  const auto& messages = conversation.messages;
  const auto first = std::find_if(messages.begin(), messages.end(), [](const Message& message) {
    return message.role != Role::kSystem && message.role != Role::kDeveloper;
  });
  return static_cast<size_t>(first - messages.begin());
}

uint64_t HeaderHash(const Conversation& conversation, size_t header_messages) {
  uint64_t hash = conversation.tools.hash();
  for (size_t i = 0; i < header_messages; ++i) {
    hash = HashMix(hash, MessageHash(conversation.messages[i]));
  }
  return hash;
}

// Returns for each prefix of `hashes` the length of its longest proper border.
std::vector<size_t> Borders(const std::vector<uint64_t>& hashes) {
  std::vector<size_t> borders(hashes.size(), 0);
  for (size_t i = 1; i < hashes.size(); ++i) {
    size_t border = borders[i - 1];
    while (border > 0 && hashes[border] != hashes[i]) border = borders[border - 1];
    borders[i] = hashes[border] == hashes[i] ? border + 1 : 0;
  }
  return borders;
}

// Returns the length of the longest suffix of `before` that is a prefix of `now`, in linear time
// (Knuth, Morris, Pratt).
size_t Overlap(const std::vector<uint64_t>& before, const std::vector<uint64_t>& now,
               const std::vector<size_t>& borders) {
  size_t equal = 0;
  for (const uint64_t hash : before) {
    while (equal > 0 && (equal == now.size() || now[equal] != hash)) equal = borders[equal - 1];
    if (now[equal] == hash) ++equal;
  }
  return equal;
}

}  // namespace

void RollingWindows::Limit::OnWhole(size_t length) {
  if (drops_at == 0 || length < drops_at) return;
  drops_at = length + 1;
  agreed = 0;
}

void RollingWindows::Limit::OnRoll(size_t length, size_t left) {
  const bool first = drops_at == 0;
  const bool agrees = first || left == keeps;
  drops_at = first || !agrees ? length : std::min(drops_at, length);
  keeps = left;
  agreed = agrees ? agreed + 1 : 0;
}

std::optional<size_t> RollingWindows::Limit::Dropped(size_t length) const {
  if (agreed == 0) return std::nullopt;
  return length < drops_at ? 0 : length - std::min(length, keeps);
}

std::optional<Conversation> RollingWindows::Expect(NamespaceId name_space,
                                                   const Conversation& asked,
                                                   const Message& answer) {
  const size_t header = HeaderMessages(asked);
  const size_t behind = asked.messages.size() - header;
  if (behind == 0 || behind > kMessagesMax) return std::nullopt;
  Sent sent;
  for (size_t i = 0; i < behind; ++i) {
    const Message& message = asked.messages[header + i];
    sent.hashes.push_back(MessageHash(message));
    if (message.role == Role::kUser) sent.turns.push_back(i);
  }
  const Remembered& remembered =
      Recall(name_space, HeaderHash(asked, header), asked, std::move(sent));
  const size_t dropped = DroppedNext(remembered, answer);
  // The message that was answered stays.
  if (dropped == 0 || dropped >= behind) return std::nullopt;
  Conversation left = asked;
  const auto first = left.messages.begin() + static_cast<ptrdiff_t>(header);
  left.messages.erase(first, first + static_cast<ptrdiff_t>(dropped));
  return left;
}

RollingWindows::Remembered& RollingWindows::Recall(NamespaceId name_space, uint64_t header,
                                                   const Conversation& asked, Sent sent) {
  const std::vector<size_t> borders = Borders(sent.hashes);
  const size_t now = sent.hashes.size();
  const size_t first = asked.messages.size() - now;
  auto best = remembered_.end();
  size_t most = 0;
  for (auto it = remembered_.begin(); it != remembered_.end(); ++it) {
    if (it->name_space != name_space || it->header != header) continue;
    const size_t overlap = Overlap(it->sent.hashes, sent.hashes, borders);
    if (overlap <= most) continue;
    const bool again = overlap == now && overlap == it->sent.hashes.size();
    const bool goes_on =
        overlap + 1 < now && asked.messages[first + overlap].role == Role::kAssistant;
    if (!again && !goes_on) continue;
    best = it;
    most = overlap;
  }
  if (best == remembered_.end()) {
    remembered_.push_front({name_space, header, std::move(sent)});
    Forget(name_space);
  } else {
    remembered_.splice(remembered_.begin(), remembered_, best);
    if (most < now) Learn(std::move(sent), most, &*best);
  }
  return remembered_.front();
}

void RollingWindows::Learn(Sent sent, size_t overlap, Remembered* remembered) {
  const size_t now = sent.hashes.size();
  const size_t before = remembered->sent.hashes.size();
  const auto added = std::lower_bound(sent.turns.begin(), sent.turns.end(), overlap);
  const auto added_turns = static_cast<size_t>(sent.turns.end() - added);
  const size_t turns = sent.turns.size();
  if (overlap == before) {
    remembered->messages.OnWhole(now);
    remembered->turns.OnWhole(turns);
  } else {
    remembered->messages.OnRoll(before + now - overlap, now);
    remembered->turns.OnRoll(remembered->sent.turns.size() + added_turns, turns);
    const bool begins_a_turn = !sent.turns.empty() && sent.turns.front() == 0;
    remembered->cuts_turns = remembered->cuts_turns || !begins_a_turn;
  }
  remembered->sent = std::move(sent);
}

size_t RollingWindows::DroppedNext(const Remembered& remembered, const Message& answer) {
  const Sent& sent = remembered.sent;
  // The answer and the messages after it (api/prompt/next_turn.h).
  const size_t calls = answer.tool_calls.size();
  const auto by_messages =
      remembered.messages.Dropped(sent.hashes.size() + 1 + std::max<size_t>(1, calls));
  if (remembered.cuts_turns) return by_messages.value_or(0);
  const auto turns = remembered.turns.Dropped(sent.turns.size() + (calls == 0 ? 1 : 0));
  if (!turns) return by_messages.value_or(0);
  size_t by_turns = *turns;
  if (by_turns > 0) {
    by_turns = by_turns < sent.turns.size() ? sent.turns[by_turns] : sent.hashes.size();
  }
  if (!by_messages || *by_messages == by_turns) return by_turns;
  if (remembered.messages.agreed == remembered.turns.agreed) return 0;
  return remembered.messages.agreed > remembered.turns.agreed ? *by_messages : by_turns;
}

void RollingWindows::Forget(NamespaceId name_space) {
  const auto is_its = [&](const Remembered& other) { return other.name_space == name_space; };
  const auto its = std::count_if(remembered_.begin(), remembered_.end(), is_its);
  if (static_cast<size_t>(its) > kOfNamespaceMax) {
    const auto oldest = std::find_if(remembered_.rbegin(), remembered_.rend(), is_its);
    remembered_.erase(std::next(oldest).base());
  }
  if (remembered_.size() > kConversationsMax) remembered_.pop_back();
}

}  // namespace cairn
