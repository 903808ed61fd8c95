// Allocation of buffers whose size a client or a model determines. Running out of memory for such a
// buffer is an Error like any other. Small allocations that everything needs are not covered here
// (base/memory_watch.h holds back some memory for them).

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

// Returns kUnavailable, and leaves `bytes` unchanged, if there is not enough memory.
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
