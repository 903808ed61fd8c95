// RunDecodeChild: the child process of a ChildMediaDecoder (media/child/child_media_decoder.h). It
// reads one request and its file, confines itself, decodes, writes the reply and ends.

#ifndef CAIRN_MEDIA_DECODE_DECODE_CHILD_H_
#define CAIRN_MEDIA_DECODE_DECODE_CHILD_H_

#include <string_view>

namespace cairn {

// The hidden subcommand of `cairn` that runs it.
constexpr std::string_view kDecodeMediaCommand = "decode-media";

// Uses standard input and output. Ends the process, at once: libraries clean up with system calls
// that a confined process may not make. The exit code is 0 if a reply was written.
[[noreturn]] void RunDecodeChild();

}  // namespace cairn

#endif  // CAIRN_MEDIA_DECODE_DECODE_CHILD_H_
