// VolatileText: replaces text that a client changes in its messages without a meaning (a date, a
// status line) with the value that it had first in the conversation, so that the prompt keeps its
// prefix.
//
//   --pin-volatile 'Today is [A-Za-z]+'
//     turn 1   … Today is Saturday …
//     turn 9   … Today is Sunday …      ->  … Today is Saturday …
//
// Patterns are regular expressions of chat/spans/volatile_matcher.h.

#ifndef CAIRN_CHAT_SPANS_VOLATILE_TEXT_H_
#define CAIRN_CHAT_SPANS_VOLATILE_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "chat/text/message.h"

namespace cairn {

// Thread-safe.
class VolatileText {
 public:
  // Longer matches are left unchanged, and so are matches of a conversation beyond this number.
  static constexpr size_t kMatchBytesMax = 512;
  static constexpr size_t kMatchesMax = 1024;

  // "auto" among the patterns stands for those of chat/spans/volatile_patterns.h. `bytes_max`
  // limits the size of the first values; the least recently used conversations are dropped. Returns
  // kInvalidArgument if a pattern is not a regular expression.
  static Result<std::unique_ptr<VolatileText>> Make(std::vector<std::string> patterns,
                                                    size_t bytes_max = size_t{16} << 20);
  ~VolatileText();
  VolatileText(const VolatileText&) = delete;
  VolatileText& operator=(const VolatileText&) = delete;

  const std::vector<std::string>& patterns() const;

  // Restores first values in the messages that a client writes: all but the assistant's. The n-th
  // match of a pattern in a message gets the value that it had when this conversation first had
  // that message. A conversation is identified by the text up to and including the first user
  // message, without matches, and by the client (`name_space`). Markers of media are no text:
  // matches end before them. Returns the number of matches changed.
  size_t Pin(uint64_t name_space, Conversation* conversation);

  // The number of conversations whose values are kept.
  size_t conversations() const;

 private:
  class Impl;
  explicit VolatileText(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace cairn

#endif  // CAIRN_CHAT_SPANS_VOLATILE_TEXT_H_
