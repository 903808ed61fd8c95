// AnswerPace: divides the machine's time between prompts that wait to be prefilled and answers that
// are being decoded. This is the header of policy/ that others include for it; the policies stand
// in answer_pace.cc.
//
//   answers   | token |                 | token | token |                 | token | …
//   prompts           | chunk |  chunk  |               | chunk |  chunk  |
//                     '------ gap ------'
//
// All answers stand still while a chunk is computed. So after some chunks they are owed their next
// tokens: one of each answer a step.
//
// Policies see no clock: times are arguments, in milliseconds of one clock.
//
// Threads: one at a time.

#ifndef CAIRN_POLICY_ANSWER_PACE_H_
#define CAIRN_POLICY_ANSWER_PACE_H_

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "policy/policy_summary.h"

namespace cairn {

struct AnswerPaceOptions {
  std::string name = "rate";
  // Rate: the longest time between two tokens of an answer, as far as chunks can be shortened.
  double gap_ms_max = 300;
  // Rate: the tokens that each answer gets in a second, about as fast as a person reads.
  double tokens_per_s_min = 15;
  // The share of the time that prefill takes while answers are decoded, in (0, 1]; with `rate`, the
  // least that it takes.
  double prefill_share = 0.9;
};

class AnswerPace {
 public:
  virtual ~AnswerPace() = default;
  // Whether a chunk that takes about `chunk_ms` is computed before the answers' next tokens.
  // REQUIRES: answers wait.
  virtual bool MayPrefill(double now_ms, double chunk_ms) const = 0;
  // The longest time that the next chunk should take. REQUIRES: answers wait.
  virtual double ChunkMsMax(double /*now_ms*/) const { return std::numeric_limits<double>::max(); }
  // Prompts that wait at the same moment, and have at most so many tokens together, are prefilled
  // before the first of their answers begins. 0: each answer begins behind its prompt.
  virtual size_t group_tokens_max() const { return 0; }
  // Whether answers are owed time before more is prefilled.
  virtual bool owes() const = 0;
  // A chunk was computed while answers waited.
  virtual void OnPrefill(double ms) = 0;
  // The next tokens of all answers were decoded, by `now_ms`.
  virtual void OnDecode(double now_ms, double ms) = 0;
  // No answer was decoded until `now_ms`, so nothing is owed.
  virtual void OnNoAnswers(double now_ms) = 0;
};

// kInvalidArgument for an unknown name; the message lists the policies.
Result<std::unique_ptr<AnswerPace>> MakeAnswerPace(const AnswerPaceOptions& options);

// Sorted by name.
std::vector<PolicySummary> AnswerPaceSummaries();

}  // namespace cairn

#endif  // CAIRN_POLICY_ANSWER_PACE_H_
