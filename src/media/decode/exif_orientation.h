// How a camera was held: the orientation in a JPEG file's EXIF data.
//
// Pure; any thread.

#ifndef CAIRN_MEDIA_DECODE_EXIF_ORIENTATION_H_
#define CAIRN_MEDIA_DECODE_EXIF_ORIENTATION_H_

#include "base/bytes.h"
#include "base/result.h"
#include "media/decoded_medium.h"

namespace cairn {

// The values of EXIF: the side of the upright picture at which the stored first row and the stored
// first column lie.
enum class ExifOrientation : uint8_t {
  kTopLeft = 1,  // upright as stored
  kTopRight = 2,
  kBottomRight = 3,
  kBottomLeft = 4,
  kLeftTop = 5,
  kRightTop = 6,
  kRightBottom = 7,
  kLeftBottom = 8,
};

// Takes any bytes. kTopLeft if the file is no JPEG file or tells no valid orientation.
ExifOrientation ReadExifOrientation(ByteSpan file);

// Turns and mirrors the image to be upright. kUnavailable if there is no memory for a second one;
// then the image is unchanged.
Status TurnUpright(ExifOrientation orientation, DecodedMedium* image);

}  // namespace cairn

#endif  // CAIRN_MEDIA_DECODE_EXIF_ORIENTATION_H_
