// KeptByKey: values that are costly to make, kept by a text up to a number of bytes. The least
// recently used ones are evicted.

#ifndef CAIRN_API_KEPT_BY_KEY_H_
#define CAIRN_API_KEPT_BY_KEY_H_

#include <cstddef>
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

  // Keeps a value that takes `value_bytes`; its key counts too. Returns it, kept or not: one that
  // is larger than all may be is not, nor one for whose key another thread has kept a value
  // meanwhile.
  std::shared_ptr<const Value> Keep(std::string key, Value value, size_t value_bytes) {
    Entry entry{std::move(key), std::make_shared<const Value>(std::move(value)), 0};
    entry.bytes = sizeof(Entry) + sizeof(Value) + entry.key.size() + value_bytes;
    const auto kept = entry.value;
    const MutexLock lock(mutex_);
    if (entry.bytes > bytes_max_ || by_key_.contains(entry.key)) return kept;
    bytes_ += entry.bytes;
    entries_.push_front(std::move(entry));
    by_key_.emplace(entries_.front().key, entries_.begin());
    while (bytes_ > bytes_max_) {
      bytes_ -= entries_.back().bytes;
      by_key_.erase(entries_.back().key);
      entries_.pop_back();
    }
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

  const size_t bytes_max_;
  mutable Mutex mutex_;
  Entries entries_ GUARDED_BY(mutex_);  // most recently used first
  // By the entry's own key.
  std::unordered_map<std::string_view, typename Entries::iterator> by_key_ GUARDED_BY(mutex_);
  size_t bytes_ GUARDED_BY(mutex_) = 0;
};

}  // namespace cairn

#endif  // CAIRN_API_KEPT_BY_KEY_H_
