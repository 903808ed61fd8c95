// MediaRules: which images and recordings requests may have, how large they may be, and where they
// may come from.
//
// A value. The server makes one; ChatService owns it, and every parser of a request reads it, or a
// copy that knows the request's client. Any thread.

#ifndef CAIRN_API_MEDIA_MEDIA_RULES_H_
#define CAIRN_API_MEDIA_MEDIA_RULES_H_

#include <cstddef>
#include <functional>
#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace cairn {

struct MediaRules {
  // Without a projector neither is true, and every image and recording is refused.
  bool takes_images = false;
  bool takes_audio = false;
  size_t file_bytes_max = size_t{32} << 20U;  // of one file, decoded from base64
  size_t media_max = 64;                      // of one request
  size_t all_bytes_max = size_t{128} << 20U;  // of all files of one request
  // Whether http and https URLs are fetched, by `fetch`. Its errors say what went wrong in words
  // that follow "the URL cannot be fetched: ". It is called by several threads at once.
  bool allow_url = false;
  std::function<Result<Bytes>(const std::string& url, size_t bytes_max)> fetch = {};
  // The folder whose files may be named by path; empty: none may.
  std::string media_path = {};
  // Whether the client of the request has left; its media are not decoded then (Medium::gone).
  std::function<bool()> gone = {};
};

}  // namespace cairn

#endif  // CAIRN_API_MEDIA_MEDIA_RULES_H_
