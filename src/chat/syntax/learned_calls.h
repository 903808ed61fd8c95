// LearnedCalls: the syntax in which a chat template writes tool calls, learned from its renderings
// (learn_calls.h). The answer parser and the grammar of forced calls are derived from it.
//
//   block_open  call_open  NAME  name_end  ARGUMENTS  call_close  between  …  block_close
//
//   DeepSeek   block_open  "<｜tool▁calls▁begin｜>"   call_open   "<｜tool▁call▁begin｜>"
//              name_end    "<｜tool▁sep｜>"            call_close  "<｜tool▁call▁end｜>"
//              between     ""                        block_close "<｜tool▁calls▁end｜>"

#ifndef CAIRN_CHAT_SYNTAX_LEARNED_CALLS_H_
#define CAIRN_CHAT_SYNTAX_LEARNED_CALLS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cairn {

struct LearnedCalls {
  enum class Arguments : uint8_t {
    kJson,   // one JSON object
    kPairs,  // KEY and VALUE, each with text around it
  };
  // The position of the id within a call.
  enum class Id : uint8_t {
    kNone,
    kBeforeName,       // call_open ID id_delimiter NAME …
    kBehindName,       // … NAME id_delimiter ID name_end …
    kBehindArguments,  // … ARGUMENTS id_delimiter ID call_close
    kHoldsName,        // the id takes the name's place: functions.NAME:0
  };
  // The notation of kPairs values that are strings.
  enum class Strings : uint8_t {
    kRaw,     // unquoted
    kJson,    // as JSON, like all other values
    kQuoted,  // unquoted between two `quote`; so are strings inside lists and objects, whose keys
              // are bare
  };

  // The text around each part, white space included. block_open and block_close are empty if every
  // call stands alone.
  std::string block_open = {};
  std::string call_open = {};
  std::string name_end = {};
  std::string call_close = {};
  std::string between = {};
  std::string block_close = {};
  // The template writes two calls in one answer.
  bool several = false;
  // The template names the syntax but shows no call (named_calls.h), so that a text which deviates
  // from it is no call.
  bool exact = false;

  Id id = Id::kNone;
  std::string id_delimiter = {};
  bool id_is_counter = false;  // the template numbers the calls, whatever their ids

  Arguments arguments = Arguments::kJson;

  // kJson: if the whole call is one object, the keys of its members. That object begins in
  // call_open and ends in call_close. Otherwise all three are empty.
  std::string name_key = {};
  std::string arguments_key = {};
  std::string id_key = {};

  // kPairs: key_open KEY string_open VALUE string_close pair_between … for strings, and other_open
  // and other_close for all other values.
  std::string key_open = {};
  std::string string_open = {};
  std::string string_close = {};
  std::string other_open = {};
  std::string other_close = {};
  // Set if the value is preceded by its type, named as in JSON schema: other_open TYPE
  // other_type_end.
  std::string other_type_end = {};
  std::string pair_between = {};
  Strings strings = Strings::kRaw;
  std::string quote = {};

  bool is_object() const { return !name_key.empty(); }
  friend bool operator==(const LearnedCalls&, const LearnedCalls&) = default;
};

// A call with values that are already written in the template's notation.
struct WrittenCall {
  struct Pair {
    std::string key;
    std::string value;
    bool is_string = false;
    std::string type = {};  // of a value that is not a string
  };
  std::string id = {};
  std::string name = {};
  std::string json = {};         // kJson: the arguments' text
  std::vector<Pair> pairs = {};  // kPairs
};

// Returns the text that the template writes for these calls, from block_open to block_close.
std::string WriteCalls(const LearnedCalls& syntax, const std::vector<WrittenCall>& calls);

// Splits a text into the parts that are matched one by one, with any white space between them:
// tags, and words between tags. A tag that does not end in the text is a part too.
std::vector<std::string> SyntaxParts(std::string_view text);

// Returns the tags in the syntax that may be control tokens, each once.
std::vector<std::string> TagsOfCalls(const LearnedCalls& syntax);

// Describes the syntax for people, with one property per line.
std::string DescribeCalls(const LearnedCalls& syntax);

}  // namespace cairn

#endif  // CAIRN_CHAT_SYNTAX_LEARNED_CALLS_H_
