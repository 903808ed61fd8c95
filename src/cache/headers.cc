// Which beginnings of prompts are worth having ready.

#include <algorithm>

#include "cache/checkpoint_cache.h"

namespace cairn {

// What goes on from a header, and how much of it there is to read.
std::vector<CheckpointCache::StoredHeader> CheckpointCache::HeadersWorthMost(size_t max) const {
  struct Ranked {
    const Entry* entry;
    size_t worth;
  };
  std::vector<Ranked> ranked;
  for (const auto& [id, entry] : entries_) {
    const bool is_header = entry.checkpoint.checkpoint_class == CheckpointClass::kHeader;
    if (!is_header || !entry.checkpoint.on_grid()) continue;
    const size_t continuations = 1 + PrefixTree::BranchesOf(entry.node);
    ranked.push_back({&entry, entry.checkpoint.position * continuations});
  }
  // Of equals the one that came last.
  std::sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) {
    return a.worth != b.worth ? a.worth > b.worth : a.entry->created_tick > b.entry->created_tick;
  });
  if (ranked.size() > max) ranked.resize(max);
  std::vector<StoredHeader> headers;
  for (const Ranked& one : ranked) {
    headers.push_back({one.entry->name_space, PrefixTree::TokensOf(one.entry->node)});
  }
  return headers;
}

}  // namespace cairn
