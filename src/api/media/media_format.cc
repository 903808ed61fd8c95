#include "api/media/media_format.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "media/image_size.h"

namespace cairn {
namespace {

bool Has(ByteSpan file, size_t at, std::string_view text) {
  const ByteSpan wanted = BytesOf(text);
  return file.size() >= at + wanted.size() &&
         std::equal(wanted.begin(), wanted.end(), file.begin() + static_cast<std::ptrdiff_t>(at));
}

// A tag, or a frame's header: eleven bits set, then version, layer III, bitrate and sample rate.
// The layer tells it from AAC.
bool IsMp3(ByteSpan file) {
  if (Has(file, 0, "ID3")) return true;
  if (file.size() < 4 || file[0] != 0xFF || (file[1] & 0xE0U) != 0xE0U) return false;
  const bool version = (file[1] & 0x18U) != 0x08U;
  const bool layer_three = (file[1] & 0x06U) == 0x02U;
  const bool bitrate = (file[2] & 0xF0U) != 0xF0U;
  const bool sample_rate = (file[2] & 0x0CU) != 0x0CU;
  return version && layer_three && bitrate && sample_rate;
}

}  // namespace

std::optional<MediaFormat> FindMediaFormat(ByteSpan file) {
  if (const auto image = FindImageFormat(file)) {
    return MediaFormat{MediumKind::kImage, ImageFormatName(*image)};
  }
  const auto audio = [](std::string_view name) { return MediaFormat{MediumKind::kAudio, name}; };
  if (Has(file, 0, "RIFF") && Has(file, 8, "WAVE")) return audio("WAV");
  if (Has(file, 0, "fLaC")) return audio("FLAC");
  if (IsMp3(file)) return audio("MP3");
  return std::nullopt;
}

std::string_view FormatNames(MediumKind kind) {
  return kind == MediumKind::kImage ? "PNG, JPEG, GIF, BMP or WEBP" : "WAV, MP3 or FLAC";
}

}  // namespace cairn
