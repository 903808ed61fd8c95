// SegmentHeader: our prefix to libllama's bytes in a segment. For src/engine/llama/ only.
//
//   segment   | magic, begin, end | the state of a sequence that holds [begin, end) alone |
//
// Pure: no libllama. Any thread.

#ifndef CAIRN_ENGINE_LLAMA_STATE_SEGMENT_HEADER_H_
#define CAIRN_ENGINE_LLAMA_STATE_SEGMENT_HEADER_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/result.h"
#include "engine/engine.h"

namespace cairn {

struct SegmentHeader {
  std::array<char, 8> magic = {'C', 'R', 'N', 'S', 'E', 'G', 'M', '1'};
  uint64_t begin = 0;
  uint64_t end = 0;
};

// Writes the header to the first bytes of `segment`. REQUIRES: there is room.
void WriteSegmentHeader(size_t begin, size_t end, Bytes* segment);
// Reads the header of a segment that is to serve as `part`. kCorrupt if it does not begin as one or
// holds other positions.
Result<SegmentHeader> ReadSegmentHeader(ByteSpan segment, const SegmentPart& part);

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_STATE_SEGMENT_HEADER_H_
