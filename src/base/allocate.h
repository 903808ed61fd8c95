// Buffers whose size a client or a model decides. Where there is no memory for one, that is the
// world's doing, and an Error like any other; small things that everything needs are another matter
// (base/memory_watch.h keeps some memory back for them).

#ifndef CAIRN_BASE_ALLOCATE_H_
#define CAIRN_BASE_ALLOCATE_H_

#include <cstddef>
#include <new>
#include <stdexcept>
#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace cairn {

inline Error NoMemoryError(size_t bytes) {
  return {ErrorCode::kUnavailable, "there is no memory for " + std::to_string(bytes) + " bytes"};
}

// kUnavailable: there is no memory for so many; `bytes` is as it was.
inline Status TryResize(Bytes* bytes, size_t size) {
  try {
    bytes->resize(size);
  } catch (const std::bad_alloc&) {
    return tl::unexpected(NoMemoryError(size));
  } catch (const std::length_error&) {
    return tl::unexpected(NoMemoryError(size));
  }
  return {};
}

}  // namespace cairn

#endif  // CAIRN_BASE_ALLOCATE_H_
