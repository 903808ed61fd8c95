// The format of a medium's file, found by its first bytes, because names and types that clients
// send are often wrong.

#ifndef CAIRN_API_MEDIA_MEDIA_FORMAT_H_
#define CAIRN_API_MEDIA_MEDIA_FORMAT_H_

#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "media/medium.h"

namespace cairn {

struct MediaFormat {
  MediumKind kind = MediumKind::kImage;
  std::string_view name;  // "PNG"
};

// Returns the format of the file; nullopt if it is none of those below. A file that begins like one
// may still be broken.
std::optional<MediaFormat> FindMediaFormat(ByteSpan file);

// Returns the names of the formats of a kind: "PNG, JPEG, GIF, BMP or WEBP".
std::string_view FormatNames(MediumKind kind);

}  // namespace cairn

#endif  // CAIRN_API_MEDIA_MEDIA_FORMAT_H_
