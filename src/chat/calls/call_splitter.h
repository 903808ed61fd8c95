// CallSplitter: tells calls of tools from content while an answer is written, whatever the syntax.

#ifndef CAIRN_CHAT_CALLS_CALL_SPLITTER_H_
#define CAIRN_CHAT_CALLS_CALL_SPLITTER_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/calls/calls_syntax.h"
#include "chat/calls/calls_tools.h"
#include "chat/learn/calls_learned.h"
#include "chat/learn/learned_syntax.h"
#include "chat/parse/answer_parser.h"

namespace cairn {

// One per answer; not thread-safe. See MakeAnswerParser for what becomes of which text.
class CallSplitter {
 public:
  using MakeSyntax = std::unique_ptr<CallSyntax> (*)(const OfferedTools*);

  CallSplitter(MakeSyntax make, OfferedTools tools);
  CallSplitter(const LearnedCalls& learned, OfferedTools tools, bool stream_arguments);
  CallSplitter(const CallSplitter&) = delete;
  CallSplitter& operator=(const CallSplitter&) = delete;

  void Push(std::string_view content, std::vector<AnswerDelta>* pieces);
  void Finish(std::vector<AnswerDelta>* pieces);
  // Texts so far that began like a call and are none.
  size_t broken_calls() const { return broken_calls_; }

 private:
  struct Begin {
    size_t at = std::string::npos;
    size_t number = 0;
  };

  bool Step(bool finished, std::vector<AnswerDelta>* pieces);
  bool ReadWhole(const CallBegin& begin, bool finished, std::vector<AnswerDelta>* pieces);
  bool ReadOn(bool finished, std::vector<AnswerDelta>* pieces);
  bool TakeEvents(std::vector<CallEvent>* events, std::vector<AnswerDelta>* pieces);
  bool MayHaveEnded();
  Begin FindBegin() const;
  size_t BegunSize() const;
  void EmitText(size_t size, std::vector<AnswerDelta>* pieces);
  void EmitName(std::string name, std::string id, std::vector<AnswerDelta>* pieces);
  void EmitArguments(std::string text, std::vector<AnswerDelta>* pieces);

  const OfferedTools tools_;
  const std::unique_ptr<const CallSyntax> syntax_;  // or:
  const std::unique_ptr<const LearnedSyntax> learned_;
  const bool stream_arguments_ = false;
  std::vector<CallBegin> begins_;
  std::optional<LearnedCallReader> reader_;  // of what held_ begins with
  size_t begin_size_ = 0;                    // of the text that held_ begins with
  size_t settled_ = 0;                       // bytes of held_ that are calls
  // A call that is given when it is whole.
  std::string name_;
  std::string id_;
  std::string arguments_;

  std::string space_;     // white space that content may go on with
  std::string held_;      // what follows it
  size_t looked_at_ = 0;  // bytes of held_ that MayHaveEnded has seen
  size_t calls_ = 0;
  size_t broken_calls_ = 0;
  bool begun_ = false;        // there was content or a call
  bool behind_call_ = false;  // and a call was last
};

}  // namespace cairn

#endif  // CAIRN_CHAT_CALLS_CALL_SPLITTER_H_
