// Names whose case does not matter, such as those of HTTP headers.

#ifndef CAIRN_BASE_IGNORE_CASE_H_
#define CAIRN_BASE_IGNORE_CASE_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cairn {

// Only ASCII letters are folded, whatever the locale.
bool SameIgnoringCase(std::string_view a, std::string_view b);

// Returns the value of the first entry with that name, or an empty view. The view points into
// `values`.
std::string_view FindIgnoringCase(const std::vector<std::pair<std::string, std::string>>& values,
                                  std::string_view name);

}  // namespace cairn

#endif  // CAIRN_BASE_IGNORE_CASE_H_
