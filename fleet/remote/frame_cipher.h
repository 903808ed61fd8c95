// FrameCipher: encrypts and authenticates a file frame by frame with AES-256-GCM. What is sealed
// for the remote store (fleet/remote/seal.h) and what is sealed on disk (fleet/remote/sealed_fs.h)
// use it.
//
// The key of one file is HMAC-SHA256(the sealing key, the file's random salt). The nonce of a frame
// is its number, eight bytes, little-endian, then three zeros, then 1 for the last frame and 0 for
// the others. The file's header and its path are authenticated with each frame.
//
// Threads: one caller.

#ifndef CAIRN_FLEET_REMOTE_FRAME_CIPHER_H_
#define CAIRN_FLEET_REMOTE_FRAME_CIPHER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/bytes.h"
#include "fleet/remote/remote_names.h"

namespace cairn {

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

}  // namespace cairn

#endif  // CAIRN_FLEET_REMOTE_FRAME_CIPHER_H_
