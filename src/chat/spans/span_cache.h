// SpanCache: what was found out about the prompts of conversations, for when they come back longer.
//
//   turn 1   S U1                   found: U1
//   turn 2   S U1 A1 U2             same bytes up to the end of U1: U1 is known, U2 is looked for
//
// An entry holds the whole prompt of the last turn, because a boundary is taken over only when all
// bytes up to the end of its message's text are what they were. Where a template now writes
// something else (reasoning is gone, the tools have moved), it is looked for again. A turn then
// costs one rendering of the conversation, for its text, and one of its newest messages.

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

// Since the server started. Messages are counted when they are looked for; one that comes back with
// its conversation and is known is not counted again.
struct SpanStats {
  uint64_t prompts = 0;
  // Prompts that were taken over whole, and those whose beginning was.
  uint64_t prompts_known = 0;
  uint64_t prompts_extended = 0;
  // User and tool messages looked for: with a boundary right in front of their text, with one that
  // is earlier, with none.
  uint64_t boundaries_exact = 0;
  uint64_t boundaries_earlier = 0;
  uint64_t boundaries_unknown = 0;
  // What looking took, the prompts themselves not counted; see TextShape.
  uint64_t renders = 0;
  uint64_t short_renders = 0;
};

// Any thread may call anything; templates are rendered outside of the lock.
class SpanCache {
 public:
  // Of prompts and what is known of them. The least recently used go first; 0 keeps nothing.
  explicit SpanCache(size_t bytes_max) : bytes_max_(bytes_max) {}

  // As FindTextShape, from what was found for conversations of the same `client`.
  Result<TextShape> Find(const ChatTemplate& chat_template, const Conversation& conversation,
                         std::string_view text, uint64_t client = 0);

  SpanStats stats() const;
  size_t bytes() const;

 private:
  struct Entry {
    uint64_t key = 0;  // of the client and the whole conversation
    size_t messages = 0;
    std::string text;
    TextShape shape;

    size_t bytes() const {
      return sizeof(Entry) + text.size() + shape.spans.size() * sizeof(TextSpan);
    }
  };
  using EntryPtr = std::shared_ptr<const Entry>;

  // The entry of the longest beginning; null when there is none. `keys[i]` is that of the first i
  // messages.
  EntryPtr Longest(const std::vector<uint64_t>& keys);
  // `outgrown`, which `entry` extends, goes: of a conversation only the last turn is kept.
  void Keep(EntryPtr entry, const EntryPtr& outgrown);
  void Drop(uint64_t key);
  void Count(const TextShape& shape, const std::vector<TextSpan>& known, size_t unknown_before);

  const size_t bytes_max_;
  mutable std::mutex mutex_;
  std::list<EntryPtr> recent_;  // newest first
  std::unordered_map<uint64_t, std::list<EntryPtr>::iterator> entries_;
  size_t bytes_ = 0;
  SpanStats stats_;
};

// The cache for the conversations of one client. What another sent must not make a prompt cheaper,
// or its time would tell who sent the same.
struct ClientSpans {
  SpanCache* cache = nullptr;  // null: none is kept
  uint64_t client = 0;
};

}  // namespace cairn

#endif  // CAIRN_CHAT_SPANS_SPAN_CACHE_H_
