// Base64 as RFC 4648 has it: the alphabet with + and /, padding, and no line ends.

#ifndef CAIRN_API_MEDIA_BASE64_H_
#define CAIRN_API_MEDIA_BASE64_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace cairn {

// Returns how many bytes the text stands for if it is base64. It reads only the text's end.
size_t DecodedBytes(std::string_view base64);

std::string EncodeBase64(ByteSpan bytes);

// Returns the bytes of the text. kInvalidArgument if it is not base64; the message is a predicate,
// "has no base64 at byte 7".
Result<Bytes> DecodeBase64(std::string_view base64);

}  // namespace cairn

#endif  // CAIRN_API_MEDIA_BASE64_H_
