// For the tests of images and recordings in requests: small files, their base64, and rules that
// take them. The files only begin as they must; nothing could be decoded from them.

#ifndef CAIRN_TESTING_API_MEDIA_SAMPLES_H_
#define CAIRN_TESTING_API_MEDIA_SAMPLES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "api/media/media_rules.h"
#include "base/bytes.h"
#include "media/medium.h"

namespace cairn::test {

inline Bytes FileOf(std::string_view text) {
  const ByteSpan bytes = BytesOf(text);
  return {bytes.begin(), bytes.end()};
}

// Files of different `name`s are different.
inline Bytes PngFile(std::string_view name = "a") {
  return FileOf("\x89PNG\r\n\x1A\n" + std::string(name));
}
inline Bytes WavFile(std::string_view name = "a") {
  return FileOf("RIFF1234WAVE" + std::string(name));
}

inline std::string Base64Of(ByteSpan bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t group = 0;
    for (size_t i = 0; i < 3; ++i) {
      group = group << 8U | (at + i < bytes.size() ? bytes[at + i] : 0U);
    }
    for (size_t i = 0; i < 4; ++i) {
      const bool padding = at + i > bytes.size();
      text += padding ? '=' : kDigits[(group >> (18 - 6 * i)) & 63U];
    }
  }
  return text;
}

inline std::string PngUrl(std::string_view name = "a") {
  return "data:image/png;base64," + Base64Of(PngFile(name));
}

inline std::string PngMarker(std::string_view name = "a") {
  return MarkerOf(*MakeMedium(MediumKind::kImage, PngFile(name), ""));
}
inline std::string WavMarker(std::string_view name = "a") {
  return MarkerOf(*MakeMedium(MediumKind::kAudio, WavFile(name), ""));
}

// Those of a server with a projector for both kinds.
inline MediaRules TakingRules() {
  MediaRules rules;
  rules.takes_images = true;
  rules.takes_audio = true;
  return rules;
}

}  // namespace cairn::test

#endif  // CAIRN_TESTING_API_MEDIA_SAMPLES_H_
