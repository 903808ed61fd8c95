#include "fleet/remote/s3/s3_index.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "base/process/threads.h"

namespace cairn {
namespace {

// Blocks that are listed at a time.
constexpr size_t kListsAtOnce = 8;
constexpr size_t kEndDigits = 8;
constexpr std::string_view kHexDigits = "0123456789abcdef";

std::string FolderOf(const std::string& key) {
  std::string folder = "i1/" + key.substr(std::min<size_t>(key.find(':') + 1, key.size())) + "/";
  std::replace(folder.begin(), folder.end(), ':', '/');
  return folder;
}

std::string NameOf(RemoteEntry entry) {
  // The same entry has the same name whenever it is written. The shallowest come first in a list.
  entry.written_s = 0;
  std::string name(kEndDigits, '0');
  for (size_t i = 0; i < kEndDigits; ++i) {
    name[kEndDigits - 1 - i] = kHexDigits[entry.end >> (4 * i) & 15U];
  }
  for (const char c : EncodeEntry(entry)) {
    name += {kHexDigits[static_cast<unsigned char>(c) >> 4U],
             kHexDigits[static_cast<unsigned char>(c) & 15U]};
  }
  return name;
}

std::optional<RemoteEntry> EntryOf(std::string_view name) {
  if (name.size() != kEndDigits + 2 * kEntryBytes) return std::nullopt;
  name.remove_prefix(kEndDigits);
  Bytes bytes;
  for (size_t i = 0; i + 1 < name.size(); i += 2) {
    const size_t high = kHexDigits.find(name[i]);
    const size_t low = kHexDigits.find(name[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    bytes.push_back(static_cast<uint8_t>(high << 4U | low));
  }
  const auto entry = DecodeEntry(bytes);
  if (!entry) return std::nullopt;
  return *entry;
}

class S3Index final : public RemoteIndex {
 public:
  explicit S3Index(RemoteObjects* objects) : objects_(objects) {}

  Result<std::vector<std::vector<RemoteEntry>>> Find(const std::vector<std::string>& keys,
                                                     Deadline deadline) override {
    std::vector<std::vector<RemoteEntry>> all(keys.size());
    std::atomic<size_t> next{0};
    Mutex mutex;  // guards no member but `failed`
    Status failed;
    const auto list = [&] {
      for (size_t i = next++; i < keys.size(); i = next++) {
        Status listed;
        const Status tried = TryWork([&] { listed = ListOne(keys[i], &all[i], deadline); });
        if (listed && tried) continue;
        const MutexLock lock(mutex);
        failed = tried ? listed : tried;
        next = keys.size();
      }
    };
    std::vector<std::thread> threads;
    // Where the system starts no more threads, this one lists what the others do not.
    bool starts = true;
    for (size_t i = 1; starts && i < std::min(kListsAtOnce, keys.size()); ++i) {
      starts = StartThread(&threads, list);
    }
    list();
    for (std::thread& thread : threads) thread.join();
    if (!failed) return tl::unexpected(failed.error());
    return all;
  }

  Status Add(const std::vector<Row>& rows, int64_t /*ttl_s*/, Deadline deadline) override {
    for (const Row& row : rows) {
      const Status put = objects_->Put(FolderOf(row.key) + NameOf(row.entry), {}, deadline);
      if (!put) return put;
    }
    return {};
  }

  Status Remove(const std::string& key, const RemoteId& id, Deadline deadline) override {
    std::vector<std::string> names;
    const std::string folder = FolderOf(key);
    Status listed = objects_->List(
        folder,
        [&](const std::string& path, uint64_t /*bytes*/) {
          const auto entry = EntryOf(std::string_view(path).substr(folder.size()));
          if (entry && entry->id == id) names.push_back(path);
        },
        deadline);
    if (!listed) return listed;
    for (const std::string& name : names) {
      if (Status removed = objects_->Remove(name, deadline); !removed) return removed;
    }
    return {};
  }

 private:
  Status ListOne(const std::string& key, std::vector<RemoteEntry>* entries, Deadline deadline) {
    const std::string folder = FolderOf(key);
    return objects_->List(
        folder,
        [&](const std::string& path, uint64_t /*bytes*/) {
          if (entries->size() >= kEntriesPerKeyMax) return;
          const auto entry = EntryOf(std::string_view(path).substr(folder.size()));
          if (entry) entries->push_back(*entry);
        },
        deadline);
  }

  RemoteObjects* const objects_;
};

}  // namespace

std::unique_ptr<RemoteIndex> MakeS3Index(RemoteObjects* objects) {
  return std::make_unique<S3Index>(objects);
}

}  // namespace cairn
