// LearnedCalls: how a chat template writes calls of tools, as it was read off what the template
// renders (learn_calls.h). The parser of answers and the grammar of forced calls come from it.
//
//   block_open  call_open  NAME  name_end  ARGUMENTS  call_close  between  …  block_close
//
//   DeepSeek   block_open  "<｜tool▁calls▁begin｜>"   call_open   "<｜tool▁call▁begin｜>"
//              name_end    "<｜tool▁sep｜>"            call_close  "<｜tool▁call▁end｜>"
//              between     ""                        block_close "<｜tool▁calls▁end｜>"

#ifndef CAIRN_CHAT_LEARN_LEARNED_CALLS_H_
#define CAIRN_CHAT_LEARN_LEARNED_CALLS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cairn {

struct LearnedCalls {
  enum class Arguments : uint8_t {
    kJson,   // one JSON object
    kPairs,  // KEY and VALUE, each with texts around it
  };
  // Where a call has its id.
  enum class Id : uint8_t {
    kNone,
    kBeforeName,       // call_open ID id_delimiter NAME …
    kBehindName,       // … NAME id_delimiter ID name_end …
    kBehindArguments,  // … ARGUMENTS id_delimiter ID call_close
    kHoldsName,        // the id stands in the name's place: functions.NAME:0
  };
  // How values of kPairs that are strings are written.
  enum class Strings : uint8_t {
    kRaw,     // as they are
    kJson,    // as JSON, like all other values
    kQuoted,  // as they are, between two `quote`; so are those inside of lists and objects, whose
              // keys are bare
  };

  // What stands around each part, white space included. block_open and block_close are empty where
  // every call stands for itself.
  std::string block_open = {};
  std::string call_open = {};
  std::string name_end = {};
  std::string call_close = {};
  std::string between = {};
  std::string block_close = {};
  // The template writes two calls in one answer.
  bool several = false;

  Id id = Id::kNone;
  std::string id_delimiter = {};
  bool id_is_counter = false;  // the template counts the calls, whatever their ids

  Arguments arguments = Arguments::kJson;

  // kJson: when the whole call is one object, the keys of its members. That object begins in
  // call_open and ends in call_close. Else all are empty.
  std::string name_key = {};
  std::string arguments_key = {};
  std::string id_key = {};

  // kPairs: key_open KEY string_open VALUE string_close pair_between … for strings, and other_open
  // and other_close for all else.
  std::string key_open = {};
  std::string string_open = {};
  std::string string_close = {};
  std::string other_open = {};
  std::string other_close = {};
  // Where the value's type stands before it, in JSON schema's word: other_open TYPE other_type_end.
  std::string other_type_end = {};
  std::string pair_between = {};
  Strings strings = Strings::kRaw;
  std::string quote = {};

  bool is_object() const { return !name_key.empty(); }
  friend bool operator==(const LearnedCalls&, const LearnedCalls&) = default;
};

// A call as such a template has it, with values that are written already.
struct WrittenCall {
  struct Pair {
    std::string key;
    std::string value;
    bool is_string = false;
    std::string type = {};  // of a value that is no string
  };
  std::string id = {};
  std::string name = {};
  std::string json = {};         // kJson: the arguments' text
  std::vector<Pair> pairs = {};  // kPairs
};

// What the template writes for these calls, from block_open to block_close.
std::string WriteCalls(const LearnedCalls& syntax, const std::vector<WrittenCall>& calls);

// The parts of a text that are matched one by one, with any white space between them: tags, and
// words between tags. A tag that does not end in the text is one of them.
std::vector<std::string> SyntaxParts(std::string_view text);

// The tags in the syntax that may be control tokens, each once.
std::vector<std::string> TagsOfCalls(const LearnedCalls& syntax);

// For people: a line each.
std::string DescribeCalls(const LearnedCalls& syntax);

}  // namespace cairn

#endif  // CAIRN_CHAT_LEARN_LEARNED_CALLS_H_
