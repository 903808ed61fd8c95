#include "fleet/remote/tier/remote_tier.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/process/threads.h"

namespace cairn {
namespace {

// More lookups than this are misses: the threads do not keep up.
constexpr size_t kLookupsMax = 256;
// How long the upload thread sleeps at most, and after a failure.
constexpr double kIdleWaitMs = 1000;
constexpr double kFailedWaitMs = 1000;
// How often a drain looks whether the stores still answer.
constexpr double kDrainLookMs = 20;

std::chrono::duration<double, std::milli> Ms(double ms) {
  return std::chrono::duration<double, std::milli>(std::max(ms, 0.0));
}

}  // namespace

RemoteTier::RemoteTier(RemoteTierOptions options)
    : options_(std::move(options)),
      index_breaker_("the remote index", options_.clock, options_.log),
      objects_breaker_("the remote store", options_.clock, options_.log),
      fetcher_(&options_, &index_breaker_, &objects_breaker_, &known_),
      uploader_(&options_, &index_breaker_, &objects_breaker_, &known_),
      queue_(options_.after_ms) {
  CHECK(options_.objects != nullptr && options_.index != nullptr && options_.adopt);
  if (options_.threads == 0) return;
  const bool uploads = options_.read_only || StartThread(&threads_, [this] { RunUploads(); });
  // Fewer of these are slower.
  bool looks = false;
  for (size_t i = 0; i < options_.threads && StartThread(&threads_, [this] { Run(); }); ++i) {
    looks = true;
  }
  if (uploads && looks) return;
  Stop();
  if (options_.log) {
    options_.log(LogLevel::kError,
                 "the remote tier does nothing: the system starts no more threads; raise the limit "
                 "of tasks (TasksMax, pids.max) and start again");
  }
}

RemoteTier::~RemoteTier() {
  Stop();
  options_.objects->Cancel();
  options_.index->Cancel();
  for (std::thread& thread : threads_) thread.join();
}

void RemoteTier::Stop() {
  const MutexLock lock(mutex_);
  stopped_ = true;
  work_.NotifyAll();
  uploads_.NotifyAll();
}

RemoteTier::Ticket RemoteTier::Begin(RemoteAsk ask) {
  if (ask.tokens.size() < std::max(kRemoteBlockTokens, ask.reach_tokens)) return 0;
  const size_t left_tokens = ask.tokens.size() - ask.reach_tokens;
  if (left_tokens == 0 || PrefillMs(ask, left_tokens) < options_.saved_ms_min) return 0;
  const bool probes = index_breaker_.open();
  const MutexLock lock(mutex_);
  if (stopped_ || lookups_.size() >= kLookupsMax) return 0;
  if (probes && !to_look_.empty()) return 0;
  const Ticket ticket = ++last_ticket_;
  Lookup& lookup = lookups_[ticket];
  lookup.ask = std::make_shared<const RemoteAsk>(std::move(ask));
  lookup.begin_ms = options_.clock->NowMs();
  lookup.wait_ms = options_.wait_ms;
  lookup.probes = probes;
  to_look_.push_back(ticket);
  work_.NotifyOne();
  return probes ? 0 : ticket;
}

RemoteTier::State RemoteTier::StateOf(Ticket ticket) {
  const MutexLock lock(mutex_);
  const auto found = lookups_.find(ticket);
  if (found == lookups_.end()) return State::kDone;
  Lookup& lookup = found->second;
  if (lookup.state == State::kDone) return State::kDone;
  const double waited_ms = options_.clock->NowMs() - lookup.begin_ms;
  if (waited_ms < lookup.wait_ms) return lookup.state;
  fetcher_.CountTooSlow();
  if (lookup.state == State::kFetching) fetcher_.NoteUnfinished(lookup.fetch_bytes, waited_ms);
  lookup.state = State::kDone;
  return State::kDone;
}

void RemoteTier::End(Ticket ticket) {
  const MutexLock lock(mutex_);
  lookups_.erase(ticket);
}

void RemoteTier::Written(const ObjectHeader& header) {
  if (options_.read_only || header.kind == ObjectKind::kMediaRows) return;
  UploadRecord record = uploader_.RecordOf(header);
  const ObjectName name = NameOf(header);
  uploader_.AddSegment(name, record);
  const MutexLock lock(mutex_);
  queue_.OnWritten(name, std::move(record));
  ++written_;
  uploads_.NotifyOne();
}

void RemoteTier::Used(const ObjectName& name) {
  if (options_.read_only) return;
  const auto known = known_.Find(name);
  const MutexLock lock(mutex_);
  queue_.OnUsed(name);
  if (!known || options_.clock->NowMs() - known->refreshed_ms < RefreshMs(options_)) return;
  UploadRecord record;
  record.kind = known->entry.kind;
  record.worth_ms = known->entry.worth_ms;
  record.bytes = known->entry.stored_bytes;
  queue_.AddDue(name, std::move(record));
  uploads_.NotifyOne();
}

void RemoteTier::Run() {
  if (options_.trace != nullptr) options_.trace->NameThread("remote");
  const MutexLock lock(mutex_);
  while (!stopped_) {
    work_.Wait(mutex_, [this]() REQUIRES(mutex_) {
      return stopped_ || !to_look_.empty() || !to_fetch_.empty();
    });
    const MutexUnlock unlocked(mutex_);
    static_cast<void>(TryWork([this] {
      if (!LookNext()) FetchNext();
    }));
  }
}

bool RemoteTier::LookNext() {
  std::shared_ptr<const RemoteAsk> ask;
  Ticket ticket = 0;
  {
    const MutexLock lock(mutex_);
    while (!to_look_.empty() && ask == nullptr) {
      ticket = to_look_.front();
      to_look_.pop_front();
      const auto found = lookups_.find(ticket);
      if (found != lookups_.end()) ask = found->second.ask;
    }
    if (ask == nullptr) return false;
  }
  RemotePlan plan;
  static_cast<void>(TryWork([&] { plan = fetcher_.Find(*ask); }));
  {
    const MutexLock lock(mutex_);
    const auto found = lookups_.find(ticket);
    // A request that went on without it prefills by now.
    if (found == lookups_.end() || found->second.state == State::kDone) return true;
    if (found->second.probes) {
      lookups_.erase(found);
      return true;
    }
    StartFetches(&found->second, std::move(plan));
  }
  if (options_.wake) options_.wake();
  return true;
}

void RemoteTier::StartFetches(Lookup* lookup, RemotePlan plan) {
  if (plan.items.empty()) {
    lookup->state = State::kDone;
    return;
  }
  lookup->state = State::kFetching;
  lookup->begin_ms = options_.clock->NowMs();
  lookup->wait_ms = FetchWaitMs(*lookup->ask, fetcher_.pace(), plan);
  lookup->fetch_bytes = plan.bytes;
  for (RemoteItem& item : plan.items) {
    const RemoteId id = item.entry.id;
    lookup->missing.push_back(id);
    if (fetches_.contains(id)) continue;
    fetches_.emplace(id, FetchJob{lookup->ask, std::move(item)});
    to_fetch_.push_back(id);
    work_.NotifyOne();
  }
}

bool RemoteTier::IsWanted(const RemoteId& id) const {
  return std::any_of(lookups_.begin(), lookups_.end(), [&](const auto& pair) {
    const Lookup& lookup = pair.second;
    return lookup.state == State::kFetching &&
           std::find(lookup.missing.begin(), lookup.missing.end(), id) != lookup.missing.end();
  });
}

bool RemoteTier::FetchNext() {
  RemoteId id;
  {
    const MutexLock lock(mutex_);
    while (id.empty()) {
      if (to_fetch_.empty()) return false;
      id = to_fetch_.front();
      to_fetch_.pop_front();
      if (IsWanted(id)) continue;
      fetches_.erase(id);
      id = {};
    }
  }
  bool good = false;
  static_cast<void>(TryWork([&] {
    const FetchJob job = JobOf(id);
    good = fetcher_.Fetch(*job.ask, job.item);
  }));
  {
    const MutexLock lock(mutex_);
    fetches_.erase(id);
    OnFetched(id, good);
  }
  if (options_.wake) options_.wake();
  return true;
}

RemoteTier::FetchJob RemoteTier::JobOf(const RemoteId& id) const {
  const MutexLock lock(mutex_);
  return fetches_.at(id);
}

void RemoteTier::OnFetched(const RemoteId& id, bool good) {
  for (auto& [ticket, lookup] : lookups_) {
    const auto missing = std::find(lookup.missing.begin(), lookup.missing.end(), id);
    if (lookup.state != State::kFetching || missing == lookup.missing.end()) continue;
    lookup.missing.erase(missing);
    // Each object is of use with all those before it only.
    if (!good || lookup.missing.empty()) lookup.state = State::kDone;
  }
}

std::optional<double> RemoteTier::UploadNext(bool all) {
  if (!uploader_.MayUpload()) return kFailedWaitMs;
  std::optional<UploadQueue::Upload> upload;
  {
    const MutexLock lock(mutex_);
    upload = queue_.TakeNext(options_.clock->NowMs(), uploader_.bytes_per_ms(), all);
    uploading_ = upload.has_value();
  }
  if (!upload) return std::nullopt;
  Result<uint64_t> sent = Fail(ErrorCode::kUnavailable, "memory is short");
  const Status tried = TryWork([&] { sent = uploader_.Upload(upload->name); });
  // A drain does not wait for uploads that fail again and again.
  if (!tried) static_cast<void>(TryWork([&] { objects_breaker_.Note(tried); }));
  const MutexLock lock(mutex_);
  uploading_ = false;
  if (!sent) {
    // The folder has evicted it, or the store may take it later.
    const ErrorCode why = sent.error().code;
    if (why == ErrorCode::kNotFound || why == ErrorCode::kCorrupt) return 0;
    queue_.AddDue(upload->name, std::move(upload->record));
    return kFailedWaitMs;
  }
  if (options_.write_bytes_per_s == 0) return 0;
  return static_cast<double>(*sent) * 1000 / static_cast<double>(options_.write_bytes_per_s);
}

void RemoteTier::RunUploads() {
  LowerThreadPriority();
  if (options_.trace != nullptr) options_.trace->NameThread("remote upload");
  const MutexLock lock(mutex_);
  while (!stopped_) {
    const bool draining = IsDraining();
    const uint64_t written = written_;
    double wait_ms = kFailedWaitMs;
    bool is_idle = false;
    {
      const MutexUnlock unlocked(mutex_);
      static_cast<void>(TryWork([&] {
        const std::optional<double> next_ms = UploadNext(draining);
        is_idle = !next_ms.has_value();
        wait_ms = next_ms.value_or(kIdleWaitMs);
      }));
    }
    if (draining && drain_waits_ && is_idle && written_ == written) {
      drained_ = true;
      uploads_.NotifyAll();
    }
    const bool failed = !is_idle && wait_ms == kFailedWaitMs;
    // A drain has no budget.
    if (IsDraining() && !is_idle && !failed) continue;
    if (is_idle) {
      const double until_ms = queue_.NextDueMs().value_or(1e18) - options_.clock->NowMs();
      wait_ms = std::clamp(until_ms, 1.0, kIdleWaitMs);
    }
    uploads_.WaitFor(mutex_, Ms(wait_ms), [&]() REQUIRES(mutex_) {
      const bool more = !failed && IsDraining() && written_ != written;
      return stopped_ || more || IsDraining() != draining;
    });
  }
}

void RemoteTier::SetDraining(bool draining) {
  const MutexLock lock(mutex_);
  draining_ = draining;
  uploads_.NotifyAll();
}

bool RemoteTier::Drain(double ms_max) {
  if (options_.read_only) return true;
  if (options_.threads == 0) {
    while (const auto wait_ms = UploadNext(true)) {
      if (*wait_ms == kFailedWaitMs) return false;
    }
    return true;
  }
  const MutexLock lock(mutex_);
  drain_waits_ = true;
  drained_ = false;
  uploads_.NotifyAll();
  const auto end = std::chrono::steady_clock::now() + Ms(ms_max);
  while (!drained_ && !stopped_ && std::chrono::steady_clock::now() < end) {
    // A store that does not answer is not waited for.
    if (index_breaker_.open() || objects_breaker_.open() || objects_breaker_.refusing()) break;
    uploads_.WaitFor(mutex_, Ms(kDrainLookMs));
  }
  drain_waits_ = false;
  return drained_;
}

RemoteStats RemoteTier::stats() const {
  RemoteStats stats;
  fetcher_.AddTo(&stats);
  uploader_.AddTo(&stats);
  stats.failures = index_breaker_.failures() + objects_breaker_.failures();
  stats.open = index_breaker_.open() || objects_breaker_.open();
  stats.refusing = index_breaker_.refusing() || objects_breaker_.refusing();
  const MutexLock lock(mutex_);
  stats.to_upload = queue_.waiting() + (uploading_ ? 1 : 0);
  return stats;
}

bool RemoteTier::Work() {
  CHECK(options_.threads == 0);
  if (LookNext() || FetchNext()) return true;
  if (options_.read_only) return false;
  bool draining = false;
  {
    const MutexLock lock(mutex_);
    draining = IsDraining();
  }
  return UploadNext(draining) == 0.0;
}

}  // namespace cairn
