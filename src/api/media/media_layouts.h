// MediaLayouts: how many tokens and rows each medium of a prompt becomes. A file is decoded for
// that once; its layout is kept, so a conversation that sends an image again at every turn costs a
// look-up. A thumbnail of an image is made from the same pixels and kept with the layout.
//
// Threads: any, concurrently.

#ifndef CAIRN_API_MEDIA_MEDIA_LAYOUTS_H_
#define CAIRN_API_MEDIA_MEDIA_LAYOUTS_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "api/media/medium_preview.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/mutex.h"
#include "base/result.h"
#include "media/media_encoder.h"
#include "media/medium.h"

namespace cairn {

// A piece of a medium as tokens of a prompt.
struct LaidOutPiece {
  Tokens tokens;
  bool has_rows = false;  // media tokens; else tokens of the vocabulary
};
struct LaidOutMedium {
  std::vector<LaidOutPiece> pieces;
  std::shared_ptr<const Bytes> thumbnail;  // null for a recording
  MediumPreview preview;

  // Returns the number of tokens of all pieces.
  size_t tokens() const;
};

class MediaLayouts {
 public:
  // Both outlive it. `kept_bytes_max`: tokens and thumbnails that are kept; the newest layout is
  // kept in any case.
  MediaLayouts(MediaDecoder* decoder, const MediaEncoder* encoder,
               size_t kept_bytes_max = size_t{16} << 20U);

  // Returns the tokens of `medium`. kInvalidArgument if it cannot be decoded or is too small; the
  // message begins with its place. `owner`: the key of the request; see MediaDecoder.
  Result<std::shared_ptr<const LaidOutMedium>> Of(const Medium& medium, uint64_t owner);
  bool takes_images() const { return encoder_->takes_images(); }
  bool takes_audio() const { return encoder_->takes_audio(); }

 private:
  struct Kept {
    Bits128 content;
    std::shared_ptr<const LaidOutMedium> layout;
  };

  std::shared_ptr<const LaidOutMedium> Find(const Bits128& content);
  Result<LaidOutMedium> LayOut(const Medium& medium, uint64_t owner) const;
  Result<std::vector<LaidOutPiece>> PiecesOf(const Medium& medium,
                                             const DecodedMedium& decoded) const;
  void Keep(Kept kept);

  MediaDecoder* const decoder_;
  const MediaEncoder* const encoder_;
  const Bits128 encoder_hash_;
  const size_t kept_bytes_max_;
  Mutex mutex_;
  std::list<Kept> kept_ GUARDED_BY(mutex_);  // most recently used first
  size_t kept_bytes_ GUARDED_BY(mutex_) = 0;
};

}  // namespace cairn

#endif  // CAIRN_API_MEDIA_MEDIA_LAYOUTS_H_
