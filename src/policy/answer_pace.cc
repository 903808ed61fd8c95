#include "policy/answer_pace.h"

#include <array>
#include <ranges>

#include "base/join.h"

namespace cairn {
namespace {

struct NamedPace {
  PolicySummary policy;
  std::unique_ptr<AnswerPace> (*make)(const AnswerPaceOptions& options);
};

constexpr std::array<NamedPace, 3> kPaces{{
    {{"none", "a token of each answer after every chunk"}, MakeNonePace},
    {{"rate", "prompts first, as far as answers keep their rate"}, MakeRatePace},
    {{"share", "prefill takes --prefill-share of the time"}, MakeSharePace},
}};

std::string_view PaceName(const NamedPace& pace) {
  return pace.policy.name;
}

}  // namespace

Result<std::unique_ptr<AnswerPace>> MakeAnswerPace(const AnswerPaceOptions& options) {
  for (const NamedPace& pace : kPaces) {
    if (pace.policy.name == options.name) return pace.make(options);
  }
  return Fail(ErrorCode::kInvalidArgument,
              "there is no answer pace named '" + options.name +
                  "'; there are: " + JoinNames(std::views::transform(kPaces, PaceName)));
}

std::vector<PolicySummary> AnswerPaceSummaries() {
  std::vector<PolicySummary> summaries;
  summaries.reserve(kPaces.size());
  for (const NamedPace& pace : kPaces) summaries.push_back(pace.policy);
  return summaries;
}

}  // namespace cairn
