#include "fleet/remote/tier/remote_plan.h"

#include <algorithm>
#include <utility>

#include "fleet/remote/remote_objects.h"

namespace cairn {
namespace {

constexpr double kAssumedMsPerToken = 1;
// At most this many objects of one lookup are considered, and lie on one path: hostile entries
// must not keep a thread busy.
constexpr size_t kCandidatesMax = 4096;
constexpr size_t kPlannedPathMax = 1024;

double FetchMs(const RemotePace& pace, uint64_t bytes) {
  return static_cast<double>(bytes) / pace.bytes_per_ms + pace.round_trip_ms;
}

}  // namespace

double PrefillMs(const RemoteAsk& ask, size_t tokens) {
  const double ms = ask.prefill_ms_per_token > 0 ? ask.prefill_ms_per_token : kAssumedMsPerToken;
  return ms * static_cast<double>(tokens);
}

bool FetchPays(const RemoteAsk& ask, const RemotePace& pace, size_t reach_tokens, uint64_t bytes) {
  if (reach_tokens <= ask.reach_tokens) return false;
  const double saved_ms = PrefillMs(ask, reach_tokens - ask.reach_tokens);
  if (saved_ms < pace.saved_ms_min) return false;
  return FetchMs(pace, bytes) < 0.5 * saved_ms;
}

double FetchWaitMs(const RemoteAsk& ask, const RemotePace& pace, const RemotePlan& plan) {
  // A write to the folder and a hiccup of the network fit into the shortest wait.
  constexpr double kWaitMsMin = 200;
  constexpr double kTimesExpected = 4;
  const double wait_ms = std::max(kWaitMsMin, kTimesExpected * FetchMs(pace, plan.bytes));
  return std::min(wait_ms, PrefillMs(ask, plan.reach_tokens - ask.reach_tokens));
}

uint64_t ObjectBytesMax(const RemoteAsk& ask, const RemoteEntry& entry) {
  if (ask.kv_bytes_per_token == 0 && ask.snapshot_bytes == 0) return kRemoteObjectBytesMax;
  // Headers, padding, and what libraries add to a state.
  constexpr double kSpareBytes = 16 << 20;
  constexpr double kSpareFactor = 2;
  const uint64_t tokens = entry.kind == ObjectKind::kSnapshot ? 0 : entry.end - entry.begin;
  const uint64_t state_bytes = entry.kind == ObjectKind::kSegment ? 0 : ask.snapshot_bytes;
  const double bytes = static_cast<double>(tokens) * static_cast<double>(ask.kv_bytes_per_token) +
                       static_cast<double>(state_bytes) +
                       static_cast<double>(entry.end) * sizeof(Token);
  return static_cast<uint64_t>(
      std::min(kSpareFactor * bytes + kSpareBytes, static_cast<double>(kRemoteObjectBytesMax)));
}

RemotePlanner::Candidate* RemotePlanner::Find(size_t key, const RemoteId& id) {
  const auto found = places_.find({key, id});
  return found == places_.end() ? nullptr : &candidates_[found->second];
}

RemotePlanner::Candidate* RemotePlanner::FindSegment(size_t key, const RemoteId& id, size_t end) {
  Candidate* const found = id.empty() ? nullptr : Find(key, id);
  if (found == nullptr || found->item.entry.kind != ObjectKind::kSegment) return nullptr;
  // A parent begins before its child and reaches up to it.
  const RemoteEntry& entry = found->item.entry;
  return entry.begin < end && entry.end >= end ? found : nullptr;
}

void RemotePlanner::Add(size_t key, size_t block, const std::string& index_key,
                        const std::vector<RemoteEntry>& entries) {
  const size_t end = (block + 1) * kRemoteBlockTokens;
  for (const RemoteEntry& entry : entries) {
    if (Candidate* known = Find(key, entry.id)) {
      known->blocks_tokens = std::max(known->blocks_tokens, end);
      continue;
    }
    if (candidates_.size() >= kCandidatesMax) return;
    if (entry.stored_bytes == 0 || entry.stored_bytes > ObjectBytesMax(*ask_, entry)) continue;
    Candidate candidate;
    candidate.item.key = key;
    candidate.item.entry = entry;
    candidate.item.index_key = index_key;
    candidate.blocks_tokens = end;
    Verify(&candidate);
    places_.emplace(std::pair(key, entry.id), candidates_.size());
    candidates_.push_back(std::move(candidate));
  }
}

void RemotePlanner::Verify(Candidate* candidate) const {
  const RemoteEntry& entry = candidate->item.entry;
  if (entry.end > ask_->tokens.size()) return;
  ObjectHeader header;
  header.kind = entry.kind;
  header.fingerprint = fingerprint_;
  header.name_space = ask_->name_space;
  header.begin = entry.begin;
  header.lineage = entry.lineage;
  header.logits_bytes = entry.has_logits ? 1 : 0;
  header.tokens.assign(ask_->tokens.begin(),
                       ask_->tokens.begin() + static_cast<std::ptrdiff_t>(entry.end));
  const ObjectName name = NameOf(header);
  if ((*names_)[candidate->item.key].IdOf(name) != entry.id) return;
  candidate->is_whole = true;
  candidate->item.name = name;
  candidate->item.agrees_tokens = entry.end;
}

size_t RemotePlanner::ReachOf(const Candidate& candidate) const {
  const RemoteEntry& entry = candidate.item.entry;
  if (entry.kind != ObjectKind::kSegment) {
    // Without logits, at least one token must be left to prefill.
    const bool is_usable = entry.end < ask_->tokens.size() || entry.has_logits;
    return candidate.is_whole && is_usable ? entry.end : 0;
  }
  // Without snapshots, the front of a segment on the grid is as good as all of it.
  if (ask_->needs_snapshots) return 0;
  if (candidate.is_whole) return entry.end;
  const size_t reach = std::min<size_t>(candidate.blocks_tokens, entry.end);
  return entry.lineage == 0 && reach > entry.begin ? reach : 0;
}

RemotePlanner::Cost RemotePlanner::OnTop(const Cost& below, const Candidate& candidate,
                                         const PlaceOf& place_of) {
  Cost cost = below;
  cost.leads = below.leads && below.objects < kPlannedPathMax;
  if (!cost.leads) return cost;
  ++cost.objects;
  const Place place = place_of(candidate.item);
  cost.leads = place != Place::kUseless;
  if (place != Place::kRemote) return cost;
  ++cost.remote;
  cost.bytes += candidate.item.entry.stored_bytes;
  return cost;
}

const RemotePlanner::Cost& RemotePlanner::ChainOf(Candidate* segment, const PlaceOf& place_of) {
  // Down to the first one whose cost is known, and up again. Each begins before the one above it,
  // so this ends.
  std::vector<Candidate*> above;
  Cost below = {.leads = true};
  for (Candidate* next = segment; next != nullptr;) {
    if (next->chain) {
      below = *next->chain;
      break;
    }
    above.push_back(next);
    const RemoteEntry& entry = next->item.entry;
    next = FindSegment(next->item.key, entry.parent, entry.begin);
    if (next == nullptr) below.leads = entry.parent.empty() && entry.begin == 0;
  }
  for (; !above.empty(); above.pop_back()) {
    below = OnTop(below, *above.back(), place_of);
    above.back()->chain = below;
  }
  return *segment->chain;
}

RemotePlanner::Candidate* RemotePlanner::SegmentOf(Candidate* target, size_t reach, bool* missing) {
  const RemoteItem& item = target->item;
  Candidate* segment = nullptr;
  if (item.entry.kind == ObjectKind::kSegment) {
    segment = FindSegment(item.key, item.entry.id, reach);
  } else if (item.entry.kind == ObjectKind::kSnapshot && ask_->snapshots_need_kv) {
    // A snapshot's parent is the segment that holds its last token.
    segment = FindSegment(item.key, item.entry.parent, reach);
  } else {
    return nullptr;
  }
  *missing = segment == nullptr;
  return segment;
}

std::vector<RemoteItem> RemotePlanner::PathOf(Candidate* target, Candidate* segment, size_t reach) {
  std::vector<RemoteItem> path;
  if (target != segment) path.push_back(target->item);
  for (size_t end = reach; segment != nullptr;) {
    const RemoteEntry& entry = segment->item.entry;
    path.push_back(segment->item);
    path.back().agrees_tokens = std::max(end, path.back().agrees_tokens);
    end = entry.begin;
    segment = FindSegment(segment->item.key, entry.parent, end);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

RemotePlan RemotePlanner::Choose(const RemotePace& pace, const PlaceOf& asked_place_of) {
  std::map<const RemoteItem*, Place> known;
  const PlaceOf place_of = [&](const RemoteItem& item) {
    const auto found = known.find(&item);
    if (found != known.end()) return found->second;
    return known.emplace(&item, asked_place_of(item)).first->second;
  };
  std::vector<std::pair<size_t, Candidate*>> targets;
  for (Candidate& candidate : candidates_) {
    const size_t reach = std::min(ReachOf(candidate), ask_->tokens.size());
    if (reach > ask_->reach_tokens) targets.emplace_back(reach, &candidate);
  }
  // A snapshot brings the segments along that it stands on.
  const auto is_segment = [](const Candidate* candidate) {
    return candidate->item.entry.kind == ObjectKind::kSegment;
  };
  std::stable_sort(targets.begin(), targets.end(), [&](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : !is_segment(a.second) && is_segment(b.second);
  });
  for (const auto& [reach, target] : targets) {
    bool missing = false;
    Candidate* const segment = SegmentOf(target, reach, &missing);
    if (missing) continue;
    Cost cost = {.leads = true};
    if (segment != nullptr) cost = ChainOf(segment, place_of);
    if (segment != target) cost = OnTop(cost, *target, place_of);
    if (!cost.leads) continue;
    // All of it is in the folder, whose scan finds it.
    if (cost.remote == 0) return {};
    if (!FetchPays(*ask_, pace, reach, cost.bytes)) continue;
    RemotePlan plan;
    plan.reach_tokens = reach;
    plan.bytes = cost.bytes;
    for (RemoteItem& item : PathOf(target, segment, reach)) {
      const Candidate* const candidate = Find(item.key, item.entry.id);
      if (place_of(candidate->item) == Place::kRemote) plan.items.push_back(std::move(item));
    }
    return plan;
  }
  return {};
}

}  // namespace cairn
