// VolatileText: what a client changes in its messages without meaning it (a date, a status line)
// keeps, for one conversation, the value that it had first, so that the prompt keeps its prefix.
//
//   --pin-volatile 'Today is [A-Za-z]+'      turn 1   … Today is Saturday …
//                                            turn 9   … Today is Sunday …  ->  … Today is Saturday
//                                            …
//
// The patterns are the operator's, the text is the clients': regular expressions are RE2's, which
// take time in proportion to the text whatever the two are.

#ifndef CAIRN_CHAT_SPANS_VOLATILE_TEXT_H_
#define CAIRN_CHAT_SPANS_VOLATILE_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/message.h"

namespace cairn {

// Whether a pattern of `--pin-volatile auto` matches a piece of `text` that holds byte `offset` or
// ends there. Any thread.
bool IsBuiltinVolatile(std::string_view text, size_t offset);

// Any thread.
class VolatileText {
 public:
  // A longer match is left as it is, and so are those of a conversation beyond so many.
  static constexpr size_t kMatchBytesMax = 512;
  static constexpr size_t kMatchesMax = 1024;

  // "auto" among the patterns stands for those of chat/spans/volatile_patterns.h. First values may
  // take so many bytes; conversations unused for longest are forgotten. kInvalidArgument: a pattern
  // is no regular expression.
  static Result<std::unique_ptr<VolatileText>> Make(std::vector<std::string> patterns,
                                                    size_t bytes_max = size_t{16} << 20);
  ~VolatileText();
  VolatileText(const VolatileText&) = delete;
  VolatileText& operator=(const VolatileText&) = delete;

  const std::vector<std::string>& patterns() const;

  // Puts first values back into the messages that a client writes: all but the assistant's. The
  // n-th match of a pattern in a message takes the value that it had when this conversation had
  // that message first. A conversation is what comes before the first user message and that message
  // itself, matches aside, of one client (`name_space`). Returns how many matches were changed.
  size_t Pin(uint64_t name_space, Conversation* conversation);

  // Conversations that are remembered.
  size_t conversations() const;

 private:
  class Impl;
  explicit VolatileText(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace cairn

#endif  // CAIRN_CHAT_SPANS_VOLATILE_TEXT_H_
