// CallSplitter: separates tool calls from content while an answer is generated, for any call
// syntax.

#ifndef CAIRN_CHAT_CALLS_CALL_SPLITTER_H_
#define CAIRN_CHAT_CALLS_CALL_SPLITTER_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/calls/calls_learned.h"
#include "chat/calls/calls_syntax.h"
#include "chat/calls/calls_tools.h"
#include "chat/syntax/learned_syntax.h"
#include "chat/text/answer_delta.h"
#include "chat/text/held_text.h"

namespace cairn {

// One per answer; not thread-safe. MakeAnswerParser documents which text becomes what.
class CallSplitter {
 public:
  using MakeSyntax = std::unique_ptr<CallSyntax> (*)(const OfferedTools*);

  CallSplitter(MakeSyntax make, OfferedTools tools);
  CallSplitter(const LearnedCalls& learned, OfferedTools tools, bool stream_arguments);
  CallSplitter(const CallSplitter&) = delete;
  CallSplitter& operator=(const CallSplitter&) = delete;

  void Push(std::string_view content, std::vector<AnswerDelta>* pieces);
  void Finish(std::vector<AnswerDelta>* pieces);
  // Behind so many texts that began like a call and are not one, the rest is content: each may have
  // been read to its end to find that out.
  static constexpr size_t kBrokenCallsMax = 64;
  // The number of these texts so far.
  size_t broken_calls() const { return broken_calls_; }
  // The number of calls so far that were mended.
  size_t mended_calls() const { return mended_calls_; }

 private:
  struct Begin {
    size_t at = std::string::npos;
    size_t number = 0;
  };
  // Where a beginning was looked for, so that no text is searched twice. Offsets in all text.
  struct Search {
    size_t at = std::string::npos;  // the first one that was found
    size_t searched = 0;            // if none was found, none begins before this
  };

  bool Step(bool finished, std::vector<AnswerDelta>* pieces);
  bool ReadWhole(const CallBegin& begin, bool finished, std::vector<AnswerDelta>* pieces);
  bool ReadOn(bool finished, std::vector<AnswerDelta>* pieces);
  void EndReader();
  bool TakeEvents(std::vector<CallEvent>* events, std::vector<AnswerDelta>* pieces);
  bool MayHaveEnded();
  Begin FindBegin();
  size_t FindNext(size_t number);
  size_t BegunSize() const;
  void EmitText(size_t size, std::vector<AnswerDelta>* pieces);
  void EmitName(std::string name, std::string id, std::vector<AnswerDelta>* pieces);
  void EmitArguments(std::string text, std::vector<AnswerDelta>* pieces);

  const OfferedTools tools_;
  const std::unique_ptr<const CallSyntax> syntax_;  // or, if null:
  const std::unique_ptr<const LearnedSyntax> learned_;
  const bool stream_arguments_ = false;
  std::vector<CallBegin> begins_;
  std::vector<Search> searches_;             // of begins_
  std::optional<LearnedCallReader> reader_;  // for the calls that held_ begins with
  size_t begin_size_ = 0;                    // size of the CallBegin at the front of held_
  size_t settled_ = 0;                       // bytes of held_ that belong to calls
  // A call that is emitted only when it is complete.
  std::string name_;
  std::string id_;
  std::string arguments_;

  std::string space_;      // white space that the content may continue with
  HeldText held_;          // the text after it
  size_t looked_at_ = 0;   // bytes of held_ that MayHaveEnded has seen
  size_t tried_size_ = 0;  // of held_ when MayHaveEnded last returned true
  size_t calls_ = 0;
  size_t broken_calls_ = 0;
  size_t mended_calls_ = 0;
  bool begun_ = false;        // there was content or a call
  bool behind_call_ = false;  // the last part was a call
};

}  // namespace cairn

#endif  // CAIRN_CHAT_CALLS_CALL_SPLITTER_H_
