// MediaLimits: how large the files of media may be, before and after decoding.
//
// Values; any thread.

#ifndef CAIRN_MEDIA_MEDIA_LIMITS_H_
#define CAIRN_MEDIA_MEDIA_LIMITS_H_

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/result.h"
#include "media/image_size.h"

namespace cairn {

struct MediaLimits {
  size_t file_bytes_max = size_t{64} << 20U;
  uint32_t side_max = 16'384;  // pixels of an image's width and of its height
  uint64_t pixels_max = 64'000'000;
  uint32_t audio_seconds_max = 600;
};

// Returns the declared size. kInvalidArgument if the file is none of the formats of image_size.h,
// or its header is broken or declares more than the limits.
Result<ImageSize> CheckImageSize(ByteSpan file, const MediaLimits& limits);

}  // namespace cairn

#endif  // CAIRN_MEDIA_MEDIA_LIMITS_H_
