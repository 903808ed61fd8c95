#include "lab/fleet/remote_link.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "tree/prefix_tree.h"

namespace cairn {
namespace {

constexpr double kUploadWaitMsMax = 60'000;
// How likely a conversation goes on, as the saver of the folder takes it.
constexpr double kLikelihood = 0.5;
// A transfer must take less than this share of the prefill that it spares.
constexpr double kTransferShare = 0.5;
constexpr uint64_t kNameSpace = 1;  // as SimServer names it

size_t WithoutLogits(size_t bytes, size_t logits_bytes, const SimServer& server) {
  return logits_bytes == 0 ? bytes : bytes - server.options().profile.logits_bytes;
}

}  // namespace

RemoteObjects::Key RemoteObjects::KeyOf(const RemoteObject& object) {
  return {object.kind, object.begin, object.end, object.lineage, object.logits_bytes > 0,
          object.last};
}

uint64_t RemoteObjects::GroupOf(const FleetToken& last) {
  return last.shared ? 0 : last.conversation + 1;
}

const RemoteObject* RemoteObjects::Get(RemoteId id) const {
  const auto found = objects_.find(id);
  return found == objects_.end() ? nullptr : &found->second.object;
}

RemoteId RemoteObjects::Find(const RemoteObject& object) const {
  const auto found = by_key_.find(KeyOf(object));
  return found == by_key_.end() ? 0 : found->second;
}

RemoteId RemoteObjects::Add(const RemoteObject& object) {
  CHECK(Find(object) == 0);
  if (object.stored_bytes > bytes_max_) return 0;
  while (bytes_ > bytes_max_ - object.stored_bytes) {
    Remove(by_use_.begin()->second);
    ++moved_.evicted;
  }
  const RemoteId id = ++last_id_;
  objects_[id].object = object;
  by_key_[KeyOf(object)] = id;
  groups_[GroupOf(object.last)].insert(id);
  bytes_ += object.stored_bytes;
  Use(id);
  moved_.uploaded_bytes += object.stored_bytes;
  ++moved_.uploads;
  return id;
}

void RemoteObjects::Use(RemoteId id) {
  while (id != 0) {
    const auto found = objects_.find(id);
    if (found == objects_.end()) return;
    SetUsed(id);
    id = found->second.object.parent;
  }
}

void RemoteObjects::SetUsed(RemoteId id) {
  Held& held = objects_.at(id);
  by_use_.erase(held.used_tick);
  held.used_tick = ++tick_;
  by_use_[held.used_tick] = id;
}

void RemoteObjects::Download(RemoteId id) {
  moved_.downloaded_bytes += objects_.at(id).object.stored_bytes;
  ++moved_.downloads;
}

void RemoteObjects::LoseUnwritten(size_t server, double now_ms) {
  std::vector<RemoteId> lost;
  for (const auto& [id, held] : objects_) {
    if (held.object.server == server && held.object.written_ms > now_ms) lost.push_back(id);
  }
  for (const RemoteId id : lost) Remove(id);
}

const std::set<RemoteId>& RemoteObjects::Of(const FleetToken& last) const {
  const auto found = groups_.find(GroupOf(last));
  return found == groups_.end() ? none_ : found->second;
}

void RemoteObjects::Remove(RemoteId id) {
  const auto found = objects_.find(id);
  CHECK(found != objects_.end());
  const RemoteObject& object = found->second.object;
  by_key_.erase(KeyOf(object));
  by_use_.erase(found->second.used_tick);
  const auto group = groups_.find(GroupOf(object.last));
  group->second.erase(id);
  if (group->second.empty()) groups_.erase(group);
  bytes_ -= object.stored_bytes;
  objects_.erase(found);
}

RemoteLink::RemoteLink(const RemoteOptions& options, size_t number, const FleetTrace* trace,
                       Numbering* numbering, SimServer* server, RemoteObjects* objects)
    : options_(options),
      number_(number),
      trace_(trace),
      numbering_(numbering),
      server_(server),
      objects_(objects),
      prefill_ms_per_token_(kMsPerS / server->options().profile.prefill_tokens_per_s) {
  server_->store().SetOnGone([this](SnapshotId id) { WriteGone(id); });
}

double RemoteLink::TransferMs(uint64_t bytes) const {
  return static_cast<double>(bytes) / options_.bytes_per_s * kMsPerS;
}

bool RemoteLink::IsSaved(uint64_t id) const {
  const SnapshotStore::Place place = server_->store().PlaceOf(id);
  return place == SnapshotStore::Place::kBoth || place == SnapshotStore::Place::kSavedOnly;
}

std::optional<RemoteObject> RemoteLink::SnapshotOf(CheckpointId id) const {
  const CheckpointEntry* const entry = server_->cache().objects()->FindEntry(id);
  if (entry == nullptr || !IsSaved(id)) return std::nullopt;
  auto runs = numbering_->RunsOf(PrefixTree::TokensOf(entry->node));
  if (!runs) return std::nullopt;
  const Checkpoint& checkpoint = entry->checkpoint;
  RemoteObject object;
  object.kind = ObjectKind::kSnapshot;
  object.end = checkpoint.position;
  object.lineage = checkpoint.lineage;
  object.checkpoint_class = static_cast<uint8_t>(checkpoint.checkpoint_class);
  object.cold_end = checkpoint.cold_end;
  object.logits_bytes = checkpoint.logits_bytes;
  object.turns = checkpoint.turns;
  object.tokens = std::move(*runs);
  object.state_bytes = WithoutLogits(checkpoint.bytes, checkpoint.logits_bytes, *server_);
  object.stored_bytes = checkpoint.bytes;
  return object;
}

std::optional<RemoteObject> RemoteLink::SegmentOf(SegmentId id) const {
  const SegmentIndex& segments = server_->cache().objects()->segments();
  if (!IsSaved(id)) return std::nullopt;
  auto runs = numbering_->RunsOf(segments.TokensOf(id));
  if (!runs) return std::nullopt;
  const SegmentIndex::Segment& segment = segments.Get(id);
  RemoteObject object;
  object.kind = ObjectKind::kSegment;
  object.begin = segment.range.begin;
  object.end = segment.range.end;
  object.lineage = segment.range.lineage;
  object.answers = segment.answers;
  object.tokens = std::move(*runs);
  object.state_bytes = object.stored_bytes = segment.bytes;
  return object;
}

std::vector<RemoteObject> RemoteLink::PathOf(uint64_t id) const {
  const ObjectTable& table = *server_->cache().objects();
  std::vector<RemoteObject> path;
  SegmentId segment = 0;
  if (const auto entry = table.entries().find(id); entry != table.entries().end()) {
    segment = entry->second.holder;
    const bool stands_alone = server_->options().profile.memory_class == MemoryClass::kRecurrent;
    auto snapshot = SnapshotOf(id);
    if (!snapshot || (segment == 0 && !stands_alone)) return {};
    path.push_back(std::move(*snapshot));
  } else if (table.segments().segments().contains(id)) {
    segment = id;
  } else {
    return {};
  }
  for (; segment != 0; segment = table.segments().Get(segment).parent) {
    auto part = SegmentOf(segment);
    if (!part) return {};
    path.push_back(std::move(*part));
  }
  std::reverse(path.begin(), path.end());
  for (RemoteObject& object : path) {
    const FleetRun& run = object.tokens.back();
    object.last = run.first;
    object.last.number += run.count - 1;
    object.server = number_;
  }
  return path;
}

void RemoteLink::Write(uint64_t id, double now_ms) {
  std::vector<RemoteObject> path = PathOf(id);
  if (path.empty()) return;
  uint64_t missing_bytes = 0;
  for (const RemoteObject& object : path) {
    if (objects_->Find(object) == 0) missing_bytes += object.stored_bytes;
  }
  if (missing_bytes == 0) return;
  size_t there = 0;  // tokens that others could resume already
  for (const RemoteId other : objects_->Of(path.back().last)) {
    const RemoteObject& object = *objects_->Get(other);
    const bool resumes = object.kind == path.back().kind && object.end < path.back().end;
    if (resumes) there = std::max(there, object.end);
  }
  const double worth_ms =
      kLikelihood * static_cast<double>(path.back().end - there) * prefill_ms_per_token_;
  busy_until_ms_ = std::max(busy_until_ms_, now_ms);
  if (worth_ms <= TransferMs(missing_bytes) || busy_until_ms_ - now_ms > kUploadWaitMsMax) {
    ++counts_.uploads_left_out;
    return;
  }
  RemoteId parent = 0;
  for (RemoteObject& object : path) {
    object.parent = parent;
    object.worth_ms = worth_ms;
    parent = objects_->Find(object);
    if (parent != 0) {
      objects_->Use(parent);
      continue;
    }
    busy_until_ms_ +=
        static_cast<double>(object.stored_bytes) / options_.write_bytes_per_s * kMsPerS;
    object.written_ms = busy_until_ms_;
    parent = objects_->Add(object);
    if (parent == 0) return;
  }
}

void RemoteLink::WriteGone(SnapshotId id) {
  const ObjectTable& table = *server_->cache().objects();
  // A segment alone is of use only where resuming takes no snapshot.
  const bool is_segment = table.segments().segments().contains(id);
  if (is_segment &&
      (table.slots().needs_snapshots || table.segments().Get(id).range.lineage != 0)) {
    return;
  }
  Write(id, now_ms_);
}

void RemoteLink::WriteNewest(const FleetStep& step, double now_ms) {
  now_ms_ = now_ms;
  server_->SaveUnused(now_ms);
  const Tokens known = trace_->KnownPromptOf(step, *numbering_);
  if (known.empty()) return;
  const CheckpointCache::MatchResult match = server_->cache().Match(NamespaceId{0}, known);
  for (size_t i = match.checkpoints.size(); i-- > 0;) {
    const Checkpoint& checkpoint = match.checkpoints[i];
    if (!IsSaved(checkpoint.id)) continue;
    Write(checkpoint.id, now_ms);
    return;
  }
  if (server_->cache().objects()->slots().needs_snapshots) return;
  const auto path = server_->cache().objects()->segments().PathAlong(NamespaceId{0}, known);
  if (!path.empty()) Write(path.back().id, now_ms);
}

void RemoteLink::WriteHeader(const FleetStep& step, const std::vector<Checkpoint>& checkpoints,
                             double now_ms) {
  for (size_t i = checkpoints.size(); i-- > 0;) {
    const size_t position = checkpoints[i].position;
    if (position > step.request->header_tokens) continue;
    const auto token = trace_->TokenBefore(step, position);
    CHECK(token && token->shared);
    const ConversationKey first =
        header_users_.try_emplace(token->number, step.conversation).first->second;
    if (first != step.conversation) Write(checkpoints[i].id, now_ms);
    return;
  }
}

std::vector<RemoteId> RemoteLink::ResumesBeyond(const FleetStep& step, size_t reach,
                                                double now_ms) const {
  const bool segments_resume = !server_->cache().objects()->slots().needs_snapshots;
  const size_t input = step.request->asked->input_tokens;
  std::vector<std::pair<size_t, RemoteId>> found;
  const auto look = [&](const std::set<RemoteId>& group) {
    for (const RemoteId id : group) {
      const RemoteObject& object = *objects_->Get(id);
      if (object.end <= reach || object.end > input || object.written_ms > now_ms) continue;
      if (object.end == input && object.logits_bytes == 0) continue;
      const bool may_resume =
          object.kind == ObjectKind::kSnapshot || (segments_resume && object.lineage == 0);
      if (!may_resume || trace_->TokenBefore(step, object.end) != object.last) continue;
      found.emplace_back(object.end, id);
    }
  };
  if (reach < step.request->header_tokens) look(objects_->Of({true, 0, 0}));
  look(objects_->Of({false, step.conversation, 0}));
  std::sort(found.begin(), found.end(), std::greater<>());
  std::vector<RemoteId> ids;
  for (const auto& [end, id] : found) ids.push_back(id);
  return ids;
}

ObjectHeader RemoteLink::HeaderOf(const RemoteObject& object, const ObjectName& parent) {
  ObjectHeader header;
  header.kind = object.kind;
  header.name_space = kNameSpace;
  header.tokens = trace_->TokensOf(object.tokens, numbering_);
  header.begin = object.begin;
  header.lineage = object.lineage;
  header.checkpoint_class = object.checkpoint_class;
  header.cold_end = object.cold_end;
  header.logits_bytes = object.logits_bytes;
  header.turns = object.turns;
  header.answers = object.answers;
  header.worth_ms = object.worth_ms;
  if (object.kind == ObjectKind::kSegment) header.parent = parent;
  return header;
}

std::optional<RemoteLink::Found> RemoteLink::FindPath(RemoteId id, double now_ms) {
  Found found;
  found.tokens = objects_->Get(id)->end;
  std::vector<RemoteId> path;
  for (; id != 0; id = objects_->Get(id)->parent) {
    const RemoteObject* const object = objects_->Get(id);
    if (object == nullptr || object->written_ms > now_ms) return std::nullopt;
    path.push_back(id);
  }
  ObjectName parent;
  for (size_t i = path.size(); i-- > 0;) {
    const RemoteObject& object = *objects_->Get(path[i]);
    ObjectHeader header = HeaderOf(object, parent);
    if (header.tokens.empty()) return std::nullopt;
    parent = NameOf(header);
    if (server_->store().Find(parent)) continue;
    found.bytes += object.stored_bytes;
    found.missing.push_back({path[i], std::move(header)});
  }
  return found;
}

void RemoteLink::Stage(const Found& found) {
  for (const Part& part : found.missing) {
    // The folder may evict an object for this one, which then evicts another one from the tier.
    const RemoteObject* const object = objects_->Get(part.id);
    if (object == nullptr) return;
    objects_->Download(part.id);
    Bytes claim = ClaimBytes(object->state_bytes, object->logits_bytes > 0);
    // Where the folder has no room for it, the rest of the path has no parent, and is no use.
    server_->store().Stage(part.header, std::move(claim));
    server_->cache().TakeEvents();
  }
}

double RemoteLink::Look(const FleetStep& step, TokenSpan prompt, double now_ms) {
  now_ms_ = now_ms;
  if (!step.request->asked->reuse) return 0;
  const CheckpointCache::MatchResult match = server_->cache().Match(NamespaceId{0}, prompt);
  WriteHeader(step, match.checkpoints, now_ms);
  const size_t reach = server_->ReachOf(prompt);
  const double left_ms = static_cast<double>(prompt.size() - reach) * prefill_ms_per_token_;
  if (left_ms <= options_.min_ms) return 0;
  for (const RemoteId id : ResumesBeyond(step, reach, now_ms)) {
    const auto found = FindPath(id, now_ms);
    if (!found) continue;
    const double transfer_ms = options_.round_trip_ms + TransferMs(found->bytes);
    const double spared_ms = static_cast<double>(found->tokens - reach) * prefill_ms_per_token_;
    if (transfer_ms >= kTransferShare * spared_ms) {
      ++counts_.not_worth;
      continue;
    }
    ++counts_.fetches;
    counts_.fetched_bytes += found->bytes;
    counts_.fetched_tokens += found->tokens - reach;
    objects_->Use(id);
    Stage(*found);
    return transfer_ms;
  }
  return 0;
}

}  // namespace cairn
