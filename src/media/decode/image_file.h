// DecodeImageFile: the pixels of an image file, by stb_image (PNG, JPEG, GIF, BMP) or libwebp.
// Transparency is dropped; of an animation the first frame counts. JPEG images are turned upright
// as their EXIF data say.
//
// These libraries read hostile bytes. Only the child process of a ChildMediaDecoder calls this.

#ifndef CAIRN_MEDIA_DECODE_IMAGE_FILE_H_
#define CAIRN_MEDIA_DECODE_IMAGE_FILE_H_

#include "base/bytes.h"
#include "base/result.h"
#include "media/image_size.h"
#include "media/medium.h"

namespace cairn {

// `size` is what ReadImageSize returned for `file`. kInvalidArgument if the file is broken.
Result<DecodedMedium> DecodeImageFile(ByteSpan file, const ImageSize& size);

}  // namespace cairn

#endif  // CAIRN_MEDIA_DECODE_IMAGE_FILE_H_
