#include "api/record/diagnosis.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "chat/spans/volatile_patterns.h"

namespace cairn {
namespace {

using Why = Explanation::Why;
using Part = Explanation::Place::Part;

// Fewer tokens are no fault of anybody: chunks end where they must.
constexpr size_t kAvoidableMin = 16;
// Without a fault of the client, the cuts of a prompt may cost so many.
constexpr size_t kUnexplainedMin = 192;

struct CauseTexts {
  std::string_view name;
  std::string_view sentence;
  std::string_view cure;
};

constexpr std::array<CauseTexts, kCauses> kCauseTexts = {{
    {"none", "", ""},
    {"volatile_value", "A value in old text changes: a date, a clock, a counter or an id.",
     "Serve with --volatile late, the default without --reuse exact; or have the client write the "
     "value into its newest message."},
    {"changing_text", "Old text changes from request to request.",
     "Have the client write what changes into its newest message."},
    {"two_system_prompts", "Two or more system prompts take turns in one conversation.",
     "Have the client use one system prompt, and say the mode in its newest message."},
    {"tool_order", "The same tools come in another order.",
     "Serve without --reuse exact, which keeps the first order of tools; or have the client sort "
     "them."},
    {"tools", "The tools change within a conversation.",
     "Have the client send the same tools in every request of a conversation."},
    {"dropped_reasoning", "The reasoning of earlier answers is not sent back.",
     "Have the client send reasoning back as it came (reasoning_content, or thinking blocks); "
     "--warm, the default, prefetches the form without it."},
    {"rewritten_answer", "Answers come back in another form than they were generated in.",
     "Have the client send answers back as they came."},
    {"trimmed_history", "The client leaves out the oldest messages of its conversation.",
     "Give the client the server's context as its limit, a larger -c if needed, or turn off its "
     "trimming."},
    {"not_allowed", "Requests forbid reuse.",
     "Have the client leave out \"cache_prompt\": false, and log-probabilities of prompts."},
    {"not_kept", "The prompt was known, but no state near its end was kept.",
     "Serve with a larger --cache-ram, or with a --cache-disk."},
}};

const CauseTexts& TextsOfCause(Cause cause) {
  const auto index = static_cast<size_t>(cause);
  CHECK(index < kCauseTexts.size());
  return kCauseTexts[index];
}

// The fault that an explanation names, where the sketches show no difference.
Cause ExplainedCause(const PromptSketch& sketch, const DiagnosedRequest& request) {
  if (request.why == Why::kNotAllowed) return Cause::kNotAllowed;
  const auto& place = request.place;
  if (request.why != Why::kDiverged || !place) return Cause::kNotKept;
  if (place->part == Part::kTools) return Cause::kTools;
  if (place->role != Role::kAssistant) {
    return request.volatile_pattern.empty() ? Cause::kNotKept : Cause::kVolatileValue;
  }
  if (place->part == Part::kContent) return Cause::kRewrittenAnswer;
  // Templates leave out reasoning that was sent, from the next question on: nobody's fault.
  const size_t message = place->message.value_or(0);
  const bool sent = message >= sketch.first && message - sketch.first < sketch.messages.size() &&
                    sketch.messages[message - sketch.first].reasoning != 0;
  return sent ? Cause::kNone : Cause::kDroppedReasoning;
}

Cause SystemCause(const PromptSketch& sketch, const DiagnosedRequest& request,
                  const std::deque<PromptSketch>& earlier) {
  // A prompt that was never there is no second one.
  const bool known = std::any_of(earlier.begin(), earlier.end(), [&](const PromptSketch& other) {
    return other.system == sketch.system && MatchSketches(sketch, other).messages > 0;
  });
  if (known) return Cause::kTwoSystemPrompts;
  return request.volatile_pattern.empty() ? Cause::kChangingText : Cause::kVolatileValue;
}

Cause CauseOf(const PromptSketch& sketch, const DiagnosedRequest& request, const SketchMatch& match,
              const std::deque<PromptSketch>& earlier) {
  if (request.why == Why::kNotAllowed) return Cause::kNotAllowed;
  if (match.tools_are_reordered) return Cause::kToolOrder;
  if (match.tools_differ) return Cause::kTools;
  if (match.system_differs) return SystemCause(sketch, request, earlier);
  if (match.dropped > 0) return Cause::kTrimmedHistory;
  const size_t none = match.messages;
  const size_t changed = match.changed.value_or(none);
  const size_t reasoning = match.changed_reasoning.value_or(none);
  if (reasoning < none && reasoning <= changed) return Cause::kDroppedReasoning;
  if (changed == none) return ExplainedCause(sketch, request);
  if (sketch.messages[changed].role == Role::kAssistant) return Cause::kRewrittenAnswer;
  return request.volatile_pattern.empty() ? Cause::kChangingText : Cause::kVolatileValue;
}

}  // namespace

std::string_view CauseName(Cause cause) {
  return TextsOfCause(cause).name;
}

std::string_view CauseSentence(Cause cause) {
  return TextsOfCause(cause).sentence;
}

std::string CureOf(Cause cause, const std::string& pattern) {
  const bool by_pattern = (cause == Cause::kVolatileValue || cause == Cause::kChangingText) &&
                          !pattern.empty() && pattern != kBuiltinVolatile;
  std::string cure(TextsOfCause(cause).cure);
  if (by_pattern) cure += " --pin-volatile '" + pattern + "' keeps its first value.";
  return cure;
}

Diagnosis Diagnose(const PromptSketch& sketch, const DiagnosedRequest& request,
                   const std::deque<PromptSketch>& earlier) {
  if (sketch.messages.empty()) return {};
  const bool has_value = !request.volatile_pattern.empty();
  SketchMatch best;
  size_t best_place = 0;
  bool best_differs = true;
  for (size_t place = 0; place < earlier.size(); ++place) {
    const SketchMatch match = MatchSketches(sketch, earlier[place]);
    const bool tools_change = match.tools_differ && !match.tools_are_reordered;
    const bool differs = match.system_differs || tools_change;
    // A side request, as for a title, has its own system prompt in front of the same question. A
    // new conversation has the system prompt of another, or one with another value in it.
    const bool goes_on = match.messages > 0 && sketch.messages.size() > match.messages;
    const bool counts = !differs || goes_on || (has_value && !tools_change);
    if (!counts || (match.messages == 0 && best.messages > 0)) continue;
    const bool better = (match.messages > 0 && best.messages == 0) || match.tokens > best.tokens ||
                        (match.tokens == best.tokens && best_differs && !differs);
    if (!better) continue;
    best = match;
    best_place = place;
    best_differs = differs;
  }
  const size_t known = std::min(best.tokens, request.prompt_tokens);
  if (known < request.reused_tokens + kAvoidableMin) return {};
  const Diagnosis diagnosis{CauseOf(sketch, request, best, earlier), known - request.reused_tokens,
                            best_place, best};
  const bool unclear =
      diagnosis.cause == Cause::kNotKept && diagnosis.avoidable_tokens < kUnexplainedMin;
  return diagnosis.cause == Cause::kNone || unclear ? Diagnosis() : diagnosis;
}

}  // namespace cairn
