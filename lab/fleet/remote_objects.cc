#include "lab/fleet/remote_objects.h"

#include <utility>

#include "base/check.h"

namespace cairn {

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

}  // namespace cairn
