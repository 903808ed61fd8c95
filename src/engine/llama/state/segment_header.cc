#include "engine/llama/state/segment_header.h"

#include <cstring>

#include "base/check.h"

namespace cairn {

void WriteSegmentHeader(size_t begin, size_t end, Bytes* segment) {
  SegmentHeader header;
  header.begin = begin;
  header.end = end;
  CHECK(segment->size() >= sizeof(header));
  std::memcpy(segment->data(), &header, sizeof(header));
}

Result<SegmentHeader> ReadSegmentHeader(ByteSpan segment, const SegmentPart& part) {
  SegmentHeader header;
  if (segment.size() <= sizeof(header)) {
    return Fail(ErrorCode::kCorrupt, "the segment is too short");
  }
  std::memcpy(&header, segment.data(), sizeof(header));
  if (header.magic != SegmentHeader().magic || header.begin != part.begin ||
      header.end < part.end) {
    return Fail(ErrorCode::kCorrupt, "the segment is not of the positions asked for");
  }
  return header;
}

}  // namespace cairn
