// DecodeAudioFile: the samples of a WAV, MP3 or FLAC file, by miniaudio, mixed to one channel and
// resampled.
//
// miniaudio reads hostile bytes here. Only the child process of a ChildMediaDecoder calls this.

#ifndef CAIRN_MEDIA_DECODE_AUDIO_FILE_H_
#define CAIRN_MEDIA_DECODE_AUDIO_FILE_H_

#include <cstdint>

#include "base/bytes.h"
#include "base/result.h"
#include "media/decode_messages.h"
#include "media/medium.h"

namespace cairn {

// kInvalidArgument if the file is none of these, broken, or longer than the limit.
Result<DecodedMedium> DecodeAudioFile(ByteSpan file, const MediaLimits& limits,
                                      uint32_t sample_rate);

}  // namespace cairn

#endif  // CAIRN_MEDIA_DECODE_AUDIO_FILE_H_
