// LearnedCallReader: reads a block of calls in a LearnedSyntax while it is generated.

#ifndef CAIRN_CHAT_CALLS_CALLS_LEARNED_H_
#define CAIRN_CHAT_CALLS_CALLS_LEARNED_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/calls/argument_types.h"
#include "chat/calls/calls_pairs.h"
#include "chat/calls/calls_tools.h"
#include "chat/syntax/learned_syntax.h"
#include "chat/text/calls_scan.h"
#include "chat/text/json_mender.h"

namespace cairn {

// One step in the reading of a call. The concatenated arguments of a call are the JSON text of an
// object: as the model wrote it if that is JSON, otherwise mended (json_mender.h).
struct CallEvent {
  enum class Kind : uint8_t {
    kBegin,      // `text`: the name of an offered tool
    kArguments,  // `text`: more of the arguments
    kEnd,
  };
  Kind kind = Kind::kEnd;
  std::string text = {};
  std::string id = {};  // kBegin: the id from the model, if it precedes this event
  size_t end = 0;       // kEnd: bytes of the text that belong to calls now
  // kEnd: the arguments are an object that the reader wrote of pairs, not the model.
  bool is_written = false;
  // kEnd: the ranges of the arguments, in their order, that later members of the same names
  // replace.
  std::vector<std::pair<size_t, size_t>> overwritten = {};
};

// One per block; not thread-safe.
class LearnedCallReader {
 public:
  enum class Status : uint8_t {
    kMore,
    kEnded,   // everything up to end_of_calls() is calls
    kBroken,  // the text after end_of_calls() is not a call, or ended early
  };

  // `syntax` and `tools` outlive the reader. `start` is the index of the start that the text begins
  // with.
  LearnedCallReader(const LearnedSyntax* syntax, const OfferedTools* tools, size_t start);

  // `text` is the same as in the call before, with more at its end. `finished` means that no text
  // will follow; then the result is not kMore.
  Status Read(std::string_view text, bool finished, std::vector<CallEvent>* events);

  // Bytes of the text: the complete calls, with the text around them.
  size_t end_of_calls() const { return end_of_calls_; }
  // As end_of_calls(), plus what the events of an incomplete call cover.
  size_t told() const { return told_; }
  // The number of complete calls that are not written as the template writes them, white space and
  // left-out tags apart, and were read as what they plainly mean.
  size_t mended_calls() const { return mended_calls_; }

 private:
  enum class State : uint8_t {
    kOpen,
    kObject,
    kId,
    kName,
    kNameEnd,
    kArguments,
    kJson,
    kPairs,
    kIdBehind,
    kClose,
    kNextCall,
    kNextObject,
    kEnded,
  };

  Scan Step(std::string_view text, std::vector<CallEvent>* events);
  bool EndsWell(std::string_view text, bool broke_off, std::vector<CallEvent>* events);
  Scan ReadOpen(std::string_view text);
  Scan ReadObject(std::string_view text, std::vector<CallEvent>* events);
  Scan TakeMember(char c, std::vector<CallEvent>* events);
  Scan BeginValue(char c, std::vector<CallEvent>* events);
  Scan EndValue(std::vector<CallEvent>* events);
  Scan TakeOtherArguments(const std::string& value);
  Scan TakeNestedCall(const std::string& value);
  Scan EndObject(std::vector<CallEvent>* events);
  Scan ReadId(std::string_view text);
  Scan ReadName(std::string_view text);
  Scan TakeAnyName(std::string_view text, size_t begin, size_t* end);
  Scan TakeName(std::string_view text, const std::string& name, size_t at, size_t* end) const;
  Scan ReadNameEnd(std::string_view text);
  Scan ReadArguments(std::string_view text);
  Scan ReadJson(std::string_view text, std::vector<CallEvent>* events);
  Scan ReadPairs(std::string_view text, std::vector<CallEvent>* events);
  Scan ReadIdBehind(std::string_view text);
  Scan ReadClose(std::string_view text, std::vector<CallEvent>* events);
  Scan ReadNextCall(std::string_view text);
  Scan ReadNextObject(std::string_view text, std::vector<CallEvent>* events);

  void BeginCall();
  void TellName(std::vector<CallEvent>* events);
  void TellArguments(std::string text, std::vector<CallEvent>* events);
  void TellObject(size_t end, std::vector<CallEvent>* events);
  void EndCall(std::vector<CallEvent>* events);
  void EndBlock(size_t end);
  State AfterArguments() const;
  bool IsName(const std::string& key) const;
  bool HasWholeArguments(std::string_view text) const;
  std::string OfferedName(const std::string& name);

  const LearnedSyntax* const syntax_;
  const OfferedTools* const tools_;
  SyntaxPartList open_;  // still expected before the call
  State state_ = State::kOpen;
  bool objects_;          // each call is an object with a name in it
  bool in_list_ = false;  // those are the items of a list
  size_t at_ = 0;
  size_t end_of_calls_ = 0;
  size_t told_ = 0;
  size_t mended_calls_ = 0;

  // The current call.
  std::string name_;
  std::string id_;
  bool name_told_ = false;
  bool mended_ = false;
  bool refused_ = false;      // it deviates from an exact syntax
  bool object_ends_ = false;  // its object is whole, and what closes it is not read yet
  std::optional<JsonMender> json_;
  std::string json_text_;  // of json_: the whole object, or the arguments that are not told yet
  std::optional<ArgumentTypes> types_;
  std::optional<PairReader> pairs_;
  // The current object.
  std::string key_;
  bool in_arguments_ = false;
  size_t told_json_ = 0;      // bytes of json_text_, with in_arguments_
  size_t arguments_end_ = 0;  // offset in the text
  bool other_members_ = false;
  std::optional<std::string> arguments_;  // received before the name, or as a string
};

}  // namespace cairn

#endif  // CAIRN_CHAT_CALLS_CALLS_LEARNED_H_
