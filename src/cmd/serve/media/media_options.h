// MediaOptions: what the flags of `cairn serve` say about images and recordings.

#ifndef CAIRN_CMD_SERVE_MEDIA_MEDIA_OPTIONS_H_
#define CAIRN_CMD_SERVE_MEDIA_MEDIA_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace cairn {

struct MediaOptions {
  std::string mmproj_path;  // the projector; empty if requests are text only
  bool mmproj_offload = true;
  int32_t image_tokens_min = -1;  // negative: the model's
  int32_t image_tokens_max = -1;
  bool allow_url = false;
  std::string media_path;  // a folder; empty if no files may be named
  size_t media_file_mib = 32;
  size_t media_max = 64;  // per request
};

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_MEDIA_MEDIA_OPTIONS_H_
