// The messages between a ChildMediaDecoder and its child process, over the child's standard input
// and output:
//
//   to the child     a DecodeRequest, then the file
//   from the child   a DecodeReply, then pixels, samples, or the text of an error
//
// Both run on one machine from one build, so the structs travel as they lie in memory. Neither side
// trusts a number of the other's.

#ifndef CAIRN_MEDIA_DECODE_MESSAGES_H_
#define CAIRN_MEDIA_DECODE_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/bytes.h"
#include "base/result.h"
#include "media/image_size.h"
#include "media/medium.h"

namespace cairn {

// MediaLimits: how large the files of media may be, before and after decoding.
//
// Values; any thread.
struct MediaLimits {
  size_t file_bytes_max = size_t{64} << 20U;
  uint32_t side_max = 16'384;  // pixels of an image's width and of its height
  uint64_t pixels_max = 64'000'000;
  uint32_t audio_seconds_max = 600;
};

// Returns the declared size. kInvalidArgument if the file is none of the formats of image_size.h,
// or its header is broken or declares more than the limits.
Result<ImageSize> CheckImageSize(ByteSpan file, const MediaLimits& limits);

constexpr uint32_t kDecodeRequestMagic = 0x4D444331;
constexpr uint32_t kDecodeReplyMagic = 0x4D445231;
constexpr size_t kDecodeErrorBytesMax = 200;

struct DecodeRequest {
  uint32_t magic = kDecodeRequestMagic;
  MediumKind kind = MediumKind::kImage;
  uint8_t unused[3] = {};
  uint32_t sample_rate = 0;
  uint32_t cpu_seconds_max = 0;
  uint64_t file_bytes = 0;
  MediaLimits limits;
};

enum class DecodeOutcome : uint32_t { kDecoded = 1, kInvalid = 2 };

struct DecodeReply {
  uint32_t magic = kDecodeReplyMagic;
  DecodeOutcome outcome = DecodeOutcome::kInvalid;
  uint32_t width = 0;  // of an image
  uint32_t height = 0;
  // kDecoded: an image's pixels as three bytes each, a recording's samples as floats.
  // kInvalid: the reason as text, at most kDecodeErrorBytesMax.
  uint64_t payload_bytes = 0;
};

static_assert(std::is_trivially_copyable_v<DecodeRequest>);
static_assert(std::is_trivially_copyable_v<DecodeReply>);

// Returns the most samples that a recording may have.
inline uint64_t SamplesMax(const MediaLimits& limits, uint32_t sample_rate) {
  return uint64_t{limits.audio_seconds_max} * sample_rate;
}

}  // namespace cairn

#endif  // CAIRN_MEDIA_DECODE_MESSAGES_H_
