// KeptMediaDecoder: decodes each medium once, though a request needs its pixels twice: first for
// the number of its tokens, then, when its turn comes, for its rows.
//
//   connection thread   DecodeFor ──> child process ──> pixels, a copy is kept
//   encoding thread     Decode    <──────────────────── takes the copy; decodes what is not there
//
// Media are told apart by Medium::content. Copies are kept within a budget, the newest in any case
// that fits alone; one that is never taken goes when newer ones need its room.
//
// Threads: any, concurrently.

#ifndef CAIRN_MEDIA_CHILD_KEPT_MEDIA_DECODER_H_
#define CAIRN_MEDIA_CHILD_KEPT_MEDIA_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <utility>

#include "base/hash.h"
#include "base/mutex.h"
#include "media/decoded_medium.h"

namespace cairn {

class KeptMediaDecoder final : public MediaDecoder {
 public:
  explicit KeptMediaDecoder(std::unique_ptr<MediaDecoder> decoder,
                            size_t bytes_max = size_t{32} << 20U)
      : decoder_(std::move(decoder)), bytes_max_(bytes_max) {}

  Result<DecodedMedium> Decode(const Medium& medium) override;
  Result<DecodedMedium> DecodeFor(uint64_t owner, const Medium& medium) override;

  // Bytes of pixels and samples that are kept.
  size_t kept_bytes() const;

 private:
  struct Kept {
    Bits128 content;
    DecodedMedium decoded;
    size_t bytes = 0;
  };

  // Takes the copy of the medium with this content away, if there is one.
  std::optional<DecodedMedium> Take(const Bits128& content) REQUIRES(mutex_);
  void Keep(const Medium& medium, const DecodedMedium& decoded);

  const std::unique_ptr<MediaDecoder> decoder_;
  const size_t bytes_max_;
  mutable Mutex mutex_;
  std::list<Kept> kept_ GUARDED_BY(mutex_);  // newest first
  size_t kept_bytes_ GUARDED_BY(mutex_) = 0;
};

}  // namespace cairn

#endif  // CAIRN_MEDIA_CHILD_KEPT_MEDIA_DECODER_H_
