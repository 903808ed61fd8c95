// Medium: an image or a recording that a client sent, as the bytes of its file. The text of its
// message holds the medium's marker at the medium's place; tokenization replaces the marker by the
// medium's tokens (media/media_tokens.h). A text that looks like a marker, but names no medium of
// the same conversation, is only text.
//
//   content   "Compare <__media__0f…a1__> with <__media__77…3c__>."
//   media     { 0f…a1: a PNG,  77…3c: a JPEG }
//
// Values; any thread.

#ifndef CAIRN_MEDIA_MEDIUM_H_
#define CAIRN_MEDIA_MEDIUM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/hash.h"

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
};

// A conversation's media, each once.
using Media = std::vector<std::shared_ptr<const Medium>>;

// Returns the medium with its content's hash.
std::shared_ptr<const Medium> MakeMedium(MediumKind kind, Bytes file, std::string place);
// Returns the medium's marker: "<__media__", 32 hexadecimal digits, "__>".
std::string MarkerOf(const Medium& medium);
// Adds `medium`, unless one of the same content is there.
void AddMedium(std::shared_ptr<const Medium> medium, Media* media);

// A marker in a text, and its medium.
struct MarkedMedium {
  size_t begin = 0;  // bytes of the text
  size_t end = 0;
  std::shared_ptr<const Medium> medium;
};
// Finds the markers of `media` in `text`, in order.
std::vector<MarkedMedium> FindMarkers(std::string_view text, const Media& media);

// Stands in a client's own text for the next one of a list of media (POST /completion).
inline constexpr std::string_view kNextMediumMarker = "<__media__>";
// Returns the text with kNextMediumMarker in place of each marker of `media`.
std::string WithNextMediumMarkers(std::string_view text, const Media& media);

}  // namespace cairn

#endif  // CAIRN_MEDIA_MEDIUM_H_
