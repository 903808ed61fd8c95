// For the tests of images and recordings in requests: small files, their base64, and rules that
// take them. The files only begin as they must; nothing could be decoded from them.

#ifndef CAIRN_TESTING_API_MEDIA_SAMPLES_H_
#define CAIRN_TESTING_API_MEDIA_SAMPLES_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "api/media/base64.h"
#include "api/media/media_rules.h"
#include "base/bytes.h"
#include "chat/text/message.h"
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

// Returns the media of a conversation, each once, in the order of their first places. Each place
// holds the marker of its medium.
inline std::vector<MediumPtr> MediaOf(const Conversation& talk) {
  std::vector<MediumPtr> media;
  for (const Message& message : talk.messages) {
    for (const MarkedMedium& marked : message.media) {
      const std::string_view content = message.content;
      EXPECT_EQ(content.substr(marked.begin, marked.end - marked.begin), MarkerOf(*marked.medium));
      if (std::find(media.begin(), media.end(), marked.medium) == media.end()) {
        media.push_back(marked.medium);
      }
    }
  }
  return media;
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
