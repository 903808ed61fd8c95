#include "trace/replay/sized_disk.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "store/disk/disk_index.h"
#include "store/disk/disk_store.h"

namespace cairn {
SizedDisk::SizedDisk(const SizedDiskOptions& options, ManualClock* clock)
    : options_(options), clock_(clock), model_(ToText(Fingerprint())) {}

int64_t SizedDisk::now_ns() const {
  return static_cast<int64_t>(clock_->NowMs() * kNsPerMs);
}

bool SizedDisk::Write(ObjectHeader header, size_t payload_bytes, std::vector<ObjectName>* gone) {
  header.raw_bytes = header.stored_bytes = payload_bytes;
  const ObjectName name = NameOf(header);
  const FileStat file{EncodeHeader(header).size() + payload_bytes, now_ns()};
  const DiskEntry& entry = index_.Put(DiskIndex::EntryOf(header, name, file));
  if (index_.bytes() > options_.bytes_max) {
    const auto freed = index_.ToFree(index_.bytes() - options_.bytes_max, &entry, now_ns(),
                                     DiskStoreOptions().half_life_s);
    if (!freed) {
      index_.Erase(model_, name);
      return false;
    }
    for (const DiskEntry& victim : *freed) {
      gone->push_back(victim.name);
      index_.Erase(model_, victim.name);
      ++moved_.evicted;
    }
  }
  moved_.written_bytes += file.bytes;
  written_ms_ = WrittenMs(file.bytes);
  return true;
}

double SizedDisk::WrittenMs(uint64_t bytes) const {
  return std::max(written_ms_, clock_->NowMs()) +
         static_cast<double>(bytes) / options_.write_bytes_per_s * kMsPerS;
}

bool SizedDisk::MayWrite(uint64_t bytes) const {
  const double queue_ms =
      static_cast<double>(options_.queue_bytes_max) / options_.write_bytes_per_s * kMsPerS;
  const bool empty = written_ms_ <= clock_->NowMs();
  return empty || WrittenMs(bytes) - clock_->NowMs() <= queue_ms;
}

void SizedDisk::Read(const ObjectName& name) {
  const DiskEntry* const entry = index_.Find(model_, name);
  CHECK(entry != nullptr);
  moved_.read_bytes += entry->bytes;
  clock_->Advance(static_cast<double>(entry->bytes) / options_.read_bytes_per_s * kMsPerS);
}

void SizedDisk::Touch(const ObjectName& name) {
  const DiskEntry* const entry = index_.Find(model_, name);
  CHECK(entry != nullptr);
  index_.SetTime(model_, name,
                 TimeAfterUses(entry->time_ns, now_ns(), 1, DiskStoreOptions().half_life_s));
}

}  // namespace cairn
