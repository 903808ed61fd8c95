// MediumPreview: the facts that show a person which image or recording a prompt has, without its
// file.
//
// A value; any thread.

#ifndef CAIRN_API_MEDIA_MEDIUM_PREVIEW_H_
#define CAIRN_API_MEDIA_MEDIUM_PREVIEW_H_

#include <cstdint>
#include <memory>

#include "base/bytes.h"

namespace cairn {

struct MediumPreview {
  uint32_t width = 0;  // pixels of an image, turned upright; 0 for a recording
  uint32_t height = 0;
  double seconds = 0;  // length of a recording
  // A small PNG file (media/thumbnail.h) as long as MediaLayouts keeps the layout; none for a
  // recording.
  std::weak_ptr<const Bytes> thumbnail = {};
};

}  // namespace cairn

#endif  // CAIRN_API_MEDIA_MEDIUM_PREVIEW_H_
