// KeptByKey: values that are kept by a text up to a number of bytes. The least recently used ones
// are evicted.

#ifndef CAIRN_BASE_MEMORY_KEPT_BY_KEY_H_
#define CAIRN_BASE_MEMORY_KEPT_BY_KEY_H_

#include <cstddef>
#include <iterator>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/mutex.h"

namespace cairn {

// Any thread. A value that was returned stays valid after its eviction.
template <typename Value>
class KeptByKey {
 public:
  explicit KeptByKey(size_t bytes_max) : bytes_max_(bytes_max) {}

  // Returns nullptr if no value is kept for the key. A found one counts as used.
  std::shared_ptr<const Value> Find(const std::string& key) {
    const MutexLock lock(mutex_);
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->value;
  }

  // Keeps a value that takes `value_bytes`, in the place of the key's last one; its key counts too.
  // Returns it, kept or not: one that is larger than all may be is not.
  std::shared_ptr<const Value> Keep(std::string key, Value value, size_t value_bytes) {
    Entry entry{std::move(key), std::make_shared<const Value>(std::move(value)), 0};
    entry.bytes = sizeof(Entry) + sizeof(Value) + entry.key.size() + value_bytes;
    const auto kept = entry.value;
    const MutexLock lock(mutex_);
    if (const auto last = by_key_.find(entry.key); last != by_key_.end()) Drop(last->second);
    if (entry.bytes > bytes_max_) return kept;
    bytes_ += entry.bytes;
    entries_.push_front(std::move(entry));
    by_key_.emplace(entries_.front().key, entries_.begin());
    while (bytes_ > bytes_max_) Drop(std::prev(entries_.end()));
    return kept;
  }

  size_t bytes() const {
    const MutexLock lock(mutex_);
    return bytes_;
  }

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const Value> value;
    size_t bytes = 0;
  };
  using Entries = std::list<Entry>;

  void Drop(typename Entries::iterator entry) REQUIRES(mutex_) {
    bytes_ -= entry->bytes;
    by_key_.erase(entry->key);
    entries_.erase(entry);
  }

  const size_t bytes_max_;
  mutable Mutex mutex_;
  Entries entries_ GUARDED_BY(mutex_);  // most recently used first
  // By the entry's own key.
  std::unordered_map<std::string_view, typename Entries::iterator> by_key_ GUARDED_BY(mutex_);
  size_t bytes_ GUARDED_BY(mutex_) = 0;
};

}  // namespace cairn

#endif  // CAIRN_BASE_MEMORY_KEPT_BY_KEY_H_
