#include "chat/spans/tools_block.h"

#include <algorithm>

namespace cairn {

std::optional<InsertedText> FindInsertion(std::string_view bare, std::string_view full) {
  if (full.size() <= bare.size()) return std::nullopt;
  const auto differ = std::mismatch(bare.begin(), bare.end(), full.begin());
  const auto at = static_cast<size_t>(differ.first - bare.begin());
  const size_t size = full.size() - bare.size();
  if (full.substr(at + size) != bare.substr(at)) return std::nullopt;
  return InsertedText{at, std::string(full.substr(at, size))};
}

std::string WithToolsInFront(const ToolRenderings& renderings) {
  const auto front = FindInsertion(renderings.first_bare, renderings.first_with_tools);
  const std::string_view bare = renderings.bare;
  if (!front ||
      bare.substr(0, front->at) != std::string_view(renderings.first_bare).substr(0, front->at)) {
    return renderings.with_tools;
  }
  // The block may be missing: some templates show it only if the last message is a user's.
  const auto block = FindInsertion(bare, renderings.with_tools);
  if (renderings.with_tools != bare && (!block || block->text.size() != front->text.size())) {
    return renderings.with_tools;
  }
  std::string text(bare);
  return text.insert(front->at, front->text);
}

}  // namespace cairn
