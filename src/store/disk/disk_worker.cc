#include "store/disk/disk_worker.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <new>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "store/disk/disk_files.h"
#include "store/disk/disk_index.h"

namespace cairn {
namespace {

constexpr double kNoMemoryWaitS = 1;
constexpr double kScanTimesApart = 100;

template <typename T>
void MoveTo(std::vector<T>* to, std::vector<T>* from) {
  to->insert(to->end(), std::make_move_iterator(from->begin()),
             std::make_move_iterator(from->end()));
}

// An object that came back after it went must not be reported as gone.
void TakeBack(std::vector<ObjectName>* gone, const DiskStore::Events& later) {
  const auto erase = [gone](const ObjectName& name) {
    gone->erase(std::remove(gone->begin(), gone->end(), name), gone->end());
  };
  if (gone->empty()) return;
  for (const ObjectHeader& header : later.found) erase(NameOf(header));
  for (const DiskStore::Written& one : later.written) erase(one.name);
}

bool IsEmpty(const DiskStore::Events& events) {
  return events.found.empty() && events.written.empty() && events.failed.empty() &&
         events.refused.empty() && events.gone.empty() && events.vanished.empty();
}

}  // namespace

DiskFolder::DiskFolder(Fs* fs, const DiskStoreOptions& options, DiskTrouble* trouble,
                       std::function<bool()> stopped)
    : listing_(fs, options, trouble, std::move(stopped)),
      scanner_(&listing_),
      evictor_(&listing_),
      writer_(&listing_, &evictor_) {
  CHECK(options.half_life_s > 0);
}

bool DiskFolder::Scan() {
  const std::optional<bool> has_own_folder = scanner_.Scan();
  writer_.OnScanned(has_own_folder.value_or(true));
  listing_.LookAtDevice();
  if (!has_own_folder || bytes() <= bytes_max()) return true;
  return evictor_.MakeRoom(nullptr) != DiskEvictor::Room::kLocked;
}

void DiskFolder::Remove(const ObjectName& name) {
  if (IsNewer(listing_.fs(), listing_.PathOf(listing_.own_model(), name)))
    return listing_.LeaveToNewer(name);
  const Status removed = listing_.fs().Remove(listing_.PathOf(listing_.own_model(), name));
  if (removed || removed.error().code == ErrorCode::kNotFound) {
    listing_.Forget(listing_.own_model(), name);
  } else {
    listing_.trouble().Note(removed.error());
  }
}

void DiskFolder::Lost(const ObjectName& name) {
  const Result<WholeObject> object =
      ReadWholeObject(listing_.fs(), listing_.PathOf(listing_.own_model()), name);
  if (object) {
    listing_.Forget(listing_.own_model(), name);
    listing_.AddFound(listing_.own_model(), name);
    return;
  }
  const ErrorCode why = object.error().code;
  const bool other = why != ErrorCode::kNotFound && why != ErrorCode::kUnsupported;
  if (other && why != ErrorCode::kCorrupt) return listing_.trouble().Note(object.error());
  Remove(name);
}

void DiskFolder::Adopt(const ObjectName& name) {
  const DiskEntry* const known = listing_.index().Find(listing_.own_model(), name);
  if (known == nullptr || listing_.IsMended(*known)) listing_.AddFoundNow(name);
  if (bytes() > bytes_max()) evictor_.MakeRoom(nullptr);
}

void DiskFolder::Touch(const DiskQueue::Touches& touches) {
  for (const auto& [name, uses] : touches) {
    if (listing_.stopped()) return;
    if (listing_.index().Find(listing_.own_model(), name) == nullptr) continue;
    if (listing_.options().on_used) listing_.options().on_used(name);
    const std::string path = listing_.PathOf(listing_.own_model(), name);
    // Another process may have used it since the last scan.
    const Result<FileStat> stat = listing_.fs().Stat(path);
    if (!stat) {
      listing_.trouble().Note(stat.error());
      if (stat.error().code == ErrorCode::kNotFound) listing_.Forget(listing_.own_model(), name);
      continue;
    }
    const int64_t time_ns = TimeAfterUses(stat->time_ns, listing_.options().now_ns(), uses,
                                          listing_.options().half_life_s);
    const Status set = listing_.fs().SetTime(path, time_ns);
    if (!set) listing_.trouble().Note(set.error());
    listing_.index().SetTime(listing_.own_model(), name, set ? time_ns : stat->time_ns);
  }
}

DiskStore::Events DiskFolder::TakeEvents() {
  return std::exchange(listing_.events(), {});
}

DiskFolder::Counts DiskFolder::counts() const {
  return {writer_.written(), writer_.written_bytes(), evictor_.evicted()};
}

DiskWorker::DiskWorker(Fs* fs, DiskStoreOptions options)
    : fs_(fs),
      options_(std::move(options)),
      own_path_(options_.folder + "/" + ToText(options_.fingerprint)),
      trouble_(options_.now_ns, options_.log),
      queue_(options_.queue_bytes_max),
      folder_(fs, options_, &trouble_, [this] { return queue_.stopped(); }),
      limit_(options_.day_bytes_max) {
  CHECK(options_.scan_interval_s > 0 && options_.found_bytes_max > 0);
  stats_.bytes_max = folder_.bytes_max();
  if (options_.trouble) trouble_.Note(*options_.trouble);
}

DiskStore::Events DiskWorker::TakeEvents() {
  DiskStore::Events events;
  {
    const MutexLock guard(mutex_);
    events = std::exchange(events_, {});
  }
  if (!events.found.empty()) queue_.Wake();
  return events;
}

bool DiskWorker::Write(ObjectHeader header, std::shared_ptr<const Bytes> bytes) {
  CHECK(header.fingerprint == options_.fingerprint);
  if (refusing_ || IsAtLimit()) return false;
  DiskTask task;
  task.name = NameOf(header);
  task.header = std::move(header);
  task.bytes = std::move(bytes);
  return queue_.PushWrite(std::move(task));
}

Result<Bytes> DiskWorker::Read(const ObjectName& name) {
  TraceSpan span(options_.trace, "disk read");
  Result<WholeObject> object;
  try {
    object = ReadWholeObject(*fs_, own_path_, name);
  } catch (const std::bad_alloc&) {
    // This is not a failure of the disk.
    return Fail(ErrorCode::kUnavailable, "there is no memory for what is in the file");
  }
  span.Add("bytes", object ? object->file_bytes : 0).End();
  if (object) {
    const MutexLock guard(mutex_);
    ++stats_.read;
    stats_.read_bytes += object->file_bytes;
    return std::move(object->bytes);
  }
  if (object.error().code == ErrorCode::kUnsupported) {
    // A newer version's file has replaced ours. The removal tells the I/O thread, which leaves the
    // file alone.
    queue_.PushRemove(name);
    return tl::unexpected(std::move(object).error());
  }
  trouble_.Note(object.error());
  if (object.error().code == ErrorCode::kCorrupt) {
    // Removed here, so that no reader finds it again, and reported to the I/O thread, so that its
    // index is updated.
    (void)fs_->Remove(own_path_ + "/" + ObjectFileName(name));
    queue_.PushLost(name);
  }
  return tl::unexpected(std::move(object).error());
}

// Another process may have filled the folder while this one wrote, so the last write is followed by
// a scan: whichever process drains last leaves the folder within its budget.
bool DiskWorker::Drain(double ms_max) {
  const auto began = std::chrono::steady_clock::now();
  if (!queue_.WaitUntilDone(ms_max)) return false;
  const uint64_t written = stats().written;
  if (written == written_at_drain_) return true;
  queue_.PushScan();
  const std::chrono::duration<double, std::milli> past = std::chrono::steady_clock::now() - began;
  if (!queue_.WaitUntilDone(ms_max - past.count())) return false;
  written_at_drain_ = written;
  return true;
}

double DiskWorker::Step() {
  if (SecondsToScan() <= 0) {
    Scan();
    Publish();
    return 0;
  }
  DoAdoptions();
  if (TellsMore()) {
    folder_.TellFound();
    Publish();
    return 0;
  }
  const DiskQueue::Touches touches = queue_.TakeTouches();
  if (!touches.empty()) {
    folder_.Touch(touches);
    Publish();
    queue_.TouchesDone();
  }
  if (!job_) {
    std::optional<DiskTask> task = queue_.Take();
    if (!task) return SecondsToScan();
    job_.emplace();
    job_->task = *std::move(task);
  }
  if (const std::optional<double> wait_s = DoJob()) {
    Publish();
    return std::min(*wait_s, SecondsToScan());
  }
  EndJob();
  return 0;
}

void DiskWorker::DoAdoptions() {
  const std::vector<ObjectName> names = queue_.TakeAdoptions();
  if (names.empty()) return;
  for (const ObjectName& name : names) folder_.Adopt(name);
  Publish();
  queue_.AdoptionsDone(names);
}

bool DiskWorker::Scan() {
  scanned_ns_ = options_.now_ns();
  TraceSpan span(options_.trace, "scan");
  const bool had_lock = folder_.Scan();
  if (TellsMore()) folder_.TellFound();
  const double took_s = SecondsSinceScan();
  scan_wait_s_ = std::clamp(kScanTimesApart * took_s, options_.scan_interval_s,
                            std::max(options_.scan_interval_s, options_.scan_interval_s_max));
  span.Add("objects", folder_.objects()).Add("bytes", folder_.bytes()).End();
  return had_lock;
}

std::optional<double> DiskWorker::DoJob() {
  const DiskTask& task = job_->task;
  if (task.is_write()) return folder_.Write(&*job_);
  if (task.scan) {
    // The process that evicts now may not know of our last write, so it does not do for us.
    const bool had_lock = Scan();
    if (!had_lock && ++job_->lock_tries < DiskEvictor::kLockTriesMax) {
      return DiskEvictor::kLockWaitS;
    }
  } else if (task.lost) {
    folder_.Lost(task.name);
  } else {
    folder_.Remove(task.name);
  }
  return std::nullopt;
}

void DiskWorker::Run() {
  if (options_.trace != nullptr) options_.trace->NameThread("disk");
  while (!queue_.stopped()) {
    const double wait_s = TryStep();
    if (wait_s > 0) queue_.WaitForWork(wait_s);
  }
}

double DiskWorker::TryStep() {
  try {
    return Step();
  } catch (const std::exception&) {
    DropJob();
    return kNoMemoryWaitS;
  }
}

void DiskWorker::DropJob() {
  if (!job_) return;
  if (job_->task.is_write()) folder_.AbortWrite(*job_);
  EndJob();
}

// A caller whose Drain returns finds the events published.
void DiskWorker::EndJob() {
  queue_.Ends(job_->task);
  Publish();
  queue_.Done(job_->task);
  job_.reset();
}

DiskStore::Stats DiskWorker::stats() const {
  const DiskTrouble::Counts trouble = trouble_.counts();
  const MutexLock guard(mutex_);
  DiskStore::Stats stats = stats_;
  stats.corrupt = trouble.corrupt;
  stats.errors = trouble.errors;
  stats.unsynced_bytes = queue_.bytes();
  stats.refusing = refusing_;
  stats.day_bytes_max = options_.day_bytes_max;
  stats.day_bytes = limit_.LastDayBytes(options_.now_ns());
  stats.at_day_limit = limit_.IsReached(options_.now_ns(), stats.unsynced_bytes);
  return stats;
}

bool DiskWorker::IsAtLimit() const {
  if (options_.day_bytes_max == 0) return false;
  const uint64_t queued_bytes = queue_.bytes();
  const MutexLock guard(mutex_);
  return limit_.IsReached(options_.now_ns(), queued_bytes);
}

void DiskWorker::CountWritten() {
  const int64_t now_ns = options_.now_ns();
  const uint64_t written_bytes = folder_.counts().written_bytes;
  uint64_t day_bytes = 0;
  bool at_limit = false;
  {
    const MutexLock guard(mutex_);
    if (written_bytes == stats_.written_bytes) return;
    limit_.Add(now_ns, written_bytes - stats_.written_bytes);
    stats_.written_bytes = written_bytes;
    day_bytes = limit_.LastDayBytes(now_ns);
    at_limit = limit_.IsReached(now_ns, 0);
  }
  const std::string in_a_day = std::to_string(day_bytes >> 20) + " MiB in the last 24 hours";
  if (at_limit && !told_limit_ && options_.log) {
    options_.log(LogLevel::kWarning, "disk cache: wrote " + in_a_day +
                                         ", as much as --disk-write-gib-day allows; "
                                         "nothing more is saved until part of that is a day old");
  }
  told_limit_ = at_limit;
  const int64_t hour = now_ns / kNsPerHour;
  const int64_t before = std::exchange(told_hour_, hour);
  if (before == 0 || before == hour) return;
  if (options_.log) options_.log(LogLevel::kInfo, "the disk tier wrote " + in_a_day);
}

double DiskWorker::SecondsToScan() const {
  if (!scanned_ns_) return 0;
  const double since_s = SecondsSinceScan();
  // A clock that was set back must not delay the scan.
  return since_s < 0 ? 0 : std::max(0.0, scan_wait_s_ - since_s);
}

double DiskWorker::SecondsSinceScan() const {
  return static_cast<double>(options_.now_ns() - *scanned_ns_) / kNsPerSecond;
}

bool DiskWorker::TellsMore() const {
  if (!folder_.has_untold()) return false;
  const MutexLock guard(mutex_);
  return events_.found.empty();
}

void DiskWorker::Publish() {
  CountWritten();
  DiskStore::Events events = folder_.TakeEvents();
  const bool refuses = folder_.refusing();
  const bool takes_again = refusing_.exchange(refuses) && !refuses;
  const bool has_events = !IsEmpty(events) || takes_again;
  {
    const MutexLock guard(mutex_);
    TakeBack(&events_.gone, events);
    TakeBack(&events_.vanished, events);
    MoveTo(&events_.found, &events.found);
    MoveTo(&events_.written, &events.written);
    MoveTo(&events_.failed, &events.failed);
    MoveTo(&events_.refused, &events.refused);
    MoveTo(&events_.gone, &events.gone);
    MoveTo(&events_.vanished, &events.vanished);
    stats_.objects = folder_.objects();
    stats_.bytes = folder_.bytes();
    stats_.bytes_max = folder_.bytes_max();
    stats_.other_bytes = folder_.other_bytes();
    stats_.written = folder_.counts().written;
    stats_.evicted = folder_.counts().evicted;
  }
  if (has_events && options_.wake) options_.wake();
}

}  // namespace cairn
