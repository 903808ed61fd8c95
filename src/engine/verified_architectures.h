// Which architectures may have ranges of their attention KV copied apart from the whole state.
//
// Where libllama does not support it, the call aborts the process, so it cannot be found out by
// trying in a server. An architecture is in the table once our own tests moved its ranges and got
// the same logits to the bit (llama_segment_test.cc); any other gets whole states.

#ifndef CAIRN_ENGINE_VERIFIED_ARCHITECTURES_H_
#define CAIRN_ENGINE_VERIFIED_ARCHITECTURES_H_

#include <span>
#include <string_view>

namespace cairn {

std::span<const std::string_view> SegmentArchitectures();
bool SegmentsVerified(std::string_view architecture);

}  // namespace cairn

#endif  // CAIRN_ENGINE_VERIFIED_ARCHITECTURES_H_
