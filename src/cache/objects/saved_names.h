// SavedNames: a name for each namespace whose objects are saved beyond this process. A server with
// LoRA adapters has thousands of namespaces, and each object asks, so both ways are binary
// searches.
//
// A value.

#ifndef CAIRN_CACHE_OBJECTS_SAVED_NAMES_H_
#define CAIRN_CACHE_OBJECTS_SAVED_NAMES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "cache/objects/segment_index.h"

namespace cairn {

class SavedNames {
 public:
  using Pair = std::pair<NamespaceId, uint64_t>;

  SavedNames() = default;
  // The first of several pairs with the same namespace or the same name counts.
  explicit SavedNames(std::vector<Pair> pairs) : by_name_space_(std::move(pairs)) { Sort(); }
  SavedNames(std::initializer_list<Pair> pairs) : by_name_space_(pairs) { Sort(); }

  std::optional<uint64_t> NameOf(NamespaceId name_space) const {
    const auto found =
        std::lower_bound(by_name_space_.begin(), by_name_space_.end(), name_space,
                         [](const Pair& pair, NamespaceId wanted) { return pair.first < wanted; });
    if (found == by_name_space_.end() || found->first != name_space) return std::nullopt;
    return found->second;
  }
  std::optional<NamespaceId> NameSpaceNamed(uint64_t name) const {
    const auto found =
        std::lower_bound(by_name_.begin(), by_name_.end(), name,
                         [](const Pair& pair, uint64_t wanted) { return pair.second < wanted; });
    if (found == by_name_.end() || found->second != name) return std::nullopt;
    return found->first;
  }
  void Add(NamespaceId name_space, uint64_t name) {
    by_name_space_.emplace_back(name_space, name);
    Sort();
  }
  size_t size() const { return by_name_space_.size(); }

 private:
  void Sort() {
    by_name_ = by_name_space_;
    std::stable_sort(by_name_space_.begin(), by_name_space_.end(),
                     [](const Pair& a, const Pair& b) { return a.first < b.first; });
    std::stable_sort(by_name_.begin(), by_name_.end(),
                     [](const Pair& a, const Pair& b) { return a.second < b.second; });
  }

  std::vector<Pair> by_name_space_;
  std::vector<Pair> by_name_;
};

}  // namespace cairn

#endif  // CAIRN_CACHE_OBJECTS_SAVED_NAMES_H_
