// AnswerDelta: a part of a parsed answer. AnswerParser: makes them of an answer while it is
// generated (chat/parse/answer_parser.h).

#ifndef CAIRN_CHAT_TEXT_ANSWER_DELTA_H_
#define CAIRN_CHAT_TEXT_ANSWER_DELTA_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

struct AnswerDelta {
  enum class Kind : uint8_t { kReasoning, kContent, kCallBegin, kCallArguments };
  Kind kind = Kind::kContent;
  // Never empty. For kCallBegin, the tool's name. The concatenated kCallArguments of a call are the
  // JSON text of an object, unless the call ended early; see MakeAnswerParser.
  std::string text;
  size_t call = 0;  // index of the call in its answer, from 0
  // For kCallBegin: the id that the model gave the call, if its family gives ids and writes them
  // before the arguments; otherwise empty.
  std::string id = {};

  friend bool operator==(const AnswerDelta&, const AnswerDelta&) = default;
};

// One per answer; not thread-safe. Bytes pass through unchanged: a delta may end inside a character
// if the pushed text did.
class AnswerParser {
 public:
  virtual ~AnswerParser() = default;

  // Returns what the text so far determines; never part of a tag.
  virtual std::vector<AnswerDelta> Push(std::string_view text) = 0;
  // Returns the rest. Push must not be called afterwards.
  virtual std::vector<AnswerDelta> Finish() = 0;
  // The number of texts so far that began like a tool call and are not one, or ended early.
  virtual size_t broken_calls() const { return 0; }
  // The number of calls so far that deviate from their syntax, white space and left-out tags apart,
  // but plainly mean a call, and were emitted as that call.
  virtual size_t mended_calls() const { return 0; }
};

}  // namespace cairn

#endif  // CAIRN_CHAT_TEXT_ANSWER_DELTA_H_
