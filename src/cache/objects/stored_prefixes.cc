#include "cache/objects/stored_prefixes.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace cairn {
namespace {

using Segments = std::unordered_map<SegmentId, SegmentIndex::Segment>;

// The first `position` tokens of a segment's sequence.
struct Beginning {
  SegmentId segment = 0;
  size_t position = 0;
};

// Where other segments diverge from a segment, and how many stored segments diverge there or
// further on. By segment, then by position.
using Divergences = std::map<SegmentId, std::map<size_t, size_t>>;

// Finds the segments from which others diverge, and where. The first segment that begins at
// another's end continues the same conversation, and is no divergence.
std::vector<Beginning> FindDivergences(const Segments& segments) {
  std::vector<SegmentId> ids;
  for (const auto& [id, segment] : segments) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  std::vector<Beginning> found;
  std::unordered_set<SegmentId> goes_on;
  for (const SegmentId id : ids) {
    const SegmentIndex::Segment& segment = segments.at(id);
    if (segment.parent == 0) continue;
    const SegmentGap& before = segments.at(segment.parent).range;
    // No other conversation continues from bits off the grid.
    if (before.lineage != 0) continue;
    const size_t begin = segment.range.begin;
    if (begin == before.end && goes_on.insert(segment.parent).second) continue;
    found.push_back({segment.parent, begin});
  }
  return found;
}

Divergences CountDivergences(const Segments& segments) {
  const std::vector<Beginning> found = FindDivergences(segments);
  Divergences divergences;
  for (const Beginning& divergence : found)
    divergences[divergence.segment].insert({divergence.position, 0});
  for (Beginning divergence : found) {
    while (divergence.segment != 0) {
      const SegmentIndex::Segment& segment = segments.at(divergence.segment);
      const auto there = divergences.find(divergence.segment);
      if (there != divergences.end()) {
        for (auto& [position, count] : there->second)
          count += position <= divergence.position ? 1 : 0;
      }
      divergence = {segment.parent, segment.range.begin};
    }
  }
  return divergences;
}

// Returns the shared beginnings, most valuable first.
std::vector<Beginning> SharedBeginnings(const Segments& segments) {
  struct Ranked {
    Beginning beginning;
    size_t worth;
  };
  std::vector<Ranked> ranked;
  for (const auto& [segment, positions] : CountDivergences(segments)) {
    for (const auto& [position, count] : positions) {
      ranked.push_back({{segment, position}, position * (1 + count)});
    }
  }
  // Among equals the newest comes first.
  std::sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) {
    return a.worth != b.worth ? a.worth > b.worth : a.beginning.segment > b.beginning.segment;
  });
  std::vector<Beginning> beginnings;
  for (const Ranked& one : ranked) beginnings.push_back(one.beginning);
  return beginnings;
}

bool BeginsAnyOf(const std::vector<StoredPrefix>& headers, NamespaceId name_space,
                 const Tokens& tokens) {
  return std::any_of(headers.begin(), headers.end(), [&](const auto& header) {
    return header.name_space == name_space && CommonPrefix(header.tokens, tokens) == tokens.size();
  });
}

std::vector<StoredPrefix> PrefixCheckpoints(const ObjectTable& table, size_t max) {
  struct Ranked {
    const CheckpointEntry* entry;
    size_t worth;
  };
  std::vector<Ranked> ranked;
  for (const auto& [id, entry] : table.entries()) {
    const bool is_header = entry.checkpoint.checkpoint_class == CheckpointClass::kHeader;
    if (!is_header || !entry.checkpoint.on_grid()) continue;
    const size_t continuations = 1 + PrefixTree::BranchesOf(entry.node);
    ranked.push_back({&entry, entry.checkpoint.position * continuations});
  }
  // Among equals the newest comes first.
  std::sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) {
    return a.worth != b.worth ? a.worth > b.worth : a.entry->created_tick > b.entry->created_tick;
  });
  if (ranked.size() > max) ranked.resize(max);
  std::vector<StoredPrefix> headers;
  for (const Ranked& one : ranked) {
    headers.push_back({one.entry->name_space, PrefixTree::TokensOf(one.entry->node)});
  }
  return headers;
}

// Leaves out a prefix of a longer one in the list: a slot can be truncated, so one serves for both.
std::vector<StoredPrefix> PrefixesOfSegments(const ObjectTable& table, size_t max) {
  std::vector<StoredPrefix> headers;
  for (const Beginning& beginning : SharedBeginnings(table.segments().segments())) {
    if (headers.size() == max) break;
    Tokens tokens = table.segments().TokensOf(beginning.segment);
    tokens.resize(beginning.position);
    const NamespaceId name_space = table.segments().Get(beginning.segment).name_space;
    if (BeginsAnyOf(headers, name_space, tokens)) continue;
    headers.push_back({name_space, std::move(tokens)});
  }
  return headers;
}

// Most valuable first.
std::vector<StoredPrefix> SharedPrefixes(const ObjectTable& table, size_t max) {
  return table.slots().needs_snapshots ? PrefixCheckpoints(table, max)
                                       : PrefixesOfSegments(table, max);
}

// Returns nullopt if nothing is stored.
std::optional<StoredPrefix> FindLastConversation(const ObjectTable& table) {
  using Recency = std::pair<bool, uint64_t>;
  Recency last_used;
  const auto is_later = [&](const auto& object) {
    const bool here = object.used_before_ns == 0;
    const Recency used{here,
                       here ? object.used_tick : static_cast<uint64_t>(object.used_before_ns)};
    if (used <= last_used) return false;
    last_used = used;
    return true;
  };
  // Copies the tokens of the last one alone.
  std::function<StoredPrefix()> last;
  for (const auto& [id, entry] : table.entries()) {
    if (PrefixTree::DescendantOf(entry.node) != nullptr || !is_later(entry)) continue;
    last = [&found = entry] {
      return StoredPrefix{found.name_space, PrefixTree::TokensOf(found.node), true};
    };
  }
  for (const auto& [id, whole] : table.full_states().full_states()) {
    if (!is_later(whole)) continue;
    last = [&found = whole] { return StoredPrefix{found.name_space, found.tokens, true}; };
  }
  for (const auto& [id, segment] : table.segments().segments()) {
    // Where snapshots are needed, no segment's end can be resumed at without one.
    if (table.slots().needs_snapshots || segment.children > 0 || !is_later(segment)) continue;
    last = [&table, &found = segment] {
      return StoredPrefix{found.name_space, table.segments().TokensOf(found.id), true};
    };
  }
  if (!last) return std::nullopt;
  return last();
}

}  // namespace

std::vector<StoredPrefix> FindPrefixesToPreload(const ObjectTable& table, size_t slots) {
  std::optional<StoredPrefix> last = FindLastConversation(table);
  std::vector<StoredPrefix> prefixes =
      SharedPrefixes(table, last ? slots - 1 : std::max<size_t>(1, slots - 1));
  if (last) prefixes.push_back(*std::move(last));
  std::reverse(prefixes.begin(), prefixes.end());
  return prefixes;
}

std::vector<Tokens> FindStoredTexts(const ObjectTable& table, NamespaceId name_space,
                                    size_t tokens_max) {
  std::vector<const CheckpointEntry*> ends;
  for (const auto& [id, entry] : table.entries()) {
    if (entry.name_space != name_space) continue;
    if (PrefixTree::DescendantOf(entry.node) == nullptr) ends.push_back(&entry);
  }
  std::sort(ends.begin(), ends.end(), [](const CheckpointEntry* a, const CheckpointEntry* b) {
    return a->used_tick > b->used_tick;
  });
  std::vector<Tokens> texts;
  for (const CheckpointEntry* end : ends) {
    if (tokens_max == 0) break;
    const size_t position = end->checkpoint.position;
    const size_t tokens = std::min(position, tokens_max);
    texts.push_back(PrefixTree::TokensFrom(end->node, position - tokens));
    tokens_max -= tokens;
  }
  return texts;
}

}  // namespace cairn
