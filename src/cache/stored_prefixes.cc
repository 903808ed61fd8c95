#include "cache/stored_prefixes.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace cairn {
namespace {

using Segments = std::unordered_map<SegmentId, SegmentIndex::Segment>;

// The first tokens of a segment's sequence.
struct Beginning {
  SegmentId segment = 0;
  size_t position = 0;
};

// Where others part from a segment, and how often what is stored parts there or further on. By
// segment, then by position.
using Divergences = std::map<SegmentId, std::map<size_t, size_t>>;

// Which segments another part from, and where. What goes on at a segment's end is the same
// conversation, the first time.
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
    // Nobody else goes on from what lies off the grid.
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

// Most wanted first.
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
  // Of equals the one that came last.
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
  // Of equals the one that came last.
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

// A slot can be cut back to what a longer beginning begins with, so that one serves for both.
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

}  // namespace

std::vector<StoredPrefix> FindStoredPrefixes(const ObjectTable& table, size_t max) {
  return table.slots().needs_snapshots ? PrefixCheckpoints(table, max)
                                       : PrefixesOfSegments(table, max);
}

}  // namespace cairn
