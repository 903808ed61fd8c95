// The screen of `cairn top`: the server's cache and its last requests as lines of text.
//
// Pure.

#ifndef CAIRN_CMD_TOP_VIEW_H_
#define CAIRN_CMD_TOP_VIEW_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cairn {

struct TopInput {
  std::string_view url;
  std::string_view cache;     // the body of GET /cairn/cache
  std::string_view requests;  // of GET /cairn/requests
  size_t columns = 100;
  size_t lines = 40;
};

// Returns lines of at most `columns` columns. kCorrupt if a body does not have the expected form.
Result<std::string> TopView(const TopInput& input);

}  // namespace cairn

#endif  // CAIRN_CMD_TOP_VIEW_H_
