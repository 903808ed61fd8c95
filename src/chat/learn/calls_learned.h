// LearnedCallReader: reads a block of calls as a LearnedSyntax has them, while it is written.

#ifndef CAIRN_CHAT_LEARN_CALLS_LEARNED_H_
#define CAIRN_CHAT_LEARN_CALLS_LEARNED_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/calls/argument_types.h"
#include "chat/calls/calls_pairs.h"
#include "chat/calls/calls_scan.h"
#include "chat/calls/calls_tools.h"
#include "chat/learn/learned_syntax.h"
#include "chat/parse/json_scanner.h"

namespace cairn {

// What has come of a call. Its arguments, put together, are the JSON text of an object.
struct CallEvent {
  enum class Kind : uint8_t {
    kBegin,      // `text`: the name of a tool that was offered
    kArguments,  // `text`: more of them
    kEnd,
  };
  Kind kind = Kind::kEnd;
  std::string text = {};
  std::string id = {};  // of kBegin: the one that the model gave it, if that stood before
  size_t end = 0;       // of kEnd: bytes of the text that are calls now
};

// One per block; not thread-safe.
class LearnedCallReader {
 public:
  enum class Status : uint8_t {
    kMore,
    kEnded,   // all up to end_of_calls() is calls
    kBroken,  // what stands behind end_of_calls() is no call; or broke off
  };

  // `syntax` and `tools` outlive it. `start`: the number of the start that the text begins with.
  LearnedCallReader(const LearnedSyntax* syntax, const OfferedTools* tools, size_t start);

  // `text`: the same as before, with more at its end. `finished`: nothing will follow it; then the
  // answer is not kMore.
  Status Read(std::string_view text, bool finished, std::vector<CallEvent>* events);

  // Bytes of the text: the calls that have ended, with what stands around them.
  size_t end_of_calls() const { return end_of_calls_; }
  // Also what the events of a call that has not ended stand for.
  size_t told() const { return told_; }

 private:
  enum class State : uint8_t {
    kOpen,
    kObject,
    kId,
    kName,
    kNameEnd,
    kJson,
    kPairs,
    kIdBehind,
    kClose,
    kNextCall,
    kEnded,
  };

  Scan Step(std::string_view text, std::vector<CallEvent>* events);
  Scan ReadOpen(std::string_view text);
  Scan ReadObject(std::string_view text, std::vector<CallEvent>* events);
  Scan TakeMember(std::string_view text, std::vector<CallEvent>* events);
  Scan EndObject(std::vector<CallEvent>* events);
  Scan ReadId(std::string_view text);
  Scan ReadName(std::string_view text);
  Scan TakeName(std::string_view text, const std::string& name, size_t at, size_t* end) const;
  Scan ReadNameEnd(std::string_view text);
  Scan ReadJson(std::string_view text, std::vector<CallEvent>* events);
  Scan ReadPairs(std::string_view text, std::vector<CallEvent>* events);
  Scan ReadIdBehind(std::string_view text);
  Scan ReadClose(std::string_view text, std::vector<CallEvent>* events);
  Scan ReadNextCall(std::string_view text);

  void BeginCall();
  void TellName(std::vector<CallEvent>* events);
  void TellArguments(std::string text, std::vector<CallEvent>* events);
  void TellUpTo(std::string_view text, size_t end, std::vector<CallEvent>* events);
  void EndCall(std::vector<CallEvent>* events);
  State AfterArguments() const;

  const LearnedSyntax* const syntax_;
  const OfferedTools* const tools_;
  SyntaxPartList open_;  // still to come before the call
  State state_ = State::kOpen;
  size_t at_ = 0;
  size_t end_of_calls_ = 0;
  size_t told_ = 0;

  // Of the call that is read.
  std::string name_;
  std::string id_;
  bool name_told_ = false;
  std::optional<JsonScanner> json_;
  std::optional<ArgumentTypes> types_;
  std::optional<PairReader> pairs_;
  // Of an object.
  size_t token_begin_ = 0;
  std::string key_;
  bool in_arguments_ = false;
  std::optional<std::string> arguments_;  // that came before the name, or as a text
};

}  // namespace cairn

#endif  // CAIRN_CHAT_LEARN_CALLS_LEARNED_H_
