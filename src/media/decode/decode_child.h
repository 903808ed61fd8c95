// RunDecodeChild: the child process of a ChildMediaDecoder (media/child_media_decoder.h). It reads
// one request and its file, confines itself, decodes, writes the reply and ends.

#ifndef CAIRN_MEDIA_DECODE_DECODE_CHILD_H_
#define CAIRN_MEDIA_DECODE_DECODE_CHILD_H_

#include <string_view>

namespace cairn {

// The hidden subcommand of `cairn` that runs it.
constexpr std::string_view kDecodeMediaCommand = "decode-media";

// Uses standard input and output. Returns the process's exit code: 0 if a reply was written.
int RunDecodeChild();

}  // namespace cairn

#endif  // CAIRN_MEDIA_DECODE_DECODE_CHILD_H_
