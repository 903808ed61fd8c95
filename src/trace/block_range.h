// BlockRange: how the lines of a trace write the blocks and the tokens of a prompt.

#ifndef CAIRN_TRACE_BLOCK_RANGE_H_
#define CAIRN_TRACE_BLOCK_RANGE_H_

#include <cstdint>

namespace cairn {

// Blocks [first, last], in order.
struct BlockRange {
  uint32_t first = 0;
  uint32_t last = 0;
};

// Ids that tokens can be made of; more are an error.
inline constexpr uint64_t kTraceTokensMax = uint64_t{3} << 29;

}  // namespace cairn

#endif  // CAIRN_TRACE_BLOCK_RANGE_H_
