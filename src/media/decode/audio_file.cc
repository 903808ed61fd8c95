#include "media/decode/audio_file.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "media/decode_messages.h"

#define MINIAUDIO_IMPLEMENTATION
#define MA_API static
#define MA_NO_DEVICE_IO
#define MA_NO_ENCODING
#define MA_NO_ENGINE
#define MA_NO_NODE_GRAPH
#define MA_NO_RESOURCE_MANAGER
#define MA_NO_GENERATION
#define MA_NO_THREADING
#include <miniaudio.h>

namespace cairn {
namespace {

constexpr size_t kChunkSamples = 1U << 16U;

tl::unexpected<Error> Refused(const std::string& what) {
  return Fail(ErrorCode::kInvalidArgument, "the audio " + what);
}

std::optional<ma_encoding_format> FormatOf(ByteSpan file) {
  if (StartsWith(file, "RIFF") && file.size() >= 12 && StartsWith(file.subspan(8), "WAVE")) {
    return ma_encoding_format_wav;
  }
  if (StartsWith(file, "fLaC")) return ma_encoding_format_flac;
  // An MP3 file begins with a tag, or with a frame's eleven set bits.
  const bool frame = file.size() >= 2 && file[0] == 0xFF && (file[1] & 0xE0U) == 0xE0U;
  if (StartsWith(file, "ID3") || frame) return ma_encoding_format_mp3;
  return std::nullopt;
}

class Decoder {
 public:
  ~Decoder() {
    if (open_) ma_decoder_uninit(&decoder_);
  }
  Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  bool Open(ByteSpan file, ma_encoding_format format, uint32_t sample_rate) {
    ma_decoder_config config = ma_decoder_config_init(ma_format_f32, 1, sample_rate);
    config.encodingFormat = format;
    open_ = ma_decoder_init_memory(file.data(), file.size(), &config, &decoder_) == MA_SUCCESS;
    return open_;
  }
  // Returns the number of samples read; 0 at the end or where the file is broken.
  size_t Read(float* samples, size_t count) {
    ma_uint64 read = 0;
    ma_decoder_read_pcm_frames(&decoder_, samples, count, &read);
    return static_cast<size_t>(std::min<ma_uint64>(read, count));
  }

 private:
  ma_decoder decoder_ = {};
  bool open_ = false;
};

// Files of floats may hold any.
void Clamp(std::vector<float>* samples) {
  for (float& sample : *samples) {
    sample = std::isfinite(sample) ? std::clamp(sample, -1.0F, 1.0F) : 0.0F;
  }
}

}  // namespace

Result<DecodedMedium> DecodeAudioFile(ByteSpan file, const MediaLimits& limits,
                                      uint32_t sample_rate) {
  const auto format = FormatOf(file);
  if (!format) return Refused("is not a WAV, MP3 or FLAC file");
  Decoder decoder;
  if (!decoder.Open(file, *format, sample_rate)) {
    return Refused("cannot be decoded: its header is broken or cut short");
  }
  const uint64_t samples_max = SamplesMax(limits, sample_rate);
  DecodedMedium audio;
  audio.kind = MediumKind::kAudio;
  for (size_t read = 1; read > 0;) {
    const size_t before = audio.samples.size();
    audio.samples.resize(before + kChunkSamples);
    read = decoder.Read(audio.samples.data() + before, kChunkSamples);
    audio.samples.resize(before + read);
    if (audio.samples.size() > samples_max) {
      return Refused("is longer than " + std::to_string(limits.audio_seconds_max) + " seconds");
    }
  }
  if (audio.samples.empty()) return Refused("cannot be decoded: it has no samples");
  Clamp(&audio.samples);
  return audio;
}

}  // namespace cairn
