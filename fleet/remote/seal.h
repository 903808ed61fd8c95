// Seal: the form in which an object's file leaves this machine: encrypted and authenticated by
// AES-256-GCM, so that whoever can write to the store can neither read a state nor plant one.
// docs/format.md specifies every byte.
//
//   | header, 80 bytes | front, tag | 4 MiB of the rest, tag | … | the last frame, tag |
//
// The header holds a random salt, from which the key of this one object follows. Each frame's nonce
// is its number and whether it is the last; header and path are authenticated with each frame. So a
// flipped bit, a missing or swapped frame, and an object under another's name are all kCorrupt.
//
// Pure functions; any thread.

#ifndef CAIRN_FLEET_REMOTE_SEAL_H_
#define CAIRN_FLEET_REMOTE_SEAL_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "fleet/remote/remote_names.h"

namespace cairn {

inline constexpr size_t kSealHeaderBytes = 80;
inline constexpr size_t kSealFrameBytes = size_t{4} << 20;

// Returns the size of a sealed file whose front has `front_bytes`.
uint64_t SealedBytes(uint64_t file_bytes, uint64_t front_bytes);

// Seals the object's file with the first key, or returns it as it is if the keys do not seal.
// `path` is the sealed object's. REQUIRES: 0 < front_bytes <= file.size().
Bytes Seal(const RemoteKeys& keys, std::string_view path, Bytes file, size_t front_bytes);

// Returns the file, in the memory of `sealed`. kCorrupt if any bit of it is not as it was sealed.
Result<Bytes> Unseal(const RemoteKeys& keys, std::string_view path, Bytes sealed);

// Returns how much of a sealed file UnsealFront needs, given the first kSealHeaderBytes, or without
// a seal kFrontBytesMin, of it. kCorrupt as above.
Result<uint64_t> BytesToFrontEnd(const RemoteKeys& keys, ByteSpan begin);

// Returns the front, given the beginning of a sealed file: at least SealedBytes(front_bytes,
// front_bytes) of it. kCorrupt as above, or if the front does not end in it.
Result<Bytes> UnsealFront(const RemoteKeys& keys, std::string_view path, ByteSpan begin);

}  // namespace cairn

#endif  // CAIRN_FLEET_REMOTE_SEAL_H_
