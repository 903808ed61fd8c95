// For tests: FakeRemote, a remote store in memory that several servers share, and FaultyRemote, one
// server's view of it with faults.
//
//   FakeRemote store;
//   FaultyRemote a(&store, 1), b(&store, 2);     two servers
//   b.SetFault(RemoteFault::kTorn, 0.5);         every other read of b ends early
//   a.objects(), a.index()                       for RemoteTierOptions

#ifndef CAIRN_TESTING_REMOTE_FAKE_REMOTE_H_
#define CAIRN_TESTING_REMOTE_FAKE_REMOTE_H_

#include <algorithm>
#include <atomic>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fleet/remote/remote_objects.h"

namespace cairn::test {

enum class RemoteFault {
  kNone,
  kHung,      // the call ends at its deadline
  kRefusing,  // kUnavailable
  kFull,      // writes: kNoSpace
  kTorn,      // reads: a part of the bytes; writes: kTimedOut, although all was written
  kFlipped,   // reads: one bit is another
  kLying,     // reads: another object; entries that lead to other objects
  kForged,    // reads: bytes that nobody wrote, of the right size
  kLost,      // writes: ok, and nothing was written
  kMissing,   // reads: kNotFound, though it is there
  kNoMemory,  // the call throws, as where there is no memory for what it receives
  kHuge,      // entries claim gigabytes; reads: as many bytes as the caller takes, and it takes few
};
inline constexpr int kRemoteFaults = 12;

// The stored content.
struct FakeRemote {
  std::mutex mutex;
  std::map<std::string, Bytes> objects;
  std::map<std::string, std::map<RemoteId, RemoteEntry>> index;
  uint64_t written = 0;  // objects that were not there
  uint64_t bytes_put = 0;
  uint64_t gets = 0;
  uint64_t get_bytes_max = 0;  // the most that a call of Get was ready to take

  size_t size() {
    const std::lock_guard lock(mutex);
    return objects.size();
  }
};

class FaultyRemote {
 public:
  FaultyRemote(FakeRemote* store, uint64_t seed)
      : store_(store), random_(seed), objects_(this), index_(this) {}

  RemoteObjects* objects() { return &objects_; }
  RemoteIndex* index() { return &index_; }

  // Each call fails so with this chance.
  void SetFault(RemoteFault fault, double chance = 1) {
    const std::lock_guard lock(mutex_);
    fault_ = fault;
    chance_ = chance;
  }
  // Called at the beginning of each call.
  void SetOnCall(std::function<void()> on_call) { on_call_ = std::move(on_call); }
  // Called for a call that hangs, instead of waiting.
  void SetOnHang(std::function<void()> on_hang) { on_hang_ = std::move(on_hang); }
  uint64_t calls() const { return calls_; }

 private:
  static constexpr size_t kHugeBytes = size_t{32} << 20;

  class Objects final : public RemoteObjects {
   public:
    explicit Objects(FaultyRemote* owner) : owner_(owner) {}

    Result<bool> Has(const std::string& path, Deadline deadline) override {
      const RemoteFault fault = owner_->Enter();
      if (Status failed = owner_->FailAs(fault, deadline, false); !failed) {
        if (failed.error().code == ErrorCode::kNotFound) return false;
        return tl::unexpected(failed.error());
      }
      const std::lock_guard lock(owner_->store_->mutex);
      return owner_->store_->objects.contains(path) != (fault == RemoteFault::kLying);
    }

    Status Put(const std::string& path, ByteSpan bytes, Deadline deadline) override {
      const RemoteFault fault = owner_->Enter();
      if (Status failed = owner_->FailAs(fault, deadline, true); !failed) return failed;
      if (fault == RemoteFault::kLost) return {};
      const std::lock_guard lock(owner_->store_->mutex);
      const bool fresh =
          owner_->store_->objects.emplace(path, Bytes(bytes.begin(), bytes.end())).second;
      owner_->store_->written += fresh ? 1 : 0;
      owner_->store_->bytes_put += fresh ? bytes.size() : 0;
      if (fault == RemoteFault::kTorn) return Fail(ErrorCode::kTimedOut, "the answer was lost");
      return {};
    }

    Result<Bytes> Get(const std::string& path, uint64_t bytes_max, Deadline deadline) override {
      const RemoteFault fault = owner_->Enter();
      if (Status failed = owner_->FailAs(fault, deadline, false); !failed) {
        return tl::unexpected(failed.error());
      }
      const std::lock_guard lock(owner_->store_->mutex);
      ++owner_->store_->gets;
      owner_->store_->get_bytes_max = std::max(owner_->store_->get_bytes_max, bytes_max);
      const auto& objects = owner_->store_->objects;
      auto found = objects.find(path);
      if (found == objects.end()) return Fail(ErrorCode::kNotFound, "there is no such object");
      if (fault == RemoteFault::kLying) {
        found =
            std::next(objects.begin(), static_cast<std::ptrdiff_t>(owner_->Draw(objects.size())));
      }
      Bytes bytes = found->second;
      if (fault == RemoteFault::kHuge) bytes.resize(std::max(bytes.size(), kHugeBytes));
      if (bytes.size() > bytes_max) bytes.resize(bytes_max);
      owner_->Spoil(fault, &bytes);
      return bytes;
    }

    Status Remove(const std::string& path, Deadline deadline) override {
      if (Status failed = owner_->FailAs(owner_->Enter(), deadline, true); !failed) return failed;
      const std::lock_guard lock(owner_->store_->mutex);
      owner_->store_->objects.erase(path);
      return {};
    }

    Status List(const std::string& prefix,
                const std::function<void(const std::string&, uint64_t)>& visit,
                Deadline deadline) override {
      if (Status failed = owner_->FailAs(owner_->Enter(), deadline, false); !failed) return failed;
      std::vector<std::pair<std::string, uint64_t>> found;
      {
        const std::lock_guard lock(owner_->store_->mutex);
        for (const auto& [path, bytes] : owner_->store_->objects) {
          if (path.starts_with(prefix)) found.emplace_back(path, bytes.size());
        }
      }
      for (const auto& [path, bytes] : found) visit(path, bytes);
      return {};
    }

   private:
    FaultyRemote* const owner_;
  };

  class Index final : public RemoteIndex {
   public:
    explicit Index(FaultyRemote* owner) : owner_(owner) {}

    Result<std::vector<std::vector<RemoteEntry>>> Find(const std::vector<std::string>& keys,
                                                       Deadline deadline) override {
      const RemoteFault fault = owner_->Enter();
      if (Status failed = owner_->FailAs(fault, deadline, false); !failed) {
        return tl::unexpected(failed.error());
      }
      std::vector<std::vector<RemoteEntry>> all(keys.size());
      const std::lock_guard lock(owner_->store_->mutex);
      for (size_t i = 0; i < keys.size(); ++i) {
        const auto found = owner_->store_->index.find(keys[i]);
        if (found == owner_->store_->index.end() || fault == RemoteFault::kMissing) continue;
        for (const auto& [id, entry] : found->second) all[i].push_back(entry);
        KeepNewest(&all[i]);
      }
      if (fault == RemoteFault::kLying) owner_->Lie(&all);
      if (fault == RemoteFault::kHuge) {
        for (std::vector<RemoteEntry>& entries : all) {
          for (RemoteEntry& entry : entries) entry.stored_bytes = uint64_t{8} << 30;
        }
      }
      return all;
    }

    Status Add(const std::vector<Row>& rows, int64_t /*ttl_s*/, Deadline deadline) override {
      const RemoteFault fault = owner_->Enter();
      if (Status failed = owner_->FailAs(fault, deadline, true); !failed) return failed;
      const std::lock_guard lock(owner_->store_->mutex);
      for (const Row& row : rows) {
        if (fault == RemoteFault::kLost) break;
        owner_->store_->index[row.key][row.entry.id] = row.entry;
      }
      return {};
    }

    Status Remove(const std::string& key, const RemoteId& id, Deadline deadline) override {
      if (Status failed = owner_->FailAs(owner_->Enter(), deadline, true); !failed) return failed;
      const std::lock_guard lock(owner_->store_->mutex);
      owner_->store_->index[key].erase(id);
      return {};
    }

   private:
    FaultyRemote* const owner_;
  };

  RemoteFault Enter() {
    ++calls_;
    if (on_call_) on_call_();
    const std::lock_guard lock(mutex_);
    return std::uniform_real_distribution<double>(0, 1)(random_) < chance_ ? fault_
                                                                           : RemoteFault::kNone;
  }

  Status FailAs(RemoteFault fault, Deadline deadline, bool writes) {
    if (fault == RemoteFault::kHung) {
      if (on_hang_) {
        on_hang_();
      } else {
        std::this_thread::sleep_until(deadline);
      }
      return Fail(ErrorCode::kTimedOut, "it did not answer in time");
    }
    if (fault == RemoteFault::kNoMemory) throw std::bad_alloc();
    if (fault == RemoteFault::kRefusing) return Fail(ErrorCode::kUnavailable, "refused");
    if (fault == RemoteFault::kFull && writes) return Fail(ErrorCode::kNoSpace, "it is full");
    if (fault == RemoteFault::kMissing && !writes) {
      return Fail(ErrorCode::kNotFound, "it does not show it yet");
    }
    return {};
  }

  size_t Draw(size_t below) {
    const std::lock_guard lock(mutex_);
    return std::uniform_int_distribution<size_t>(0, below - 1)(random_);
  }

  void Spoil(RemoteFault fault, Bytes* bytes) {
    if (bytes->empty()) return;
    if (fault == RemoteFault::kTorn) bytes->resize(Draw(bytes->size()));
    if (fault == RemoteFault::kFlipped) {
      (*bytes)[Draw(bytes->size())] ^= static_cast<uint8_t>(1U << Draw(8));
    }
    if (fault != RemoteFault::kForged) return;
    for (uint8_t& byte : *bytes) byte = static_cast<uint8_t>(Draw(256));
  }

  // Entries that contradict the objects, themselves and each other.
  void Lie(std::vector<std::vector<RemoteEntry>>* all) {
    for (std::vector<RemoteEntry>& entries : *all) {
      for (RemoteEntry& entry : entries) {
        switch (Draw(6)) {
          case 0:
            entry.end += Draw(2000);
            break;
          case 1:
            entry.begin = 0;
            entry.parent = {};
            break;
          case 2:
            entry.parent = entry.id;  // a circle
            break;
          case 3:
            entry.stored_bytes = Draw(1 << 30);
            break;
          case 4:
            entry.lineage = 0;
            break;
          default:
            break;
        }
      }
    }
    if (all->size() > 1) std::swap(all->front(), all->back());
  }

  FakeRemote* const store_;
  std::mutex mutex_;  // guards the three below
  std::mt19937_64 random_;
  RemoteFault fault_ = RemoteFault::kNone;
  double chance_ = 0;
  std::atomic<uint64_t> calls_{0};
  std::function<void()> on_hang_;
  std::function<void()> on_call_;
  Objects objects_;
  Index index_;
};

}  // namespace cairn::test

#endif  // CAIRN_TESTING_REMOTE_FAKE_REMOTE_H_
