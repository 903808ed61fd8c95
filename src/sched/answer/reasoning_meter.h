// ReasoningMeter: counts an answer's reasoning tokens while they are sampled, and ends the
// reasoning when its budget is spent: from then on it forces the tokens of the closing text instead
// of sampled ones.
//
//   budget 3       <think> Let me see | . Time is up </think> Forty-two
//                          1   2  3     forced, message and closing tag
//
// It works on text only, so tags may be control tokens or span several tokens. A token counts if it
// begins after the opening tag and before the closing one. The tokens of the budget's message count
// too, but the budget does not hold them back.
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

// How an answer's reasoning is recognized, and how long it may be. Plain data.
struct ReasoningParams {
  std::string open = {};                 // empty: reasoning is not looked for
  std::vector<std::string> closes = {};  // the first one found ends it
  // The prompt contains the opening tag already.
  bool starts_inside = false;
  // Reasoning may begin anywhere, and repeatedly; otherwise only at the beginning of the answer,
  // after optional white space.
  bool anywhere = false;
  // The budget of all reasoning in an answer, in tokens. nullopt: no limit.
  std::optional<size_t> tokens_max = {};
  // Ends the reasoning when the budget is spent: the message, in which tags are plain text, and the
  // closing text, which begins with closes[0] and may name control tokens.
  std::string message = {};
  std::string closing = {};
  // The closing text for reasoning after the first; empty: the same as `closing`.
  std::string closing_again = {};
};

class ReasoningMeter {
 public:
  ReasoningMeter() = default;  // counts nothing
  // `model` must outlive this object.
  ReasoningMeter(ReasoningParams params, const Model* model);

  // Returns the token that must come next; nullopt if any may.
  std::optional<Token> Forced();
  // The token that Forced returned cannot come. Forces no more tokens.
  void StopForcing();
  // As Forced, and accepts the token in `sampler`. Forces no more tokens if its grammar rejects the
  // token.
  std::optional<Token> ForceOn(Sampler* sampler);
  // Adds the text of the answer's next token, sampled or forced; it may be empty.
  void Add(std::string_view text);
  // Reasoning tokens so far.
  size_t tokens() const { return tokens_; }

 private:
  enum class State : uint8_t {
    kStart,    // only white space and possibly the beginning of the opening tag so far
    kInside,   // after an opening tag
    kBetween,  // reasoning may still begin
    kDone,     // no more reasoning can come
  };

  // Returns true if the state changed and the same text needs another step.
  bool Step();
  bool StepStart();
  bool StepInside();
  bool StepBetween();
  void DropHeld(size_t size);
  void QueueClosing();

  ReasoningParams params_;
  const Model* model_ = nullptr;
  State state_ = State::kDone;
  std::string held_;  // text that may be a tag, or the beginning of one
  // Positions in held_ of counted tokens that may turn out to belong to the tag.
  std::vector<size_t> begins_;
  size_t tokens_ = 0;
  std::deque<Token> forced_;
  bool closed_before_ = false;
  bool forces_ = true;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_ANSWER_REASONING_METER_H_
