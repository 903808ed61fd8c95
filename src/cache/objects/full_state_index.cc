#include "cache/objects/full_state_index.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace cairn {

std::vector<const FullState*> FullStateIndex::Sharing(NamespaceId name_space,
                                                      TokenSpan prompt) const {
  std::vector<const FullState*> sharing;
  for (const auto& [id, whole] : full_states_) {
    if (whole.name_space != name_space || prompt.empty()) continue;
    if (whole.tokens.front() == prompt.front()) sharing.push_back(&whole);
  }
  std::sort(sharing.begin(), sharing.end(),
            [](const FullState* a, const FullState* b) { return a->id < b->id; });
  return sharing;
}

std::vector<FullStateId> FullStateIndex::Within(const FullState& whole) const {
  std::vector<FullStateId> within;
  for (const FullState* other : Sharing(whole.name_space, whole.tokens)) {
    const size_t shared = CommonPrefix(other->tokens, whole.tokens);
    if (shared < other->tokens.size() || other->pins > 0) continue;
    if (SharedBits(other->provenance, whole.provenance, shared) == shared) {
      within.push_back(other->id);
    }
  }
  return within;
}

void FullStateIndex::Add(FullState whole) {
  CHECK(!whole.tokens.empty());
  const FullStateId id = whole.id;
  token_bytes_ += whole.tokens.size() * sizeof(Token);
  const bool added = full_states_.emplace(id, std::move(whole)).second;
  CHECK(added);
}

void FullStateIndex::Remove(FullStateId id) {
  const FullState& whole = Get(id);
  CHECK(whole.pins == 0);
  token_bytes_ -= whole.tokens.size() * sizeof(Token);
  full_states_.erase(id);
}

FullState& FullStateIndex::Get(FullStateId id) {
  const auto found = full_states_.find(id);
  CHECK(found != full_states_.end());
  return found->second;
}

}  // namespace cairn
