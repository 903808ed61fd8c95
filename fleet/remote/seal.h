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
#include <memory>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "fleet/remote/remote_names.h"

namespace cairn {

// FrameCipher: encrypts and authenticates a file frame by frame with AES-256-GCM. What is sealed
// for the remote store (fleet/remote/seal.h) and what is sealed on disk (fleet/remote/sealed_fs.h)
// use it.
//
// The key of one file is HMAC-SHA256(the sealing key, the file's random salt). The nonce of a frame
// is its number, eight bytes, little-endian, then three zeros, then 1 for the last frame and 0 for
// the others. The file's header and its path are authenticated with each frame.
//
// Threads: one caller.
class FrameCipher {
 public:
  static constexpr size_t kSaltBytes = 32;
  static constexpr size_t kTagBytes = 16;

  // Writes kSaltBytes random bytes.
  static void MakeSalt(uint8_t* to);

  // Which frame of the file it is.
  struct Place {
    uint64_t number = 0;
    bool last = false;
  };

  // `header` and `path` outlive it. `salt` has kSaltBytes.
  FrameCipher(const RemoteKey& key, ByteSpan header, ByteSpan salt, std::string_view path,
              bool encrypts);
  ~FrameCipher();

  // Writes the frame to `to`, which may not overlap it, and its tag.
  void Encrypt(const Place& place, ByteSpan frame, uint8_t* to, uint8_t* tag);
  // Returns false if the tag is wrong; then `to` is of no use.
  bool Decrypt(const Place& place, ByteSpan frame, const uint8_t* tag, uint8_t* to);

 private:
  struct Context;

  void Begin(const Place& place);
  void Update(ByteSpan bytes, uint8_t* to);

  const std::unique_ptr<Context> context_;
  const bool encrypts_;
  const ByteSpan header_;
  const std::string_view path_;
};

// Numbers in headers are little-endian.
inline void WriteNumber(uint64_t value, size_t bytes, uint8_t* to) {
  for (size_t i = 0; i < bytes; ++i) to[i] = static_cast<uint8_t>(value >> (8 * i));
}

inline uint64_t NumberIn(const uint8_t* from, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value |= uint64_t{from[i]} << (8 * i);
  return value;
}

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
