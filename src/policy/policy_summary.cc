#include "policy/policy_summary.h"

#include "base/text.h"

namespace cairn {

Error NoSuchPolicy(const std::string& kind, std::string_view name,
                   const std::vector<PolicySummary>& known) {
  std::vector<std::string_view> names;
  for (const PolicySummary& one : known) names.push_back(one.name);
  return {ErrorCode::kInvalidArgument, "there is no " + kind + " named '" + std::string(name) +
                                           "'; there are: " + JoinNames(names)};
}

}  // namespace cairn
