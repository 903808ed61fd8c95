#include "store/disk/disk_writer.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/clock.h"
#include "store/disk/disk_files.h"

namespace cairn {
namespace {

// How often the eviction order is computed again because other processes changed the files.
constexpr int kPlansMax = 100;

// After this many consecutive failed writes the folder is left alone until the next scan.
constexpr int kFailuresMax = 2;
// Between two appends of this size the store checks whether it was told to stop.
constexpr size_t kAppendBytes = size_t{8} << 20;

ByteSpan PayloadOf(const DiskWriter::Job& job) {
  if (job.payload.codec == Codec::kRaw) return *job.task.bytes;
  return job.payload.bytes;
}

uint64_t FileBytes(const DiskWriter::Job& job) {
  return job.front.size() + PayloadOf(job).size();
}

}  // namespace

DiskEvictor::Room DiskEvictor::MakeRoom(const DiskEntry* incoming) {
  uint64_t reserve_lacks = 0;
  if (incoming != nullptr) {
    const Result<uint64_t> lacks = ReserveLacks(incoming->bytes);
    if (!lacks) {
      listing_->trouble().Note(lacks.error());
      return Room::kFailed;
    }
    reserve_lacks = *lacks;
  }
  std::unique_ptr<FileLock> lock;
  for (int plan = 0; plan < kPlansMax && !listing_->stopped(); ++plan) {
    const uint64_t bytes_max = listing_->budget().bytes_max();
    const uint64_t over = listing_->bytes() - std::min(listing_->bytes(), bytes_max);
    const uint64_t needed = std::max(over, reserve_lacks);
    if (needed == 0) return Room::kMade;
    const auto chosen = listing_->index().ToFree(needed, incoming, listing_->options().now_ns(),
                                                 listing_->options().half_life_s);
    if (!chosen) return over == 0 ? Room::kDeviceFull : Room::kNone;
    if (lock == nullptr) {
      Result<std::unique_ptr<FileLock>> held =
          listing_->fs().TryLock(listing_->options().folder + "/lock");
      if (!held) {
        if (held.error().code == ErrorCode::kUnavailable) return Room::kLocked;
        listing_->trouble().Note(held.error());
        return Room::kFailed;
      }
      lock = *std::move(held);
    }
    if (!AreAsKnown(*chosen)) continue;
    const uint64_t freed = Evict(*chosen);
    // Assume that the bytes are free now, as the device may report them late.
    reserve_lacks -= std::min(reserve_lacks, freed);
  }
  return Room::kFailed;
}

Result<uint64_t> DiskEvictor::ReserveLacks(uint64_t bytes) const {
  const auto space = listing_->fs().SpaceOf(listing_->PathOf(listing_->own_model()));
  if (!space) return tl::unexpected(space.error());
  const uint64_t free = space->free_bytes;
  const uint64_t left = free > bytes ? free - bytes : 0;
  const uint64_t lacks_bytes = free > bytes ? 0 : bytes - free;
  const uint64_t lacks_reserve =
      left < listing_->options().reserve_bytes ? listing_->options().reserve_bytes - left : 0;
  return lacks_bytes + lacks_reserve;
}

bool DiskEvictor::AreAsKnown(const std::vector<DiskEntry>& entries) {
  bool as_known = true;
  for (const DiskEntry& entry : entries) {
    const Result<FileStat> stat = listing_->fs().Stat(listing_->PathOf(entry.model, entry.name));
    if (stat && stat->time_ns == entry.time_ns && stat->bytes == entry.bytes) continue;
    as_known = false;
    if (stat && stat->bytes == entry.bytes) {
      listing_->index().SetTime(entry.model, entry.name, stat->time_ns);
    } else if (stat) {
      // Another file is in its place, which the next scan reads.
      listing_->Forget(entry.model, entry.name);
      listing_->stray_bytes() += stat->bytes;
    } else if (stat.error().code == ErrorCode::kNotFound) {
      listing_->Forget(entry.model, entry.name);
    } else {
      listing_->trouble().Note(stat.error());
      listing_->index().SetStuck(entry.model, entry.name);
    }
  }
  return as_known;
}

uint64_t DiskEvictor::Evict(const std::vector<DiskEntry>& entries) {
  TraceSpan span(listing_->options().trace, "evict");
  uint64_t freed = 0;
  for (const DiskEntry& entry : entries) {
    const Status removed = listing_->fs().Remove(listing_->PathOf(entry.model, entry.name));
    if (!removed && removed.error().code != ErrorCode::kNotFound) {
      listing_->trouble().Note(removed.error());
      listing_->index().SetStuck(entry.model, entry.name);
      // The next in order may be an object that this one needs, so stop here.
      break;
    }
    if (removed) ++evicted_;
    freed += entry.bytes;
    listing_->Forget(entry.model, entry.name);
  }
  span.Add("bytes", freed);
  return freed;
}

bool DiskWriter::refusing() const {
  return !listing_->seen_all() || failures_ >= kFailuresMax;
}

void DiskWriter::OnScanned(bool has_own_folder) {
  failures_ = 0;
  if (!has_own_folder) folder_made_ = false;
}

std::optional<double> DiskWriter::Write(Job* job) {
  const Result<bool> there = IsThere(*job);
  if (!there && there.error().code == ErrorCode::kUnsupported) {
    listing_->events().refused.push_back(job->task.name);
    return std::nullopt;
  }
  if (!there) {
    Failed(*job, there.error());
    return std::nullopt;
  }
  if (*there) {
    listing_->ReportWritten(job->task.name);
    return std::nullopt;
  }
  if (refusing()) {
    listing_->events().failed.push_back(job->task.name);
    return std::nullopt;
  }
  const double wait_s = SecondsToNextWrite();
  if (wait_s > 0) return wait_s;
  if (job->front.empty()) Encode(job);
  if (const Status made = MakeModelFolder(); !made) {
    Failed(*job, made.error());
    return std::nullopt;
  }
  return WriteWithRoom(job);
}

Result<bool> DiskWriter::IsThere(const Job& job) {
  const ObjectName& name = job.task.name;
  const DiskEntry* const known = listing_->index().Find(listing_->own_model(), name);
  if (known != nullptr && known->good) return listing_->Sync().transform([] { return true; });
  const std::string path = listing_->PathOf(listing_->own_model(), name);
  const Result<FileStat> stat = listing_->fs().Stat(path);
  if (!stat && stat.error().code != ErrorCode::kNotFound) return tl::unexpected(stat.error());
  if (!stat) {
    listing_->Forget(listing_->own_model(), name);
    return false;
  }
  if (known == nullptr || known->newer || listing_->IsMended(*known)) {
    Result<Front> front =
        ReadFront(listing_->fs(), listing_->PathOf(listing_->own_model()), name, stat->bytes);
    if (front) return Adopt(name, std::move(front->header), *stat);
    if (front.error().code == ErrorCode::kUnsupported) listing_->LeaveToNewer(name);
    if (front.error().code != ErrorCode::kCorrupt) return tl::unexpected(front.error());
    listing_->trouble().Note(front.error());
  }
  const Status removed = listing_->fs().Remove(path);
  if (!removed && removed.error().code != ErrorCode::kNotFound) {
    return tl::unexpected(removed.error());
  }
  listing_->Forget(listing_->own_model(), name);
  return false;
}

Result<bool> DiskWriter::Adopt(const ObjectName& name, ObjectHeader header, const FileStat& stat) {
  listing_->index().Put(DiskIndex::EntryOf(header, name, stat));
  listing_->MarkUnsynced();
  const Status synced = listing_->Sync();
  if (synced) return true;
  // The object is there, but may not survive a power loss; report it as found, like those of other
  // processes.
  listing_->ReportFound(name, std::move(header));
  return tl::unexpected(synced.error());
}

void DiskWriter::Encode(Job* job) const {
  TraceSpan span(listing_->options().trace, "encode");
  const Bytes& raw = *job->task.bytes;
  ObjectHeader& header = job->task.header;
  job->payload = cairn::Encode(listing_->options().codec, raw);
  const ByteSpan stored = PayloadOf(*job);
  header.codec = job->payload.codec;
  header.raw_bytes = raw.size();
  header.stored_bytes = stored.size();
  header.payload_checksum = PayloadChecksum(stored);
  job->front = EncodeHeader(header);
  span.Add("bytes", raw.size()).Add("stored_bytes", stored.size());
}

Status DiskWriter::MakeModelFolder() {
  if (folder_made_) return {};
  Status made = listing_->fs().MakeFolders(listing_->PathOf(listing_->own_model()));
  // A part of the path is a file. That is no miss, of which nothing is logged.
  if (!made && made.error().code == ErrorCode::kNotFound) {
    made.error().code = ErrorCode::kUnavailable;
  }
  if (!made) return made;
  folder_made_ = true;
  return {};
}

std::optional<double> DiskWriter::WriteWithRoom(Job* job) {
  const ObjectName& name = job->task.name;
  const uint64_t file_bytes = FileBytes(*job);
  const FileStat stat{file_bytes, listing_->options().now_ns()};
  // The entry is indexed before the file is written, so that the objects it needs are not evicted.
  const DiskEntry& entry = listing_->index().Put(DiskIndex::EntryOf(job->task.header, name, stat));
  switch (evictor_->MakeRoom(&entry)) {
    case DiskEvictor::Room::kMade:
      break;
    case DiskEvictor::Room::kNone:
      listing_->index().Erase(listing_->own_model(), name);
      listing_->events().refused.push_back(name);
      return std::nullopt;
    case DiskEvictor::Room::kDeviceFull:
      listing_->index().Erase(listing_->own_model(), name);
      FailedFull(*job);
      return std::nullopt;
    case DiskEvictor::Room::kLocked:
      listing_->index().Erase(listing_->own_model(), name);
      if (++job->lock_tries < DiskEvictor::kLockTriesMax) return DiskEvictor::kLockWaitS;
      Failed(*job, Error{ErrorCode::kUnavailable, "\"" + listing_->options().folder +
                                                      "/lock\": another process holds it, or it "
                                                      "cannot be made"});
      return std::nullopt;
    case DiskEvictor::Room::kFailed:
      listing_->index().Erase(listing_->own_model(), name);
      Missed(*job);
      return std::nullopt;
  }
  TraceSpan span(listing_->options().trace, "disk write");
  const Status written = WriteFile(*job);
  span.Add("kind", KindName(job->task.header.kind)).Add("bytes", file_bytes);
  if (!written) span.Add("failed", uint64_t{1});
  span.End();
  if (!written) {
    listing_->index().Erase(listing_->own_model(), name);
    Failed(*job, written.error());
    return std::nullopt;
  }
  failures_ = 0;
  listing_->trouble().NoteWritten();
  last_ns_ = listing_->options().now_ns();
  last_bytes_ = file_bytes;
  ++written_;
  written_bytes_ += file_bytes;
  if (listing_->options().on_written) listing_->options().on_written(job->task.header);
  listing_->ReportWritten(name);
  return std::nullopt;
}

Status DiskWriter::WriteFile(const Job& job) {
  const std::string temp = listing_->PathOf(listing_->own_model()) + "/" + listing_->temp_prefix() +
                           std::to_string(++temps_made_);
  const std::string path = listing_->PathOf(listing_->own_model(), job.task.name);
  Status status = WriteTemp(temp, job);
  if (status) status = listing_->fs().Rename(temp, path);
  if (!status) {
    listing_->DropFile(temp, FileBytes(job));
    return status;
  }
  listing_->MarkUnsynced();
  status = listing_->Sync();
  // An unsynced file may be gone after a power loss, so it must not be relied on.
  if (!status) listing_->DropFile(path, FileBytes(job));
  return status;
}

Status DiskWriter::WriteTemp(const std::string& path, const Job& job) {
  Result<std::unique_ptr<FileWriter>> writer = listing_->fs().Create(path);
  if (!writer) return tl::unexpected(writer.error());
  Status status = AppendAll(writer->get(), job.front);
  if (status) status = AppendAll(writer->get(), PayloadOf(job));
  if (status) status = (*writer)->Sync();
  if (status) {
    // By the store's clock, not the file server's. If this fails, the rank is slightly off.
    const Status set = listing_->fs().SetTime(path, listing_->options().now_ns());
    if (!set) listing_->trouble().Note(set.error());
  }
  const Status closed = (*writer)->Close();
  return status ? closed : status;
}

Status DiskWriter::AppendAll(FileWriter* writer, ByteSpan bytes) const {
  while (!bytes.empty()) {
    if (listing_->stopped()) return Fail(ErrorCode::kCancelled, "the disk store stops");
    const ByteSpan next = bytes.first(std::min(bytes.size(), kAppendBytes));
    if (Status appended = writer->Append(next); !appended) return appended;
    bytes = bytes.subspan(next.size());
  }
  return {};
}

void DiskWriter::Failed(const Job& job, const Error& error) {
  if (error.code != ErrorCode::kCancelled) {
    // A file missing for a read is a miss; a folder missing for a write is a failure.
    const bool vanished = error.code == ErrorCode::kNotFound;
    listing_->trouble().Note(Error{vanished ? ErrorCode::kUnavailable : error.code, error.message});
  }
  Missed(job);
}

void DiskWriter::Abort(const Job& job) {
  listing_->index().Erase(listing_->own_model(), job.task.name);
  Missed(job);
}

void DiskWriter::FailedFull(const Job& job) {
  const auto space = listing_->fs().SpaceOf(listing_->PathOf(listing_->own_model()));
  const uint64_t free_mib = space ? space->free_bytes >> 20 : 0;
  Failed(job,
         Error{ErrorCode::kNoSpace, "\"" + listing_->options().folder + "\": the device has " +
                                        std::to_string(free_mib) + " MiB left, of which " +
                                        std::to_string(listing_->options().reserve_bytes >> 20) +
                                        " are left to others"});
}

void DiskWriter::Missed(const Job& job) {
  ++failures_;
  // The folder may have vanished.
  folder_made_ = false;
  listing_->events().failed.push_back(job.task.name);
}

double DiskWriter::SecondsToNextWrite() const {
  if (listing_->options().write_bytes_per_s == 0 || !last_ns_) return 0;
  const double owed_s =
      static_cast<double>(last_bytes_) / static_cast<double>(listing_->options().write_bytes_per_s);
  const double since_s =
      static_cast<double>(listing_->options().now_ns() - *last_ns_) / kNsPerSecond;
  // A clock that was set back must not delay writes for that long.
  return since_s < 0 ? 0 : std::max(0.0, owed_s - since_s);
}

}  // namespace cairn
