#include "cache/cache_overview.h"

#include <algorithm>
#include <limits>
#include <string>

namespace cairn {

HeldCheckpoint CacheOverview::HeldOf(const CheckpointEntry& entry, size_t tokens_max) const {
  HeldCheckpoint held;
  held.checkpoint = entry.checkpoint;
  held.checkpoint.kv_stored = entry.holder != 0;
  held.uses = entry.uses;
  held.kept = table_->IsKept(entry);
  held.in_memory = table_->InMemory(entry.checkpoint.id);
  size_t begin = 0;
  if (const PrefixTree::Node* above = PrefixTree::AncestorOf(entry.node)) {
    held.parent = PrefixTree::ValueOf(above);
    begin = PrefixTree::PositionOf(above);
  }
  held.tokens = PrefixTree::TokensFrom(entry.node, begin);
  if (held.tokens.size() > tokens_max) held.tokens.resize(tokens_max);
  return held;
}

std::vector<HeldCheckpoint> CacheOverview::HeldBy(NamespaceId name_space, CheckpointId after,
                                                  size_t held_max, size_t tokens_max) const {
  std::vector<CheckpointId> ids;
  for (const auto& [id, entry] : table_->entries()) {
    if (id > after && entry.name_space == name_space) ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end());
  if (ids.size() > held_max) ids.resize(held_max);
  std::vector<HeldCheckpoint> held;
  for (const CheckpointId id : ids) held.push_back(HeldOf(table_->EntryOf(id), tokens_max));
  return held;
}

Result<HeldCheckpoint> CacheOverview::FindHeld(NamespaceId name_space, CheckpointId id,
                                               size_t tokens_max) const {
  const auto found = table_->entries().find(id);
  if (found == table_->entries().end() || found->second.name_space != name_space) {
    return Fail(ErrorCode::kNotFound, "there is no checkpoint '" + std::to_string(id) + "'");
  }
  return HeldOf(found->second, tokens_max);
}

Result<Tokens> CacheOverview::PathOfHeld(NamespaceId name_space, CheckpointId id) const {
  if (const auto held = FindHeld(name_space, id, 0); !held) return tl::unexpected(held.error());
  return PrefixTree::TokensOf(table_->EntryOf(id).node);
}

Status CacheOverview::KeepHeld(NamespaceId name_space, CheckpointId id, bool keep) {
  if (const auto held = FindHeld(name_space, id, 0); !held) return tl::unexpected(held.error());
  CheckpointEntry& entry = table_->EntryOf(id);
  if (!keep) {
    entry.keep_ms = entry.kept_until_ms = 0;
    return {};
  }
  const Tokens tokens = PrefixTree::TokensOf(entry.node);
  if (cache_->Keep(name_space, tokens, std::numeric_limits<double>::max() / 4)) return {};
  return Fail(ErrorCode::kNoSpace,
              "what is kept already would then take more than half of the cache");
}

Status CacheOverview::DropHeld(NamespaceId name_space, CheckpointId id) {
  if (const auto held = FindHeld(name_space, id, 0); !held) return tl::unexpected(held.error());
  if (table_->EntryOf(id).pins > 0)
    return Fail(ErrorCode::kUnavailable, "the checkpoint is in use");
  table_->Drop(id);
  return {};
}

}  // namespace cairn
