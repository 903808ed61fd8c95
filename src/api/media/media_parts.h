// The parts of messages that are images and recordings, as the three chat APIs write them.
//
//   chat completions   {"type": "image_url", "image_url": {"url": …}}   or the URL itself
//   Responses          {"type": "input_image", "image_url": …}          or {"url": …}
//   both               {"type": "input_audio", "input_audio": {"data": base64, "format": "wav"}}
//   Anthropic          {"type": "image", "source": {"type": "base64", "data": …}}
//                      {"type": "image", "source": {"type": "url", "url": …}}
//
// The reader of a message appends the medium's marker to its content, and so notes the place
// (AppendMarker in media/medium.h).
//
// Types of files that a part names beside its bytes (`media_type`, `format`) are checked for being
// known, and otherwise the bytes decide.

#ifndef CAIRN_API_MEDIA_MEDIA_PARTS_H_
#define CAIRN_API_MEDIA_MEDIA_PARTS_H_

#include <string>
#include <string_view>

#include "api/api_error.h"
#include "api/json.h"
#include "api/media/media_reader.h"

namespace cairn {

// Whether `type` is that of a part that ReadMediaPart reads.
bool IsMediaPart(std::string_view type);

// Reads a part of chat completions or Responses and returns its medium. `place` names the part in
// errors. REQUIRES: IsMediaPart of its type.
ApiResult<MediumPtr> ReadMediaPart(const Json& part, std::string_view type,
                                   const std::string& place, MediaReader* reader);

// Reads Anthropic's block of the type "image" and returns its medium.
ApiResult<MediumPtr> ReadImageBlock(const Json& block, const std::string& place,
                                    MediaReader* reader);

}  // namespace cairn

#endif  // CAIRN_API_MEDIA_MEDIA_PARTS_H_
