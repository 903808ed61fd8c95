// DecodedMedium: the pixels of an image or the samples of a recording.
//
// Values; any thread.

#ifndef CAIRN_MEDIA_DECODED_MEDIUM_H_
#define CAIRN_MEDIA_DECODED_MEDIUM_H_

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "media/medium.h"

namespace cairn {

struct DecodedMedium {
  MediumKind kind = MediumKind::kImage;
  // Images: three bytes a pixel, red, green, blue, row by row from the top.
  uint32_t width = 0;
  uint32_t height = 0;
  Bytes rgb;
  // Recordings: one channel, at the sample rate that was asked for, between -1 and 1.
  std::vector<float> samples;
};

// Decodes the files of media. Any thread, concurrently.
class MediaDecoder {
 public:
  virtual ~MediaDecoder() = default;
  // kInvalidArgument if the file is broken, of a kind that is not supported, or larger than the
  // limits; the message says which, and begins with nothing that names the medium. kCancelled if
  // Medium::gone says that nobody wants it; whoever wants the same file has to ask again.
  virtual Result<DecodedMedium> Decode(const Medium& medium) = 0;
  // As Decode, for one of several owners, such as the keys of a server, who take turns.
  virtual Result<DecodedMedium> DecodeFor(uint64_t /*owner*/, const Medium& medium) {
    return Decode(medium);
  }
};

}  // namespace cairn

#endif  // CAIRN_MEDIA_DECODED_MEDIUM_H_
