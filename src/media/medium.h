// Medium: an image or a recording that a client sent, as the bytes of its file. A text shows a
// medium by the medium's marker, and the places of the media are kept beside the text; tokenization
// replaces what stands there by the medium's tokens (media/media_tokens.h). Only such a place is a
// medium: a text that looks like a marker anywhere else is only text, whoever wrote it.
//
//   content   "Compare <__media__0f…a1__> with <__media__77…3c__>."
//   media     [8, 51): a PNG,  [57, 100): a JPEG
//
// Values; any thread.

#ifndef CAIRN_MEDIA_MEDIUM_H_
#define CAIRN_MEDIA_MEDIUM_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/result.h"

namespace cairn {

enum class MediumKind : uint8_t { kImage, kAudio };
// Returns "image" or "audio".
std::string_view MediumKindName(MediumKind kind);

struct Medium {
  MediumKind kind = MediumKind::kImage;
  Bytes file;
  // The first half of the SHA-256 of the kind and the file. It decides that two media are the same,
  // so the hash of the project that only finds things (base/hash.h) is not enough.
  Bits128 content;
  // Where the client put it first: "messages[2].content[1]". For messages to people.
  std::string place;
  // Whether nobody wants it any more: the client that sent it has left. Any thread. Empty: it is
  // wanted as long as it exists.
  std::function<bool()> gone = {};
};

using MediumPtr = std::shared_ptr<const Medium>;

// Returns the medium with its content's hash.
MediumPtr MakeMedium(MediumKind kind, Bytes file, std::string place,
                     std::function<bool()> gone = {});
// Returns the medium's marker: "<__media__", 32 hexadecimal digits, "__>".
std::string MarkerOf(const Medium& medium);

// A place where a text shows a medium.
struct MarkedMedium {
  size_t begin = 0;  // of the marker, in bytes of the text
  size_t end = 0;
  MediumPtr medium;
};
// Those of one text, in order, not overlapping.
using MarkedMedia = std::vector<MarkedMedium>;

// Appends the medium's marker to `text`, and its place there to `media`.
void AppendMarker(MediumPtr medium, std::string* text, MarkedMedia* media);
// Returns the bytes of the markers. A medium may become fewer tokens than its marker has bytes.
size_t MarkerBytes(const MarkedMedia& media);

// Stands in a client's own text for the next one of a list of media (POST /completion).
inline constexpr std::string_view kNextMediumMarker = "<__media__>";
// Returns the text with kNextMediumMarker at each place of `media`.
std::string WithNextMediumMarkers(std::string_view text, const MarkedMedia& media);

// DecodedMedium: the pixels of an image or the samples of a recording.
//
// Values; any thread.
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

// How often who waits for the decoding of a medium asks whether the medium is still wanted
// (Medium::gone).

inline constexpr std::chrono::milliseconds kGoneLookInterval{100};

}  // namespace cairn

#endif  // CAIRN_MEDIA_MEDIUM_H_
