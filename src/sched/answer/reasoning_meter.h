// ReasoningMeter: counts an answer's tokens of reasoning while they are sampled, and ends the
// reasoning when its budget is spent: from then on it says which tokens come next, those of the
// closing text, and sampling has no say.
//
//   budget 3       <think> Let me see | . Time is up </think> Forty-two
//                          1   2  3     forced, message and closing tag
//
// It sees texts alone, so tags may be control tokens or lie across tokens. A token counts when it
// begins behind the opening tag and before the closing one; those of the budget's message do too,
// but no budget holds them back.
//
// One per answer; the thread that owns the context.

#ifndef CAIRN_SCHED_ANSWER_REASONING_METER_H_
#define CAIRN_SCHED_ANSWER_REASONING_METER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/tokens.h"
#include "engine/engine.h"

namespace cairn {

// How an answer's reasoning is known, and how long it may be. Plain data.
struct ReasoningParams {
  std::string open = {};                 // empty: no reasoning is looked for
  std::vector<std::string> closes = {};  // whichever comes first
  // The prompt has opened it already.
  bool starts_inside = false;
  // It may begin anywhere, and again; else only at the begin of the answer, white space aside.
  bool anywhere = false;
  // Tokens of all of an answer's reasoning. Nothing: as many as there are.
  std::optional<size_t> tokens_max = {};
  // What ends it then: the message, in which tags are text, and the closing text, which begins with
  // closes[0] and may name control tokens.
  std::string message = {};
  std::string closing = {};
  // The closing text when it was opened again behind the first; empty: as the first.
  std::string closing_again = {};
};

class ReasoningMeter {
 public:
  ReasoningMeter() = default;  // counts nothing
  // `engine` outlives it.
  ReasoningMeter(ReasoningParams params, const Engine* engine);

  // The token that must come next; nothing: any may.
  std::optional<Token> Forced();
  // The token that Forced named cannot come. Nothing is forced from here on.
  void StopForcing();
  // As Forced, and `sampler` is told. Where its grammar does not have the token, nothing is forced.
  std::optional<Token> ForceOn(Sampler* sampler);
  // The text of the answer's next token, the forced one's too; may be empty.
  void Add(std::string_view text);
  // Of reasoning, so far.
  size_t tokens() const { return tokens_; }

 private:
  enum class State : uint8_t {
    kStart,    // only white space so far, and what may be the opening tag's begin
    kInside,   // behind an opening tag
    kBetween,  // reasoning may still begin
    kDone,     // no more reasoning
  };

  // True: the state has changed, and there may be more to do with the same text.
  bool Step();
  bool StepStart();
  bool StepInside();
  bool StepBetween();
  void DropHeld(size_t size);
  void QueueClosing();

  ReasoningParams params_;
  const Engine* engine_ = nullptr;
  State state_ = State::kDone;
  std::string held_;            // text that may be a tag, or the begin of one
  std::vector<size_t> begins_;  // in held_, of the tokens counted that may turn out to be the tag's
  size_t tokens_ = 0;
  std::deque<Token> forced_;
  bool closed_before_ = false;
  bool forces_ = true;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_ANSWER_REASONING_METER_H_
