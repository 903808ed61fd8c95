// PolicySummary: a policy's name on the command line and what it does, in half a line, for --help.

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
