// PairReader: converts the arguments of one call, written as pairs of KEY and VALUE, to the JSON
// text of an object while they are generated.
//
//   <parameter=city>\nRome\n</parameter>\n<parameter=days>\n2\n</parameter>\n</function>
//     ->  {"city": "Rome", "days": 2}
//
// A string is emitted as it arrives, any other value when it has ended. A key that occurs twice is
// emitted twice, and the last one counts: Overwritten() names the others.

#ifndef CAIRN_CHAT_CALLS_CALLS_PAIRS_H_
#define CAIRN_CHAT_CALLS_CALLS_PAIRS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/calls/argument_types.h"
#include "chat/syntax/learned_syntax.h"

namespace cairn {

// One per call; not thread-safe.
class PairReader {
 public:
  // `syntax` and `types` outlive the reader.
  PairReader(const LearnedSyntax* syntax, const ArgumentTypes* types)
      : syntax_(syntax), types_(types) {}

  // Continues at `*at` and sets `json` to what it adds. Returns kFound if the object is complete;
  // `*at` is then before the syntax's `close`. With kMore and kNotHere, `*at` is the end of the
  // text that `json` covers. `text` must be the same as in the call before, with more at its end.
  Scan Read(std::string_view text, size_t* at, std::string* json);

  // Returns the ranges of the object's text, in their order, that are to be erased so that every
  // key is there once.
  std::vector<std::pair<size_t, size_t>> Overwritten() const;

 private:
  enum class State : uint8_t { kNext, kString, kOther, kEnded };

  Scan ReadNext(std::string_view text, size_t* at, std::string* json);
  Scan ReadPair(std::string_view text, size_t* at, std::string* json);
  Scan TakeKey(std::string_view text, size_t* at, std::string* key, bool* opened_as_string) const;
  Scan ReadString(std::string_view text, size_t* at, std::string* json);
  Scan ReadOther(std::string_view text, size_t* at, std::string* json);
  Scan FindEnd(std::string_view text, const ValueEdge& close, size_t* end, size_t* behind);
  Scan TakeOtherOpen(std::string_view text, size_t* at) const;
  static Scan TakeSpace(std::string_view text, const std::string& space, size_t* at);
  std::string OtherValue(const std::string& text) const;

  const LearnedSyntax* const syntax_;
  const ArgumentTypes* const types_;
  State state_ = State::kNext;
  struct Member {
    std::string key;
    size_t begin = 0;  // in the object's text
  };
  std::vector<Member> members_;
  size_t written_ = 0;  // bytes of the object's text in earlier calls of Read
  size_t value_begin_ = 0;
  size_t looked_to_ = 0;  // the value does not end before this position
};

}  // namespace cairn

#endif  // CAIRN_CHAT_CALLS_CALLS_PAIRS_H_
