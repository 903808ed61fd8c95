// Tables of policies: what --help, a choice by name and the error for an unknown name read of them.

#ifndef CAIRN_POLICY_POLICY_SUMMARY_H_
#define CAIRN_POLICY_POLICY_SUMMARY_H_

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cairn {

// A policy's name on the command line and a half-line summary for --help.
struct PolicySummary {
  std::string_view name;
  std::string_view summary;
};

// A table is a range of rows, each with a PolicySummary `policy`, sorted by name.
template <typename Table>
std::vector<PolicySummary> SummariesOf(const Table& table) {
  std::vector<PolicySummary> summaries;
  for (const auto& row : table) summaries.push_back(row.policy);
  return summaries;
}

// Returns the row of that name, or nullptr.
template <typename Table>
const auto* FindPolicy(const Table& table, std::string_view name) {
  const auto row = std::find_if(table.begin(), table.end(),
                                [&](const auto& one) { return one.policy.name == name; });
  return row == table.end() ? nullptr : &*row;
}

// Returns kInvalidArgument for a name that is not in a table; the message lists those that are.
// `kind`: "eviction policy".
Error NoSuchPolicy(const std::string& kind, std::string_view name,
                   const std::vector<PolicySummary>& known);

}  // namespace cairn

#endif  // CAIRN_POLICY_POLICY_SUMMARY_H_
