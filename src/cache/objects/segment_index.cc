#include "cache/objects/segment_index.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace cairn {

size_t SegmentIndex::StoredTo(NamespaceId name_space, TokenSpan tokens) const {
  return BeforeMedium(tokens, on_grid_.Match(name_space, tokens).shared);
}

SegmentId SegmentIndex::HolderOf(NamespaceId name_space, TokenSpan prefix,
                                 LineageId lineage) const {
  return lineage == 0 ? OnGrid(name_space, prefix) : InRun(lineage, prefix.size());
}

SegmentId SegmentIndex::HolderOf(SegmentId id, size_t position) const {
  while (id != 0 && Get(id).range.begin >= position) id = Get(id).parent;
  return id;
}

SegmentId SegmentIndex::InRun(LineageId lineage, size_t position) const {
  const auto run = runs_.find(lineage);
  if (run == runs_.end()) return 0;
  for (const SegmentId id : run->second) {
    const SegmentGap& range = Get(id).range;
    if (range.begin < position && position <= range.end) return id;
  }
  return 0;
}

SegmentId SegmentIndex::OnGrid(NamespaceId name_space, TokenSpan prefix) const {
  const PrefixTree::MatchResult match = on_grid_.Match(name_space, prefix);
  return match.shared < prefix.size() ? 0 : HolderAt(match);
}

SegmentId SegmentIndex::HolderAt(const PrefixTree::MatchResult& match) const {
  if (match.last == nullptr) return 0;
  const PrefixTree::Node* node = match.last;
  if (PrefixTree::ValueOf(node) == 0) node = PrefixTree::DescendantOf(node);
  return HolderOf(PrefixTree::ValueOf(node), match.shared);
}

SegmentId SegmentIndex::EndsAt(NamespaceId name_space, TokenSpan tokens) const {
  const PrefixTree::Node* node = on_grid_.Find(name_space, tokens);
  return node == nullptr ? 0 : PrefixTree::ValueOf(node);
}

size_t SegmentIndex::RunEnd(LineageId lineage) const {
  const auto run = runs_.find(lineage);
  return run == runs_.end() ? 0 : Get(run->second.back()).range.end;
}

Tokens SegmentIndex::TokensOf(SegmentId id) const {
  const Segment& segment = Get(id);
  if (segment.node != nullptr) return PrefixTree::TokensOf(segment.node);
  Tokens tokens;
  if (segment.parent != 0) tokens = TokensOf(segment.parent);
  tokens.resize(segment.range.begin);
  tokens.insert(tokens.end(), segment.run_tokens.begin(), segment.run_tokens.end());
  return tokens;
}

std::vector<SegmentId> SegmentIndex::Subtree(SegmentId id) const {
  std::vector<SegmentId> found = {id};
  for (size_t i = 0; i < found.size(); ++i) {
    if (Get(found[i]).children == 0) continue;
    for (const auto& [other, segment] : segments_) {
      if (segment.parent == found[i]) found.push_back(other);
    }
  }
  // Deepest first, because only the last segment of a run can be removed.
  std::reverse(found.begin(), found.end());
  return found;
}

std::vector<SegmentIndex::Link> SegmentIndex::PathTo(NamespaceId name_space, TokenSpan prefix,
                                                     LineageId lineage) const {
  return PathFrom(HolderOf(name_space, prefix, lineage), prefix.size());
}

std::vector<SegmentIndex::Link> SegmentIndex::PathAlong(NamespaceId name_space,
                                                        TokenSpan tokens) const {
  const PrefixTree::MatchResult match = on_grid_.Match(name_space, tokens);
  return PathFrom(HolderAt(match), match.shared);
}

std::vector<SegmentIndex::Link> SegmentIndex::PathFrom(SegmentId id, size_t end) const {
  std::vector<Link> path;
  while (id != 0) {
    const Segment& segment = Get(id);
    path.push_back({id, segment.range.begin, end});
    end = segment.range.begin;
    id = HolderOf(segment.parent, end);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

Provenance SegmentIndex::ProvenanceOf(const std::vector<Link>& path) const {
  Provenance provenance;
  for (const Link& link : path) {
    const Segment& segment = Get(link.id);
    provenance.Append({link.begin, link.end}, segment.range.lineage, segment.answers);
  }
  return provenance;
}

std::vector<SegmentGap> SegmentIndex::Gaps(NamespaceId name_space, TokenSpan tokens,
                                           const Provenance& provenance,
                                           const PromptCuts& cuts) const {
  std::vector<SegmentGap> gaps;
  const size_t clean = std::min(provenance.clean, tokens.size());
  const size_t stored = StoredTo(name_space, tokens.first(clean));
  if (stored < clean) gaps.push_back({cuts.AtOrBefore(stored), clean, 0});
  for (size_t i = 0; i < provenance.runs.size(); ++i) {
    const Run& run = provenance.runs[i];
    const bool last = i + 1 == provenance.runs.size();
    const size_t end = std::min(tokens.size(), last ? tokens.size() : provenance.runs[i + 1].begin);
    size_t begin = run.begin;
    if (const auto held = runs_.find(run.lineage); held != runs_.end()) {
      begin = Get(held->second.back()).range.end;
    }
    if (begin < end) gaps.push_back({begin, end, run.lineage});
  }
  return gaps;
}

std::vector<SegmentGap> CutInto(const std::vector<SegmentGap>& ranges, size_t tokens_max,
                                const PromptCuts& cuts) {
  std::vector<SegmentGap> cut;
  for (SegmentGap range : ranges) {
    while (range.end - range.begin > tokens_max) {
      const size_t most = range.begin + tokens_max;
      // Equal tokens shall mean an equal segment. That holds at a step of the grid.
      const size_t step = range.lineage == 0 ? cuts.AtOrBefore(most) : most;
      const size_t end = step > range.begin ? step : most;
      cut.push_back({range.begin, end, range.lineage});
      range.begin = end;
    }
    cut.push_back(range);
  }
  return cut;
}

std::optional<SegmentId> SegmentIndex::ParentFor(NamespaceId name_space, TokenSpan tokens,
                                                 const Provenance& provenance,
                                                 const SegmentGap& gap) const {
  if (gap.begin == 0) return SegmentId{0};
  const LineageId before = provenance.LineageAt(gap.begin);
  const SegmentId parent = HolderOf(name_space, tokens.first(gap.begin), before);
  if (parent == 0) return std::nullopt;
  return parent;
}

void SegmentIndex::Add(Segment segment, TokenSpan tokens, const Provenance& provenance) {
  const SegmentGap& range = segment.range;
  segment.answers = provenance.AnswersIn({range.begin, range.end});
  if (range.lineage == 0) {
    segment.node = on_grid_.Put(segment.name_space, tokens.first(range.end), segment.id);
  } else {
    const TokenSpan own = tokens.subspan(range.begin, range.end - range.begin);
    segment.run_tokens.assign(own.begin(), own.end());
    run_token_bytes_ += own.size_bytes();
    runs_[range.lineage].push_back(segment.id);
  }
  if (segment.parent != 0) ++Get(segment.parent).children;
  const SegmentId id = segment.id;
  const bool added = segments_.emplace(id, std::move(segment)).second;
  CHECK(added);
}

void SegmentIndex::Remove(SegmentId id) {
  const Segment& segment = Get(id);
  CHECK(segment.children == 0 && segment.pins == 0);
  if (segment.node != nullptr) {
    on_grid_.Erase(segment.node);
  } else {
    const auto run = runs_.find(segment.range.lineage);
    CHECK(run != runs_.end() && run->second.back() == id);
    run->second.pop_back();
    run_token_bytes_ -= segment.run_tokens.size() * sizeof(Token);
    if (run->second.empty()) runs_.erase(run);
  }
  if (segment.parent != 0) --Get(segment.parent).children;
  segments_.erase(id);
}

const SegmentIndex::Segment& SegmentIndex::Get(SegmentId id) const {
  const auto found = segments_.find(id);
  CHECK(found != segments_.end());
  return found->second;
}

SegmentIndex::Segment& SegmentIndex::Get(SegmentId id) {
  return const_cast<Segment&>(std::as_const(*this).Get(id));
}

size_t SegmentIndex::TokenBytesFreedBy(const Segment& segment) {
  return segment.node == nullptr ? segment.run_tokens.size() * sizeof(Token)
                                 : PrefixTree::BytesFreedBy(segment.node);
}

void SegmentIndex::CheckInvariants() const {
  on_grid_.CheckInvariants();
  size_t in_runs = 0;
  for (const auto& [lineage, ids] : runs_) in_runs += ids.size();
  CHECK(on_grid_.value_count() + in_runs == segments_.size());
  std::unordered_map<SegmentId, size_t> children;
  for (const auto& [id, segment] : segments_) {
    CHECK(segment.range.begin < segment.range.end);
    if (segment.parent == 0) {
      CHECK(segment.range.begin == 0);
      continue;
    }
    const Segment& parent = Get(segment.parent);
    CHECK(parent.range.begin < segment.range.begin && segment.range.begin <= parent.range.end);
    ++children[segment.parent];
  }
  for (const auto& [id, segment] : segments_) CHECK(segment.children == children[id]);
}

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
