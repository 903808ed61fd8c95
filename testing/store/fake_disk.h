// FakeDisk: a DiskStore in memory that outlives its users. Tests simulate restarts with it: a new
// cache that gets an old FakeDisk finds what was written.

#ifndef CAIRN_TESTING_STORE_FAKE_DISK_H_
#define CAIRN_TESTING_STORE_FAKE_DISK_H_

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "store/disk/disk_store.h"

namespace cairn::test {

class FakeDisk final : public DiskStore {
 public:
  // Reports all objects as found, as a new process sees them.
  void Restart() {
    events_ = {};
    waiting_.clear();
    to_read_.clear();
    for (const auto& [name, object] : objects_) {
      events_.found.push_back({object.header, object.used_ns});
    }
    std::stable_sort(events_.found.begin(), events_.found.end(),
                     [](const ListedObject& a, const ListedObject& b) {
                       return a.tokens.size() < b.tokens.size();
                     });
  }
  // Another process evicts the object.
  void Lose(const ObjectName& name) {
    if (objects_.erase(name) > 0) events_.gone.push_back(name);
  }
  // The same, before it is noticed.
  void LoseUnnoticed(const ObjectName& name) { objects_.erase(name); }
  std::vector<ObjectName> names() const {
    std::vector<ObjectName> names;
    for (const auto& [name, object] : objects_) names.push_back(name);
    return names;
  }
  const ObjectHeader& header(const ObjectName& name) const { return objects_.at(name).header; }
  // While writing is off, objects passed to Write stay queued.
  void SetWrites(bool writes) {
    writes_ = writes;
    if (writes) Drain(0);
  }
  void SetQueueMax(size_t objects) { queue_max_ = objects; }
  // The budget that it tells the cache; it takes more.
  void SetBytesMax(uint64_t bytes) { bytes_max_ = bytes; }
  // Like the real store, it accepts nothing more after two failures, until writes work again.
  void FailWrites(bool fails) {
    fails_ = fails;
    stats_.refusing = false;
    failures_ = 0;
  }
  // While reading is off, results of StartRead stay away.
  void SetReads(bool reads) {
    reads_on_ = reads;
    if (!reads) return;
    for (const ObjectName& name : std::exchange(to_read_, {})) StartRead(name);
  }
  void FailReads(bool fails) { fails_reads_ = fails; }
  size_t reads() const { return reads_; }
  // Those of them that the caller waited for.
  size_t reads_waited_for() const { return reads_ - reads_started_; }
  bool Holds(const ObjectName& name) const { return objects_.contains(name); }
  // Number of writes of objects that were there already.
  size_t rewritten() const { return rewritten_; }

  Events TakeEvents() override { return std::exchange(events_, {}); }
  bool Write(ObjectHeader header, std::shared_ptr<const Bytes> bytes) override {
    if (waiting_.size() >= queue_max_ || stats_.refusing) return false;
    header.raw_bytes = header.stored_bytes = bytes->size();
    waiting_.push_back({std::move(header), std::move(bytes)});
    if (writes_) Drain(0);
    return true;
  }
  bool MayWrite(uint64_t /*bytes*/) const override {
    return waiting_.size() < queue_max_ && !stats_.refusing;
  }
  Result<Bytes> Read(const ObjectName& name) override {
    ++reads_;
    if (fails_reads_) return Fail(ErrorCode::kInternal, "the device fails");
    const auto found = objects_.find(name);
    if (found == objects_.end()) return Fail(ErrorCode::kNotFound, "it is gone");
    ++stats_.read;
    return *found->second.bytes;
  }
  void StartRead(const ObjectName& name) override {
    if (reads_on_) {
      ++reads_started_;
      events_.read.emplace_back(name, Read(name));
    } else {
      to_read_.push_back(name);
    }
  }
  bool Adopt(const ObjectName& /*name*/, double /*ms_max*/) override { return false; }
  void Touch(const ObjectName& name) override {
    if (const auto found = objects_.find(name); found != objects_.end()) {
      found->second.used_ns = ++now_ns_;
    }
  }
  void Remove(const ObjectName& name) override {
    objects_.erase(name);
    std::erase_if(waiting_, [&](const Object& one) { return NameOf(one.header) == name; });
  }
  void Stop() override {}
  bool Drain(double /*ms_max*/) override {
    for (Object& object : waiting_) {
      const ObjectName name = NameOf(object.header);
      if (fails_) {
        events_.failed.push_back(name);
        stats_.refusing = ++failures_ >= 2;
        continue;
      }
      events_.written.push_back({name, object.bytes->size()});
      rewritten_ += objects_.contains(name) ? 1 : 0;
      object.used_ns = ++now_ns_;
      objects_[name] = std::move(object);
      ++stats_.written;
    }
    waiting_.clear();
    return true;
  }
  SavedStats stats() const override {
    SavedStats stats = stats_;
    stats.bytes_max = bytes_max_;
    for (const Object& object : waiting_) stats.unsynced_bytes += object.bytes->size();
    return stats;
  }

 private:
  struct Object {
    ObjectHeader header;
    std::shared_ptr<const Bytes> bytes;
    int64_t used_ns = 0;
  };

  std::map<ObjectName, Object> objects_;
  int64_t now_ns_ = 0;  // one later with each object
  std::vector<Object> waiting_;
  Events events_;
  SavedStats stats_;
  bool writes_ = true;
  bool fails_ = false;
  bool fails_reads_ = false;
  bool reads_on_ = true;
  std::vector<ObjectName> to_read_;
  size_t reads_ = 0;
  size_t reads_started_ = 0;
  int failures_ = 0;
  size_t queue_max_ = SIZE_MAX;
  uint64_t bytes_max_ = UINT64_MAX;
  size_t rewritten_ = 0;
};

}  // namespace cairn::test

#endif  // CAIRN_TESTING_STORE_FAKE_DISK_H_
