// CallSyntax: the syntax in which one family of models writes tool calls. A family is one file with
// a class in an unnamed namespace, a Make function here, and one line in the table of
// answer_parser.cc.
//
// A syntax only parses text. The caller (answer_parser.cc) decides where in an answer to look, and
// handles text that is not a call.

#ifndef CAIRN_CHAT_CALLS_CALLS_SYNTAX_H_
#define CAIRN_CHAT_CALLS_CALLS_SYNTAX_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/calls/calls_tools.h"

namespace cairn {

// A function's name is no longer than this; a longer one is not the begin of a call.
inline constexpr size_t kCallNameBytesMax = 256;

// A text that calls begin with.
struct CallBegin {
  std::string_view text;
  // True if it counts only at the beginning of the content, after optional white space: the bracket
  // or brace of a family without tags.
  bool first_only = false;
};

struct FoundCall {
  std::string name;
  std::string arguments;  // the JSON text of an object, unchanged if the model wrote JSON
};

// The result of reading a text that begins with a CallBegin.
struct CallRead {
  enum class Kind : uint8_t { kMore, kText, kCalls };

  static CallRead More() { return {}; }
  static CallRead Text(size_t size) { return {Kind::kText, size, {}}; }
  static CallRead Calls(size_t size, std::vector<FoundCall> calls) {
    return {Kind::kCalls, size, std::move(calls)};
  }

  Kind kind = Kind::kMore;  // undecided until more text arrives
  size_t size = 0;          // kText and kCalls: number of bytes covered, at least one
  std::vector<FoundCall> calls = {};
};

// Constant; any thread. Never throws, whatever the text.
class CallSyntax {
 public:
  virtual ~CallSyntax() = default;

  // None of them is a prefix of another.
  virtual std::span<const CallBegin> begins() const = 0;
  // The bytes that a call can end with. Read need not be called again before one of them arrives.
  virtual std::string_view last_bytes() const = 0;
  // `text` begins with one of begins(); `finished` means that no text will follow. Every result but
  // kMore is final, whatever follows.
  virtual CallRead Read(std::string_view text, bool finished) const = 0;
};

// `tools` outlives the result.
std::unique_ptr<CallSyntax> MakeLfm2Calls(const OfferedTools* tools);
std::unique_ptr<CallSyntax> MakeLlamaJsonCalls(const OfferedTools* tools);
std::unique_ptr<CallSyntax> MakeLlamaPythonicCalls(const OfferedTools* tools);
std::unique_ptr<CallSyntax> MakeMiniMaxCalls(const OfferedTools* tools);

}  // namespace cairn

#endif  // CAIRN_CHAT_CALLS_CALLS_SYNTAX_H_
