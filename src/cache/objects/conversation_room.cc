#include "cache/objects/conversation_room.h"

#include <algorithm>
#include <unordered_set>

namespace cairn {
namespace {

constexpr size_t kSegmentShare = 16;
constexpr size_t kSegmentTokensMin = 256;

// The objects of a conversation, and the tick at which it was last stored or prompted before its
// present prompt; 0 if that is unknown.
struct Path {
  std::unordered_set<uint64_t> ids;
  uint64_t since_tick = 0;
};

Path PathOf(const ObjectTable& table, NamespaceId name_space, TokenSpan tokens) {
  Path path;
  const auto hits = table.tree().Match(name_space, tokens).hits;
  size_t turns = 0;
  for (const PrefixTree::Hit& hit : hits) {
    path.ids.insert(hit.value);
    turns = std::max(turns, table.EntryOf(hit.value).checkpoint.turns);
  }
  for (const PrefixTree::Hit& hit : hits) {
    const CheckpointEntry& entry = table.EntryOf(hit.value);
    const size_t own_turns = entry.checkpoint.turns;
    if (own_turns == 0 || own_turns == turns) continue;
    path.since_tick = std::max(path.since_tick, entry.created_tick);
  }
  for (const SegmentIndex::Link& link : table.segments().PathAlong(name_space, tokens)) {
    path.ids.insert(link.id);
    path.since_tick = std::max(path.since_tick, table.segments().Get(link.id).created_tick);
  }
  return path;
}

}  // namespace

size_t RoomForConversation(const ObjectTable& table, size_t budget_bytes, NamespaceId name_space,
                           TokenSpan tokens, size_t wanted_bytes) {
  const auto beside = [budget_bytes](size_t bytes) {
    return std::max(budget_bytes / 2, budget_bytes - std::min(budget_bytes, bytes));
  };
  if (wanted_bytes <= beside(table.HeldBytes())) return wanted_bytes;
  const Path path = PathOf(table, name_space, tokens);
  size_t others = 0;
  const auto count = [&](uint64_t id, uint64_t used_tick, size_t bytes) {
    if (used_tick < path.since_tick || path.ids.contains(id) || !table.InMemory(id)) return;
    others += bytes;
  };
  for (const auto& [id, entry] : table.entries()) {
    count(id, entry.used_tick, entry.checkpoint.bytes);
  }
  for (const auto& [id, segment] : table.segments().segments()) {
    count(id, segment.used_tick, segment.bytes);
  }
  return std::min(wanted_bytes, beside(others));
}

size_t SegmentTokensMax(const ObjectTable& table, size_t budget_bytes, size_t tokens_max) {
  const size_t bytes_per_token = std::max<size_t>(table.slots().kv_bytes_per_token, 1);
  const size_t most = std::max(budget_bytes / kSegmentShare / bytes_per_token, kSegmentTokensMin);
  while (tokens_max > most) tokens_max /= 2;
  return tokens_max;
}

}  // namespace cairn
