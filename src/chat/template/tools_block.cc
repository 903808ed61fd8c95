#include "chat/template/tools_block.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace cairn {

std::optional<InsertedText> FindInsertion(std::string_view bare, std::string_view full) {
  if (full.size() <= bare.size()) return std::nullopt;
  const auto differ = std::mismatch(bare.begin(), bare.end(), full.begin());
  const auto at = static_cast<size_t>(differ.first - bare.begin());
  const size_t size = full.size() - bare.size();
  if (full.substr(at + size) != bare.substr(at)) return std::nullopt;
  return InsertedText{at, std::string(full.substr(at, size))};
}

std::optional<TextRange> ToolsInFront(const ToolRenderings& renderings) {
  const auto front = FindInsertion(renderings.first_bare, renderings.first_with_tools);
  const std::string_view bare = renderings.bare;
  if (!front || bare.substr(0, front->at) != renderings.first_bare.substr(0, front->at)) {
    return std::nullopt;
  }
  // The block may be missing: some templates show it only if the last message is a user's.
  const auto block = FindInsertion(bare, renderings.with_tools);
  if (renderings.with_tools != bare && (!block || block->text.size() != front->text.size())) {
    return std::nullopt;
  }
  return TextRange{front->at, front->at + front->text.size()};
}

void InsertText(const RenderedText& from, const TextRange& range, size_t at, RenderedText* into) {
  const auto sources = static_cast<int32_t>(into->sources.size());
  const auto moved = static_cast<uint32_t>(range.end - range.begin);
  std::vector<jinja::Run> runs;
  // The part of a run from `begin` on; the next run ends it.
  const auto add = [&](jinja::Run run, size_t begin, int64_t by, int32_t source) {
    const size_t first = std::max<size_t>(run.begin, begin);
    if (run.source >= 0) run.offset += static_cast<uint32_t>(first - run.begin);
    run.begin = static_cast<uint32_t>(static_cast<int64_t>(first) + by);
    if (run.source > 0) run.source += source;
    runs.push_back(run);
  };
  for (const jinja::Run& run : into->runs) {
    if (run.begin < at) add(run, 0, 0, 0);
  }
  for (size_t i = 0; i < from.runs.size(); ++i) {
    const int64_t by = static_cast<int64_t>(at) - static_cast<int64_t>(range.begin);
    const bool overlaps = from.runs[i].begin < range.end && from.EndOf(i) > range.begin;
    if (overlaps) add(from.runs[i], range.begin, by, sources - 1);
  }
  for (size_t i = 0; i < into->runs.size(); ++i) {
    if (into->runs[i].begin >= at || into->EndOf(i) > at) add(into->runs[i], at, moved, 0);
  }
  into->runs = std::move(runs);
  into->sources.insert(into->sources.end(), from.sources.begin() + 1, from.sources.end());
  into->text.insert(at, from.text, range.begin, moved);
  if (into->asked_at && *into->asked_at >= at) *into->asked_at += moved;
}

}  // namespace cairn
