#include "cache/whole_index.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace cairn {

std::vector<const WholeState*> WholeIndex::Sharing(NamespaceId name_space, TokenSpan prompt) const {
  std::vector<const WholeState*> sharing;
  for (const auto& [id, whole] : wholes_) {
    if (whole.name_space != name_space || prompt.empty()) continue;
    if (whole.tokens.front() == prompt.front()) sharing.push_back(&whole);
  }
  std::sort(sharing.begin(), sharing.end(),
            [](const WholeState* a, const WholeState* b) { return a->id < b->id; });
  return sharing;
}

std::vector<WholeId> WholeIndex::Within(const WholeState& whole) const {
  std::vector<WholeId> within;
  for (const WholeState* other : Sharing(whole.name_space, whole.tokens)) {
    const size_t shared = CommonPrefix(other->tokens, whole.tokens);
    if (shared < other->tokens.size() || other->pins > 0) continue;
    if (SharedBits(other->provenance, whole.provenance, shared) == shared) {
      within.push_back(other->id);
    }
  }
  return within;
}

void WholeIndex::Add(WholeState whole) {
  CHECK(!whole.tokens.empty());
  const WholeId id = whole.id;
  token_bytes_ += whole.tokens.size() * sizeof(Token);
  const bool added = wholes_.emplace(id, std::move(whole)).second;
  CHECK(added);
}

void WholeIndex::Remove(WholeId id) {
  const WholeState& whole = Get(id);
  CHECK(whole.pins == 0);
  token_bytes_ -= whole.tokens.size() * sizeof(Token);
  wholes_.erase(id);
}

WholeState& WholeIndex::Get(WholeId id) {
  const auto found = wholes_.find(id);
  CHECK(found != wholes_.end());
  return found->second;
}

}  // namespace cairn
