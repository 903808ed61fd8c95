#include "remote/tier/remote_plan.h"

#include <algorithm>
#include <utility>

namespace cairn {
namespace {

constexpr double kAssumedMsPerToken = 1;
// At most this many objects of one lookup are considered, and lie on one path: hostile entries
// must not keep a thread busy.
constexpr size_t kCandidatesMax = 4096;
constexpr size_t kPathMax = 1024;
constexpr uint64_t kObjectBytesMax = uint64_t{8} << 30;

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

RemotePlanner::Candidate* RemotePlanner::Find(size_t key, const RemoteId& id) {
  const auto found =
      std::find_if(candidates_.begin(), candidates_.end(), [&](const Candidate& candidate) {
        return candidate.item.key == key && candidate.item.entry.id == id;
      });
  return found == candidates_.end() ? nullptr : &*found;
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
    if (entry.stored_bytes == 0 || entry.stored_bytes > kObjectBytesMax) continue;
    Candidate candidate;
    candidate.item.key = key;
    candidate.item.entry = entry;
    candidate.item.index_key = index_key;
    candidate.blocks_tokens = end;
    Verify(&candidate);
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

bool RemotePlanner::AppendChain(size_t key, RemoteId id, size_t end,
                                std::vector<RemoteItem>* items) {
  std::vector<RemoteItem> chain;
  while (!id.empty()) {
    const Candidate* const candidate = Find(key, id);
    if (candidate == nullptr || candidate->item.entry.kind != ObjectKind::kSegment) return false;
    const RemoteEntry& entry = candidate->item.entry;
    // A parent begins before its child and reaches up to it.
    if (entry.begin >= end || entry.end < end || chain.size() >= kPathMax) return false;
    chain.push_back(candidate->item);
    chain.back().agrees_tokens = std::max(end, chain.back().agrees_tokens);
    end = entry.begin;
    id = entry.parent;
  }
  if (end != 0) return false;
  items->insert(items->end(), chain.rbegin(), chain.rend());
  return true;
}

bool RemotePlanner::AppendPath(const Candidate& target, size_t reach,
                               std::vector<RemoteItem>* items) {
  const RemoteEntry& entry = target.item.entry;
  if (entry.kind == ObjectKind::kSegment) {
    return AppendChain(target.item.key, entry.id, reach, items);
  }
  if (entry.kind == ObjectKind::kSnapshot && ask_->snapshots_need_kv) {
    // A snapshot's parent is the segment that holds its last token.
    if (entry.parent.empty()) return false;
    if (!AppendChain(target.item.key, entry.parent, reach, items)) return false;
  }
  items->push_back(target.item);
  return true;
}

RemotePlan RemotePlanner::Choose(const RemotePace& pace,
                                 const std::function<Place(const RemoteItem&)>& place_of) {
  std::vector<std::pair<size_t, const Candidate*>> targets;
  for (const Candidate& candidate : candidates_) {
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
    RemotePlan plan;
    plan.reach_tokens = reach;
    std::vector<RemoteItem> path;
    if (!AppendPath(*target, reach, &path)) continue;
    bool useless = false;
    for (RemoteItem& item : path) {
      const Place place = place_of(item);
      useless = useless || place == Place::kUseless;
      if (place != Place::kRemote) continue;
      plan.bytes += item.entry.stored_bytes;
      plan.items.push_back(std::move(item));
    }
    if (useless) continue;
    // All of it is in the folder, whose scan finds it.
    if (plan.items.empty()) return {};
    if (FetchPays(*ask_, pace, reach, plan.bytes)) return plan;
  }
  return {};
}

}  // namespace cairn
