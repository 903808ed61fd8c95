// Bytes: a buffer that grows without zero-filling. States of hundreds of megabytes are overwritten
// right after the resize, and filling them first would cost as much again.

#ifndef CAIRN_BASE_BYTES_H_
#define CAIRN_BASE_BYTES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace cairn {

template <typename T>
struct UnfilledAllocator : std::allocator<T> {
  template <typename U>
  struct rebind {  // NOLINT(readability-identifier-naming): the standard's name
    using other = UnfilledAllocator<U>;
  };
  template <typename U>
  void construct(U* place) {
    ::new (static_cast<void*>(place)) U;
  }
  template <typename U, typename... Args>
  void construct(U* place, Args&&... args) {
    ::new (static_cast<void*>(place)) U(std::forward<Args>(args)...);
  }
};

// The bytes that resize() adds are unspecified until they are written.
using Bytes = std::vector<uint8_t, UnfilledAllocator<uint8_t>>;
using ByteSpan = std::span<const uint8_t>;

// A view of the same bytes; valid as long as `text`.
inline ByteSpan BytesOf(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// The reverse.
inline std::string_view TextView(ByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline bool StartsWith(ByteSpan bytes, std::string_view text) {
  const ByteSpan wanted = BytesOf(text);
  return bytes.size() >= wanted.size() && std::equal(wanted.begin(), wanted.end(), bytes.begin());
}

// Allocation of buffers whose size a client or a model determines. Running out of memory for such a
// buffer is an Error like any other. Small allocations that everything needs are not covered here
// (base/memory_watch.h holds back some memory for them).

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

#endif  // CAIRN_BASE_BYTES_H_
