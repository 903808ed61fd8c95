// Writing objects into the folder: DiskFolder::Write and its parts.

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "store/disk/disk_files.h"
#include "store/disk/disk_folder.h"

namespace cairn {
namespace {

// After this many consecutive failed writes the folder is left alone until the next scan.
constexpr int kFailuresMax = 2;
constexpr int kLockTriesMax = 10;
constexpr double kLockWaitS = 0.05;
// Between two appends of this size the store checks whether it was told to stop.
constexpr size_t kAppendBytes = size_t{8} << 20;

ByteSpan PayloadOf(const DiskFolder::WriteJob& job) {
  if (job.payload.codec == Codec::kRaw) return *job.task.bytes;
  return job.payload.bytes;
}

std::string_view KindName(ObjectKind kind) {
  if (kind == ObjectKind::kSnapshot) return "snapshot";
  return kind == ObjectKind::kSegment ? "segment" : "whole";
}

uint64_t FileBytes(const DiskFolder::WriteJob& job) {
  return job.front.size() + PayloadOf(job).size();
}

}  // namespace

bool DiskFolder::refusing() const {
  return !seen_all_ || failures_ >= kFailuresMax;
}

std::optional<double> DiskFolder::Write(WriteJob* job) {
  const Result<bool> there = IsThere(*job);
  if (!there && there.error().code == ErrorCode::kUnsupported) {
    news_.refused.push_back(job->task.name);
    return std::nullopt;
  }
  if (!there) {
    Failed(*job, there.error());
    return std::nullopt;
  }
  if (*there) {
    untold_names_.erase(job->task.name);
    news_.written.push_back(job->task.name);
    return std::nullopt;
  }
  if (refusing()) {
    news_.failed.push_back(job->task.name);
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

Result<bool> DiskFolder::IsThere(const WriteJob& job) {
  const ObjectName& name = job.task.name;
  const DiskEntry* const known = index_.Find(own_model_, name);
  if (known != nullptr && known->good) return SyncFound().transform([] { return true; });
  const std::string path = PathOf(own_model_, name);
  const Result<FileStat> stat = fs_->Stat(path);
  if (!stat && stat.error().code != ErrorCode::kNotFound) return tl::unexpected(stat.error());
  if (!stat) {
    Forget(own_model_, name);
    return false;
  }
  if (known == nullptr || known->newer || IsMended(*known)) {
    Result<Front> front = ReadFront(*fs_, PathOf(own_model_), name, stat->bytes);
    if (front) return Adopt(name, std::move(front->header), *stat);
    if (front.error().code == ErrorCode::kUnsupported) LeaveToNewer(name);
    if (front.error().code != ErrorCode::kCorrupt) return tl::unexpected(front.error());
    trouble_->Note(front.error());
  }
  const Status removed = fs_->Remove(path);
  if (!removed && removed.error().code != ErrorCode::kNotFound) {
    return tl::unexpected(removed.error());
  }
  Forget(own_model_, name);
  return false;
}

Result<bool> DiskFolder::Adopt(const ObjectName& name, ObjectHeader header, const FileStat& stat) {
  index_.Put(DiskIndex::EntryOf(header, name, stat));
  found_unsynced_ = true;
  const Status synced = SyncFound();
  if (synced) return true;
  // The object is there, but may not survive a power loss; report it as found, like those of other
  // processes.
  untold_names_.erase(name);
  news_.found.push_back(std::move(header));
  return tl::unexpected(synced.error());
}

Status DiskFolder::SyncFound() {
  if (!found_unsynced_) return {};
  if (Status synced = fs_->SyncFolder(PathOf(own_model_)); !synced) return synced;
  found_unsynced_ = false;
  return {};
}

void DiskFolder::Encode(WriteJob* job) const {
  TraceSpan span(options_.trace, "encode");
  const Bytes& raw = *job->task.bytes;
  ObjectHeader& header = job->task.header;
  job->payload = cairn::Encode(options_.codec, raw);
  const ByteSpan stored = PayloadOf(*job);
  header.codec = job->payload.codec;
  header.raw_bytes = raw.size();
  header.stored_bytes = stored.size();
  header.payload_checksum = PayloadChecksum(stored);
  job->front = EncodeHeader(header);
  span.Add("bytes", raw.size()).Add("stored_bytes", stored.size());
}

Status DiskFolder::MakeModelFolder() {
  if (folder_made_) return {};
  if (Status made = fs_->MakeFolders(PathOf(own_model_)); !made) return made;
  folder_made_ = true;
  return {};
}

std::optional<double> DiskFolder::WriteWithRoom(WriteJob* job) {
  const ObjectName& name = job->task.name;
  const uint64_t file_bytes = FileBytes(*job);
  const FileStat stat{file_bytes, options_.now_ns()};
  // The entry is indexed before the file is written, so that the objects it needs are not evicted.
  const DiskEntry& entry = index_.Put(DiskIndex::EntryOf(job->task.header, name, stat));
  switch (MakeRoom(&entry)) {
    case Room::kMade:
      break;
    case Room::kNone:
      index_.Erase(own_model_, name);
      news_.refused.push_back(name);
      return std::nullopt;
    case Room::kDeviceFull:
      index_.Erase(own_model_, name);
      FailedFull(*job);
      return std::nullopt;
    case Room::kLocked:
      index_.Erase(own_model_, name);
      if (++job->lock_tries < kLockTriesMax) return kLockWaitS;
      Failed(*job, Error{ErrorCode::kUnavailable, "\"" + options_.folder +
                                                      "/lock\": another process holds it, or it "
                                                      "cannot be made"});
      return std::nullopt;
    case Room::kFailed:
      index_.Erase(own_model_, name);
      Missed(*job);
      return std::nullopt;
  }
  TraceSpan span(options_.trace, "disk write");
  const Status written = WriteFile(*job);
  span.Add("kind", KindName(job->task.header.kind)).Add("bytes", file_bytes);
  if (!written) span.Add("failed", uint64_t{1});
  span.End();
  if (!written) {
    index_.Erase(own_model_, name);
    Failed(*job, written.error());
    return std::nullopt;
  }
  failures_ = 0;
  trouble_->NoteWritten();
  written_ns_ = options_.now_ns();
  written_bytes_ = file_bytes;
  ++counts_.written;
  counts_.written_bytes += file_bytes;
  untold_names_.erase(name);
  news_.written.push_back(name);
  return std::nullopt;
}

Status DiskFolder::WriteFile(const WriteJob& job) {
  const std::string temp = PathOf(own_model_) + "/" + temp_prefix_ + std::to_string(++temps_made_);
  const std::string path = PathOf(own_model_, job.task.name);
  Status status = WriteTemp(temp, job);
  if (status) status = fs_->Rename(temp, path);
  if (!status) {
    DropFile(temp, FileBytes(job));
    return status;
  }
  found_unsynced_ = true;
  status = SyncFound();
  // An unsynced file may be gone after a power loss, so it must not be relied on.
  if (!status) DropFile(path, FileBytes(job));
  return status;
}

Status DiskFolder::WriteTemp(const std::string& path, const WriteJob& job) {
  Result<std::unique_ptr<FileWriter>> writer = fs_->Create(path);
  if (!writer) return tl::unexpected(writer.error());
  Status status = AppendAll(writer->get(), job.front);
  if (status) status = AppendAll(writer->get(), PayloadOf(job));
  if (status) {
    // By the store's clock, not the file server's. If this fails, the rank is slightly off.
    const Status set = fs_->SetTime(path, options_.now_ns());
    if (!set) trouble_->Note(set.error());
    status = (*writer)->Sync();
  }
  const Status closed = (*writer)->Close();
  return status ? closed : status;
}

Status DiskFolder::AppendAll(FileWriter* writer, ByteSpan bytes) const {
  while (!bytes.empty()) {
    if (stopped_()) return Fail(ErrorCode::kCancelled, "the disk store stops");
    const ByteSpan next = bytes.first(std::min(bytes.size(), kAppendBytes));
    if (Status appended = writer->Append(next); !appended) return appended;
    bytes = bytes.subspan(next.size());
  }
  return {};
}

void DiskFolder::DropFile(const std::string& path, uint64_t bytes) {
  const Status removed = fs_->Remove(path);
  if (removed || removed.error().code == ErrorCode::kNotFound) return;
  trouble_->Note(removed.error());
  stray_bytes_ += bytes;
}

void DiskFolder::Failed(const WriteJob& job, const Error& error) {
  if (error.code != ErrorCode::kCancelled) {
    // A file missing for a read is a miss; a folder missing for a write is a failure.
    const bool vanished = error.code == ErrorCode::kNotFound;
    trouble_->Note(Error{vanished ? ErrorCode::kUnavailable : error.code, error.message});
  }
  Missed(job);
}

void DiskFolder::GiveUpWrite(const WriteJob& job) {
  index_.Erase(own_model_, job.task.name);
  Missed(job);
}

void DiskFolder::FailedFull(const WriteJob& job) {
  const Result<uint64_t> free = fs_->FreeBytes(PathOf(own_model_));
  const uint64_t free_mib = free ? *free >> 20 : 0;
  Failed(job, Error{ErrorCode::kNoSpace, "\"" + options_.folder + "\": the device has " +
                                             std::to_string(free_mib) + " MiB left, of which " +
                                             std::to_string(options_.reserve_bytes >> 20) +
                                             " are left to others"});
}

void DiskFolder::Missed(const WriteJob& job) {
  ++failures_;
  // The folder may have vanished.
  folder_made_ = false;
  news_.failed.push_back(job.task.name);
}

double DiskFolder::SecondsToNextWrite() const {
  if (options_.write_bytes_per_s == 0 || !written_ns_) return 0;
  const double owed_s =
      static_cast<double>(written_bytes_) / static_cast<double>(options_.write_bytes_per_s);
  const double since_s = static_cast<double>(options_.now_ns() - *written_ns_) / kNsPerSecond;
  // A clock that was set back must not delay writes for that long.
  return since_s < 0 ? 0 : std::max(0.0, owed_s - since_s);
}

}  // namespace cairn
