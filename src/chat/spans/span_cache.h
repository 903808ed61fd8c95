// SpanCache: keeps the boundaries found in the prompts of conversations, for later and longer
// prompts of the same conversations.
//
//   turn 1   S U1                   found: U1
//   turn 2   S U1 A1 U2             same bytes up to the end of U1: U1 is known, U2 is searched for
//
// An entry holds the whole prompt of the last turn, because a boundary is reused only if all bytes
// up to the end of its message's text are unchanged. If a template now writes something else
// (reasoning is gone, the tools have moved), the boundary is searched for again. A turn then costs
// one rendering of the conversation, for its text, and one of its newest messages.

#ifndef CAIRN_CHAT_SPANS_SPAN_CACHE_H_
#define CAIRN_CHAT_SPANS_SPAN_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "chat/message.h"
#include "chat/spans/spans.h"
#include "chat/template/chat_template.h"

namespace cairn {

// Counters since the server started. A message is counted when its boundary is searched for, and
// not again when it comes back with its conversation and is known.
struct SpanStats {
  uint64_t prompts = 0;
  // Prompts whose boundaries were all known, and prompts whose first ones were.
  uint64_t prompts_known = 0;
  uint64_t prompts_extended = 0;
  // User and tool messages that were searched for: with a boundary directly before their text, with
  // an earlier one, and with none.
  uint64_t boundaries_exact = 0;
  uint64_t boundaries_earlier = 0;
  uint64_t boundaries_unknown = 0;
  // Renderings needed for the searches, not counting the prompts themselves; see TextShape.
  uint64_t renders = 0;
  uint64_t short_renders = 0;
};

// Thread-safe; templates are rendered outside of the lock.
class SpanCache {
 public:
  // `bytes_max` limits the size of prompts and boundaries. The least recently used are evicted; 0
  // keeps nothing.
  explicit SpanCache(size_t bytes_max) : bytes_max_(bytes_max) {}

  // As FindTextShape, reusing what was found for conversations of the same `client`.
  Result<TextShape> Find(const ChatTemplate& chat_template, const Conversation& conversation,
                         std::string_view text, uint64_t client = 0);

  SpanStats stats() const;
  size_t bytes() const;

 private:
  struct Entry {
    uint64_t key = 0;  // key of the client and the whole conversation
    size_t messages = 0;
    std::string text;
    TextShape shape;

    size_t bytes() const {
      return sizeof(Entry) + text.size() + shape.spans.size() * sizeof(TextSpan);
    }
  };
  using EntryPtr = std::shared_ptr<const Entry>;

  // Returns the entry with the longest matching beginning; null if there is none. `keys[i]` is the
  // key of the first i messages.
  EntryPtr Longest(const std::vector<uint64_t>& keys);
  // Adds `entry` and drops `outgrown`, which it extends: only the last turn of a conversation is
  // kept.
  void Keep(EntryPtr entry, const EntryPtr& outgrown);
  void Drop(uint64_t key);
  void Count(const TextShape& shape, const std::vector<TextSpan>& known, size_t unknown_before);

  const size_t bytes_max_;
  mutable std::mutex mutex_;
  std::list<EntryPtr> recent_;  // most recently used first
  std::unordered_map<uint64_t, std::list<EntryPtr>::iterator> entries_;
  size_t bytes_ = 0;
  SpanStats stats_;
};

// The cache for the conversations of one client. A client's prompt must not be faster because
// another client sent the same, or the time would reveal that.
struct ClientSpans {
  SpanCache* cache = nullptr;  // null: no cache
  uint64_t client = 0;
  // A longer prompt is not searched, for a caller who refuses it.
  size_t bytes_max = SIZE_MAX;
};

}  // namespace cairn

#endif  // CAIRN_CHAT_SPANS_SPAN_CACHE_H_
