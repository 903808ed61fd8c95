// What a whole answer becomes that was cancelled because whoever asked is gone, or the server is
// ending. Its beginning must not be taken for the answer where somebody still hears.

#ifndef CAIRN_API_LEFT_UNFINISHED_H_
#define CAIRN_API_LEFT_UNFINISHED_H_

#include "api/api_error.h"

namespace cairn {

inline ApiError LeftUnfinished() {
  return ToApiError({ErrorCode::kUnavailable,
                     "the server is shutting down, and the answer was not finished; ask again"});
}

}  // namespace cairn

#endif  // CAIRN_API_LEFT_UNFINISHED_H_
