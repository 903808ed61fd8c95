// LateValues: keeps a date, a clock, a countdown or a random id that a client changes in the old
// part of a conversation as the model has read it, and tells the model the newest value at the
// newest message, so that neither the old part nor the new turn is prefilled again (`--volatile
// late`).
//
//   sent       system: Current time: 10:04 | user | assistant | user
//   later      system: Current time: 10:09 | user | assistant | user | assistant | user
//   rendered   system: Current time: 10:04 | user | assistant | user + reminder | assistant | user
//   the reminder: Current values of what is said above: Current time: 10:09
//
// A reminder is written as the text of a late system message is (chat/template/template_turns.h).
// It stays behind the message where it was told: what is kept and told is remembered for the prompt
// up to its newest message, and a request continues the longest such prompt that it begins with. A
// conversation that is not known, as after a restart, is rendered as it was sent.
//
// Never changed are: the last user message, all that follows the last answer, answers, and a
// conversation of which no earlier request is known.

#ifndef CAIRN_CHAT_SPANS_LATE_VALUES_H_
#define CAIRN_CHAT_SPANS_LATE_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/memory/kept_by_key.h"
#include "chat/text/message.h"

namespace cairn {

// A value of a request that its prompt does not have at its place.
struct LateValue {
  size_t message = 0;     // index in the conversation
  std::string kept = {};  // the value in the prompt
  std::string sent = {};  // the client's
  size_t told_at = 0;     // index of the message behind which the client's value is told
};

// Thread-safe.
class LateValues {
 public:
  // A longer match is no value. A conversation has at most so many values; later ones stay as sent.
  static constexpr size_t kValueBytesMax = 160;
  static constexpr size_t kValuesMax = 256;
  // If more values than these change between two requests, they are data: all stay as sent.
  static constexpr size_t kToldMax = 8;

  // `bytes_max` bounds what is remembered; the prompts unused for longest are forgotten.
  explicit LateValues(size_t bytes_max = size_t{16} << 20U);
  ~LateValues();
  LateValues(const LateValues&) = delete;
  LateValues& operator=(const LateValues&) = delete;

  // Restores kept values and adds reminders. `name_space` is the client: the prompts of others are
  // not known to it. Without `remember` the next request does not know of this one. Returns the
  // values that were moved.
  std::vector<LateValue> Apply(uint64_t name_space, bool remember, Conversation* conversation);

  // The bytes of what is remembered.
  size_t bytes() const;

 private:
  struct FoundValue;
  struct KnownPrompt;
  class Patterns;
  class Request;

  const std::unique_ptr<const Patterns> patterns_;
  const std::unique_ptr<KeptByKey<KnownPrompt>> known_;  // by a prompt's messages without values
};

}  // namespace cairn

#endif  // CAIRN_CHAT_SPANS_LATE_VALUES_H_
