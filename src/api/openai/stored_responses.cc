#include "api/openai/stored_responses.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

namespace cairn {
namespace {

// Approximate bytes of a turn in addition to its texts.
constexpr size_t kTurnBytes = 512;
// Maximum number of removed responses per namespace whose reason is kept.
constexpr size_t kDeparturesMax = 1024;
// A client may send an id of any length.
constexpr size_t kShownIdBytes = 64;

}  // namespace

StoredResponses::Chain::~Chain() {
  const MutexLock lock(owner_->mutex_);
  const auto space = owner_->spaces_.find(name_space_);
  if (space != owner_->spaces_.end()) Release(&space->second, turns_.back()->id);
}

void StoredResponses::Store(NamespaceId name_space, ResponseTurn turn, const Chain* previous) {
  const MutexLock lock(mutex_);
  ForgetExpired();
  Space& space = spaces_[name_space];
  const std::string id = turn.id;
  if (space.turns.contains(id)) return;
  Turn added;
  added.bytes = kTurnBytes + turn.input.size() + turn.response.size();
  added.chain_bytes = added.bytes;
  if (previous != nullptr) {
    added.previous = previous->turns().back()->id;
    Turn& before = space.turns.at(added.previous);  // `previous` keeps it alive
    added.chain_bytes += before.chain_bytes;
    if (added.chain_bytes <= options_.key_bytes_max) ++before.users;
  }
  if (added.chain_bytes > options_.key_bytes_max) return NoteGone(&space, id, Gone::kTooLarge);
  added.texts = std::make_shared<const ResponseTurn>(std::move(turn));
  added.users = 1;
  space.bytes += added.bytes;
  space.turns.emplace(id, std::move(added));
  space.stored.push_back({id, clock_->NowMs()});
  space.by_id.emplace(id, std::prev(space.stored.end()));
  while (space.bytes > options_.key_bytes_max && !space.stored.empty()) {
    Forget(&space, space.stored.front().id, Gone::kEvicted);
  }
}

ApiResult<std::shared_ptr<const StoredResponses::Chain>> StoredResponses::Find(
    const std::string& id, NamespaceId name_space) {
  const MutexLock lock(mutex_);
  ForgetExpired();
  const auto found = spaces_.find(name_space);
  Space* const space = found == spaces_.end() ? nullptr : &found->second;
  if (space == nullptr || !space->by_id.contains(id)) {
    return tl::unexpected(MissingError(space, id));
  }
  ResponseTurns turns;
  for (std::string at = id; !at.empty();) {
    const Turn& turn = space->turns.at(at);
    turns.push_back(turn.texts);
    at = turn.previous;
  }
  std::reverse(turns.begin(), turns.end());
  ++space->turns.at(id).users;
  return std::shared_ptr<const Chain>(new Chain(this, name_space, std::move(turns)));
}

std::shared_ptr<const ResponseTurn> StoredResponses::FindTurn(const std::string& id,
                                                              NamespaceId name_space) {
  const MutexLock lock(mutex_);
  ForgetExpired();
  const auto space = spaces_.find(name_space);
  if (space == spaces_.end() || !space->second.by_id.contains(id)) return nullptr;
  return space->second.turns.at(id).texts;
}

ApiResult<void> StoredResponses::Remove(const std::string& id, NamespaceId name_space) {
  const MutexLock lock(mutex_);
  ForgetExpired();
  const auto found = spaces_.find(name_space);
  Space* const space = found == spaces_.end() ? nullptr : &found->second;
  if (space == nullptr || !space->by_id.contains(id)) {
    return tl::unexpected(MissingError(space, id));
  }
  Forget(space, id, Gone::kDeleted);
  return {};
}

size_t StoredResponses::bytes(NamespaceId name_space) const {
  const MutexLock lock(mutex_);
  const auto found = spaces_.find(name_space);
  return found == spaces_.end() ? 0 : found->second.bytes;
}

void StoredResponses::ForgetExpired() {
  const double oldest_ms = clock_->NowMs() - options_.ttl_ms;
  for (auto at = spaces_.begin(); at != spaces_.end();) {
    Space& space = at->second;
    while (!space.stored.empty() && space.stored.front().stored_ms <= oldest_ms) {
      Forget(&space, space.stored.front().id, Gone::kExpired);
    }
    while (!space.departures.empty() && space.departures.front().gone_ms <= oldest_ms) {
      space.gone.erase(space.departures.front().id);
      space.departures.pop_front();
    }
    const bool empty = space.turns.empty() && space.departures.empty();
    at = empty ? spaces_.erase(at) : std::next(at);
  }
}

void StoredResponses::Forget(Space* space, std::string id, Gone why) const {
  const auto entry = space->by_id.find(id);
  space->stored.erase(entry->second);
  space->by_id.erase(entry);
  Release(space, id);
  NoteGone(space, id, why);
}

void StoredResponses::NoteGone(Space* space, const std::string& id, Gone why) const {
  space->departures.push_back({id, clock_->NowMs()});
  space->gone[id] = why;
  if (space->departures.size() <= kDeparturesMax) return;
  space->gone.erase(space->departures.front().id);
  space->departures.pop_front();
}

// A loop instead of a recursion, because a conversation may have very many turns.
void StoredResponses::Release(Space* space, std::string id) {
  while (!id.empty()) {
    const auto turn = space->turns.find(id);
    if (--turn->second.users > 0) return;
    space->bytes -= turn->second.bytes;
    id = std::move(turn->second.previous);
    space->turns.erase(turn);
  }
}

ApiError StoredResponses::MissingError(const Space* space, const std::string& id) const {
  const std::string shown = id.size() > kShownIdBytes ? id.substr(0, kShownIdBytes) + "…" : id;
  const std::string bound = "--responses-store keeps " +
                            std::to_string(options_.key_bytes_max >> 20U) +
                            " MiB of each key's responses";
  std::string message = "the response '" + shown + "' ";
  const auto why = [&]() -> std::optional<Gone> {
    if (space == nullptr) return std::nullopt;
    const auto gone = space->gone.find(id);
    return gone == space->gone.end() ? std::nullopt : std::optional(gone->second);
  }();
  if (!why) {
    message +=
        "is not stored: its request may have set \"store\": false, or it expired, or the server "
        "was restarted";
  } else if (*why == Gone::kExpired) {
    message += "has expired: --responses-ttl keeps one for " +
               std::to_string(static_cast<int64_t>(options_.ttl_ms / 1000)) + " seconds";
  } else if (*why == Gone::kEvicted) {
    message += "was evicted by newer ones: " + bound;
  } else if (*why == Gone::kDeleted) {
    message += "was deleted";
  } else {
    message += "was not stored: it is too large with its conversation, and " + bound;
  }
  return ToApiError({ErrorCode::kNotFound, message});
}

}  // namespace cairn
