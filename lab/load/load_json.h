// A load benchmark's result as a file: every run with its figures and what they were made of. What
// is read back is what was seen. Pure functions.

#ifndef CAIRN_LAB_LOAD_LOAD_JSON_H_
#define CAIRN_LAB_LOAD_LOAD_JSON_H_

#include <string>
#include <string_view>

#include "base/result.h"
#include "lab/load/load_result.h"

namespace cairn {

// One object, with a line end.
std::string LoadJson(const LoadResult& result);
// Of such a text; kCorrupt with what is wrong with it.
Result<LoadResult> ReadLoadJson(std::string_view text);

}  // namespace cairn

#endif  // CAIRN_LAB_LOAD_LOAD_JSON_H_
