// Diagnosis: which fault of a client, or which setting of the server, made a request prefill tokens
// that it had sent before, and how many. The prompt is compared with the client's last ones
// (api/record/prompt_sketch.h); the explanation of the request tells the rest.
//
// Pure; any thread.

#ifndef CAIRN_API_RECORD_DIAGNOSIS_H_
#define CAIRN_API_RECORD_DIAGNOSIS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "api/record/explanation.h"
#include "api/record/prompt_sketch.h"

namespace cairn {

enum class Cause : uint8_t {
  kNone,
  kVolatileValue,     // a date, a clock or the like in old text
  kChangingText,      // other old text that changes
  kTwoSystemPrompts,  // system prompts that take turns
  kToolOrder,         // the same tools in another order
  kTools,             // other tools
  kDroppedReasoning,  // reasoning that is not sent back, or no longer
  kRewrittenAnswer,   // an answer that comes back changed
  kTrimmedHistory,    // the oldest messages are left out
  kNotAllowed,        // the request forbade reuse
  kNotKept,           // the server has no state there any more, or took none
};
inline constexpr size_t kCauses = 11;

// Returns "volatile_value" and so on.
std::string_view CauseName(Cause cause);
// Returns a sentence that says what happened.
std::string_view CauseSentence(Cause cause);
// Returns what to do about it: one flag, or one setting of the client. `pattern`: of the
// explanation's volatile text; may be empty.
std::string CureOf(Cause cause, const std::string& pattern);

struct Diagnosis {
  Cause cause = Cause::kNone;
  size_t avoidable_tokens = 0;  // prefilled, though they had been sent before
  // The place in `earlier` of the prompt that it was compared with, and what both have in common.
  size_t earlier = 0;
  SketchMatch match = {};
};

// The figures of a request, and why its prompt was prefilled.
struct DiagnosedRequest {
  size_t prompt_tokens = 0;
  size_t reused_tokens = 0;
  Explanation::Why why = Explanation::Why::kAllKnown;
  std::optional<Explanation::Place> place = {};
  std::string volatile_pattern = {};
};

// `earlier`: the client's last prompts, newest first.
Diagnosis Diagnose(const PromptSketch& sketch, const DiagnosedRequest& request,
                   const std::deque<PromptSketch>& earlier);

}  // namespace cairn

#endif  // CAIRN_API_RECORD_DIAGNOSIS_H_
