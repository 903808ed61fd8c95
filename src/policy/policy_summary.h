// PolicySummary: a policy's name on the command line and a half-line summary for --help.

#ifndef CAIRN_POLICY_POLICY_SUMMARY_H_
#define CAIRN_POLICY_POLICY_SUMMARY_H_

#include <string_view>

namespace cairn {

struct PolicySummary {
  std::string_view name;
  std::string_view summary;
};

}  // namespace cairn

#endif  // CAIRN_POLICY_POLICY_SUMMARY_H_
