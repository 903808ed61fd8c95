// CallSyntax: how one family of models writes calls of tools. A family is one file with a class in
// an unnamed namespace and a Make function here, and one line in the table of answer_parser.cc.
//
// A syntax looks at text; where that text stands in an answer, and what becomes of text that is no
// call, is the business of whoever asks (answer_parser.cc).

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

// What calls begin with.
struct CallBegin {
  std::string_view text;
  // Only at the very beginning of the content, white space aside: the bracket or brace of a family
  // without tags.
  bool first_only = false;
};

struct FoundCall {
  std::string name;
  std::string arguments;  // the JSON text of an object; as the model wrote it, if it wrote JSON
};

// What a text that begins with a CallBegin is.
struct CallRead {
  enum class Kind : uint8_t { kMore, kText, kCalls };

  static CallRead More() { return {}; }
  static CallRead Text(size_t size) { return {Kind::kText, size, {}}; }
  static CallRead Calls(size_t size, std::vector<FoundCall> calls) {
    return {Kind::kCalls, size, std::move(calls)};
  }

  Kind kind = Kind::kMore;  // it cannot be told yet
  size_t size = 0;          // kText and kCalls: so many bytes are that, at least one
  std::vector<FoundCall> calls = {};
};

// Constant; any thread. Nothing throws, whatever the text.
class CallSyntax {
 public:
  virtual ~CallSyntax() = default;

  // None is the beginning of another.
  virtual std::span<const CallBegin> begins() const = 0;
  // The bytes that a call can end with. Between two of them Read need not be asked again.
  virtual std::string_view last_bytes() const = 0;
  // `text` begins with one of begins(); `finished`: nothing will follow it. What is said of a text,
  // kMore aside, holds whatever follows.
  virtual CallRead Read(std::string_view text, bool finished) const = 0;
};

// `tools` outlives what is made.
std::unique_ptr<CallSyntax> MakeGraniteCalls(const OfferedTools* tools);
std::unique_ptr<CallSyntax> MakeHermesCalls(const OfferedTools* tools);
std::unique_ptr<CallSyntax> MakeLfm2Calls(const OfferedTools* tools);
std::unique_ptr<CallSyntax> MakeLlamaJsonCalls(const OfferedTools* tools);
std::unique_ptr<CallSyntax> MakeLlamaPythonicCalls(const OfferedTools* tools);
std::unique_ptr<CallSyntax> MakeMiniMaxCalls(const OfferedTools* tools);
std::unique_ptr<CallSyntax> MakeMistralCalls(const OfferedTools* tools);
std::unique_ptr<CallSyntax> MakeQwenXmlCalls(const OfferedTools* tools);

}  // namespace cairn

#endif  // CAIRN_CHAT_CALLS_CALLS_SYNTAX_H_
