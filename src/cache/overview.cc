// What the cache holds, for people who want to see it, and what they do with it.

#include <algorithm>
#include <limits>
#include <string>

#include "cache/checkpoint_cache.h"

namespace cairn {

CheckpointCache::Held CheckpointCache::HeldOf(const Entry& entry, size_t tokens_max) const {
  Held held;
  held.checkpoint = entry.checkpoint;
  held.checkpoint.kv_stored = entry.holder != 0;
  held.uses = entry.uses;
  held.kept = IsKept(entry);
  held.in_memory = InMemory(entry.checkpoint.id);
  size_t begin = 0;
  if (const PrefixTree::Node* above = PrefixTree::AncestorOf(entry.node)) {
    held.parent = PrefixTree::ValueOf(above);
    begin = PrefixTree::PositionOf(above);
  }
  held.tokens = PrefixTree::TokensFrom(entry.node, begin);
  if (held.tokens.size() > tokens_max) held.tokens.resize(tokens_max);
  return held;
}

std::vector<CheckpointCache::Held> CheckpointCache::HeldBy(NamespaceId name_space,
                                                           CheckpointId after, size_t held_max,
                                                           size_t tokens_max) const {
  std::vector<CheckpointId> ids;
  for (const auto& [id, entry] : entries_) {
    if (id > after && entry.name_space == name_space) ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end());
  if (ids.size() > held_max) ids.resize(held_max);
  std::vector<Held> held;
  for (const CheckpointId id : ids) held.push_back(HeldOf(EntryOf(id), tokens_max));
  return held;
}

Result<CheckpointCache::Held> CheckpointCache::FindHeld(NamespaceId name_space, CheckpointId id,
                                                        size_t tokens_max) const {
  const auto found = entries_.find(id);
  if (found == entries_.end() || found->second.name_space != name_space) {
    return Fail(ErrorCode::kNotFound, "there is no checkpoint '" + std::to_string(id) + "'");
  }
  return HeldOf(found->second, tokens_max);
}

Result<Tokens> CheckpointCache::PathOfHeld(NamespaceId name_space, CheckpointId id) const {
  if (const auto held = FindHeld(name_space, id, 0); !held) return tl::unexpected(held.error());
  return PrefixTree::TokensOf(EntryOf(id).node);
}

Status CheckpointCache::KeepHeld(NamespaceId name_space, CheckpointId id, bool keep) {
  if (const auto held = FindHeld(name_space, id, 0); !held) return tl::unexpected(held.error());
  Entry& entry = EntryOf(id);
  if (!keep) {
    entry.keep_ms = entry.kept_until_ms = 0;
    return {};
  }
  const Tokens tokens = PrefixTree::TokensOf(entry.node);
  if (Keep(name_space, tokens, std::numeric_limits<double>::max() / 4)) return {};
  return Fail(ErrorCode::kNoSpace,
              "what is kept already would then take more than half of the cache");
}

Status CheckpointCache::DropHeld(NamespaceId name_space, CheckpointId id) {
  if (const auto held = FindHeld(name_space, id, 0); !held) return tl::unexpected(held.error());
  if (EntryOf(id).pins > 0) return Fail(ErrorCode::kUnavailable, "the checkpoint is in use");
  Drop(id);
  return {};
}

}  // namespace cairn
