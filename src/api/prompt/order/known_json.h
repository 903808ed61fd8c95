// KnownJson: the JSON texts that a namespace's conversations have shown, found again by their
// meaning. Some clients write the same JSON differently each time: with its keys in the order of a
// hash map, or with other white space and escapes.
//
//   known     {"name": "read", "parameters": {"path": …, "line": …}}
//   sent      {"parameters":{"line":…,"path":…},"name":"read"}        ->  the known text
//   sent      another value, or an array in another order             ->  stays, and is known now

#ifndef CAIRN_API_PROMPT_ORDER_KNOWN_JSON_H_
#define CAIRN_API_PROMPT_ORDER_KNOWN_JSON_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/mutex.h"
#include "cache/checkpoint_cache.h"

namespace cairn {

// Threads: any.
class KnownJson {
 public:
  // Longer texts are not kept, and stay what they are.
  static constexpr size_t kTextBytesMax = size_t{1} << 20U;

  // Keeps at most `bytes_max` bytes, evicting the least recently used texts. 0: every text stays.
  explicit KnownJson(size_t bytes_max) : bytes_max_(bytes_max) {}

  // Returns the known text that `text` is to be replaced by: the first one of the same meaning, if
  // `text` itself is not known. Nullopt if it stays; it is known then. Texts of different `kind`s
  // have nothing to do with each other. What is not JSON, exceeds the limits of limited_json.h, or
  // has numbers with more digits than a double or an integer keeps, stays and is not kept.
  std::optional<std::string> Respell(NamespaceId name_space, std::string_view kind,
                                     std::string_view text);
  // Makes a text known that stays as it is from now on.
  void Remember(NamespaceId name_space, std::string_view kind, std::string_view text);

  size_t bytes() const;

 private:
  using Key = std::pair<NamespaceId, uint64_t>;  // and a hash of the kind and of the rest
  struct Entry {
    Key text_key;
    Key meaning_key;
    std::string text;
  };
  using Entries = std::list<Entry>;

  // Whether the text is known; it counts as a use.
  bool IsKnown(const Key& text_key);
  // Returns the first text of that meaning; nullopt if there is none. It counts as a use.
  std::optional<std::string> FirstOf(const Key& meaning_key);
  void Add(const Key& text_key, const Key& meaning_key, std::string_view text);
  void Use(Entries::iterator entry) REQUIRES(mutex_) {
    entries_.splice(entries_.begin(), entries_, entry);
  }

  const size_t bytes_max_;
  mutable Mutex mutex_;
  Entries entries_ GUARDED_BY(mutex_);  // most recently used first
  std::map<Key, Entries::iterator> by_text_ GUARDED_BY(mutex_);
  std::map<Key, Entries::iterator> first_by_meaning_ GUARDED_BY(mutex_);
  size_t bytes_ GUARDED_BY(mutex_) = 0;
};

}  // namespace cairn

#endif  // CAIRN_API_PROMPT_ORDER_KNOWN_JSON_H_
