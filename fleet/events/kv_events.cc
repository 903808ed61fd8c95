#include "fleet/events/kv_events.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "base/process/threads.h"

namespace cairn {
namespace {

// About 1.3 MB of token ids.
constexpr size_t kBatchBlocksMax = 4096;
// Batches that each replay is sent before live ones get their turn.
constexpr size_t kReplayAtOnce = 256;
// More consumers are not answered until others have got theirs.
constexpr size_t kReplaysMax = 64;
// How long a consumer that reads slowly is left alone.
constexpr double kReplayPauseMs = 5;

double NowUnixSeconds() {
  using Seconds = std::chrono::duration<double>;
  return Seconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

Result<std::unique_ptr<KvEvents>> KvEvents::Start(const KvEventsOptions& options) {
  auto sockets = EventSockets::Bind(options.events, options.replay);
  if (!sockets) return tl::unexpected(sockets.error());
  return std::unique_ptr<KvEvents>(new KvEvents(options, *std::move(sockets)));
}

KvEvents::KvEvents(const KvEventsOptions& options, std::unique_ptr<EventSockets> sockets)
    : options_(options),
      sockets_(std::move(sockets)),
      events_endpoint_(sockets_->events_endpoint()),
      replay_endpoint_(sockets_->replay_endpoint()),
      tree_(options.ids),
      parts_(&tree_),
      thread_([this] { Run(); }) {}

KvEvents::~KvEvents() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  sockets_->Wake();
  thread_.join();
}

void KvEvents::OnChanges(std::vector<PrefixChange> changes) {
  if (changes.empty()) return;
  {
    const MutexLock lock(mutex_);
    if (ended_) return;
    std::move(changes.begin(), changes.end(), std::back_inserter(changes_));
  }
  sockets_->Wake();
}

KvEventsStats KvEvents::stats() const {
  const MutexLock lock(mutex_);
  return stats_;
}

void KvEvents::Run() {
  LowerThreadPriority();
  const Status published = TryWork([this] { PublishAll(); });
  // The prefixes are known incompletely then, so no more of them is told.
  if (!published) End(published.error().message);
  static_cast<void>(TryWork([this] { PublishBatch({{KvEvent::Kind::kCleared}}); }));
}

void KvEvents::End(const std::string& why) {
  {
    const MutexLock lock(mutex_);
    ended_ = true;
    changes_.clear();
  }
  if (!options_.log) return;
  static_cast<void>(TryWork([&] {
    options_.log(LogLevel::kError, "no more KV events are published until the next start: " + why);
  }));
}

void KvEvents::PublishAll() {
  BeginLog();
  while (TakeChanges()) {
    TakeRequests();
    const bool replaying = GoOnWithReplays();
    double wait_ms = published_ms_ + options_.quiet_ms - clock_.NowMs();
    if (tree_.has_events()) wait_ms = published_ms_ + options_.batch_ms - clock_.NowMs();
    if (wait_ms <= 0) {
      PublishChanges();
    } else {
      sockets_->Wait(replaying ? std::min(wait_ms, kReplayPauseMs) : wait_ms);
    }
  }
}

bool KvEvents::TakeChanges() {
  std::vector<PrefixChange> changes;
  {
    const MutexLock lock(mutex_);
    if (stopping_) return false;
    changes.swap(changes_);
  }
  for (const PrefixChange& change : changes) parts_.Apply(change);
  return true;
}

void KvEvents::TakeRequests() {
  while (replays_.size() < kReplaysMax) {
    std::optional<EventSockets::Request> request = sockets_->NextRequest();
    if (!request) return;
    replays_.push_back({std::move(request->identity), log_, request->first});
    const MutexLock lock(mutex_);
    ++stats_.replays;
  }
}

bool KvEvents::GoOnWithReplays() {
  std::erase_if(replays_, [this](Replay& replay) { return !GoOnWith(&replay); });
  return !replays_.empty();
}

// Returns false at the end.
bool KvEvents::GoOnWith(Replay* replay) {
  for (size_t i = 0; i < kReplayAtOnce; ++i) {
    const bool ends = replay->next >= replay->log->size();
    const EventSockets::Sent sent =
        ends ? sockets_->EndReplay(replay->identity)
             : sockets_->Replay(replay->identity, options_.topic, replay->next,
                                replay->log->payload(replay->next));
    if (sent == EventSockets::Sent::kLater) return true;
    if (ends || sent == EventSockets::Sent::kGone) return false;
    ++replay->next;
  }
  return true;
}

void KvEvents::PublishChanges() {
  if (IsLogFull()) {
    tree_.PublishAnew();
    BeginLog();
    while (tree_.has_events()) PublishBatch(tree_.NextEvents(kBatchBlocksMax));
    log_begin_bytes_ = log_->bytes();
    const MutexLock lock(mutex_);
    ++stats_.resets;
  } else if (tree_.has_events()) {
    const std::vector<KvEvent> events = tree_.NextEvents(kBatchBlocksMax);
    if (!events.empty()) PublishBatch(events);
  } else {
    PublishBatch({});  // see quiet_ms
  }
}

bool KvEvents::IsLogFull() const {
  return log_->size() >= options_.log_batches_max ||
         log_->bytes() >= std::max(options_.log_bytes_max, 2 * log_begin_bytes_);
}

void KvEvents::BeginLog() {
  log_ = std::make_shared<EventLog>();
  log_begin_bytes_ = 0;
  PublishBatch({{KvEvent::Kind::kCleared}});
}

void KvEvents::PublishBatch(const std::vector<KvEvent>& events) {
  const uint64_t number = log_->Add(PackEvents(NowUnixSeconds(), events));
  sockets_->Publish(options_.topic, number, log_->payload(number));
  published_ms_ = clock_.NowMs();
  const MutexLock lock(mutex_);
  ++stats_.batches;
  for (const KvEvent& event : events) {
    if (event.kind == KvEvent::Kind::kStored) stats_.stored_blocks += event.blocks.size();
    if (event.kind == KvEvent::Kind::kRemoved) stats_.removed_blocks += event.blocks.size();
  }
  stats_.blocks = tree_.published();
}

}  // namespace cairn
