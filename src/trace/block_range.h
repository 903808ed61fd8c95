// BlockRange: the notation of a trace's lines for the blocks and tokens of a prompt.

#ifndef CAIRN_TRACE_BLOCK_RANGE_H_
#define CAIRN_TRACE_BLOCK_RANGE_H_

#include <cstdint>

namespace cairn {

// Blocks [first, last], in order.
struct BlockRange {
  uint32_t first = 0;
  uint32_t last = 0;
};

// Limit for the ids that a trace may use for tokens; a greater id is an error.
inline constexpr uint64_t kTraceTokensMax = uint64_t{3} << 29;

}  // namespace cairn

#endif  // CAIRN_TRACE_BLOCK_RANGE_H_
