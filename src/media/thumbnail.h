// MakeThumbnail: a small picture of an image, for people who look at a prompt (docs/page.md).
//
// Pure; any thread. It takes some milliseconds, however large the image is.

#ifndef CAIRN_MEDIA_THUMBNAIL_H_
#define CAIRN_MEDIA_THUMBNAIL_H_

#include <cstdint>

#include "base/bytes.h"
#include "media/medium.h"

namespace cairn {

inline constexpr uint32_t kThumbnailSideMax = 96;  // pixels

// Returns a PNG file of the image, scaled so that its longer side has kThumbnailSideMax pixels and
// its shorter side at least one. An image that is not larger keeps its size. The file has at most
// 28 KiB; empty if there is no memory for it. REQUIRES: an image with all its pixels.
Bytes MakeThumbnail(const DecodedMedium& image);

}  // namespace cairn

#endif  // CAIRN_MEDIA_THUMBNAIL_H_
