// For the tests of images and recordings in requests: small files, their base64, and rules that
// take them. The files only begin as they must; nothing could be decoded from them.

#ifndef CAIRN_TESTING_API_MEDIA_SAMPLES_H_
#define CAIRN_TESTING_API_MEDIA_SAMPLES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "api/media/base64.h"
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

inline std::string PngUrl(std::string_view name = "a") {
  return "data:image/png;base64," + EncodeBase64(PngFile(name));
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
