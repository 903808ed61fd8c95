// For tests: an object's header in which every field differs from the others and from 0, and an
// object of a future format.

#ifndef CAIRN_TESTING_STORE_OBJECT_SAMPLE_H_
#define CAIRN_TESTING_STORE_OBJECT_SAMPLE_H_

#include "base/bytes.h"
#include "base/hash.h"
#include "store/object.h"

namespace cairn::test {

inline ObjectHeader SampleObject() {
  ObjectHeader header;
  header.kind = ObjectKind::kSegment;
  header.fingerprint = {0x0102030405060708, 0x1112131415161718};
  header.name_space = 0x2122232425262728;
  header.tokens = {1, 2, -3, 0x01020304, 5};
  header.begin = 1;
  header.lineage = 0x3132333435363738;
  header.parent = {0x4142434445464748, 0x5152535455565758};
  header.checkpoint_class = 9;
  header.cold_end = true;
  header.logits_bytes = 600;
  header.turns = 7;
  header.answers = {{1, 2}, {3, 5}};
  header.clean = 2;
  header.runs = {{0x6162636465666768, 2}, {8, 4}};
  header.worth_ms = 1234.5;
  header.codec = Codec::kLossless;
  header.raw_bytes = 10'000;
  header.stored_bytes = 9'000;
  header.payload_checksum = 0x7172737475767778;
  return header;
}

// Turns an object's file into one of a version with the next format, as far as that is settled.
inline void MakeNewer(Bytes* file) {
  constexpr size_t kFormatAt = 8;
  constexpr size_t kChecksumAt = 248;
  (*file)[kFormatAt] = 2;
  const uint64_t checksum = Hash64(file->data(), kChecksumAt);
  for (size_t i = 0; i < 8; ++i) {
    (*file)[kChecksumAt + i] = static_cast<uint8_t>(checksum >> (8 * i));
  }
}

}  // namespace cairn::test

#endif  // CAIRN_TESTING_STORE_OBJECT_SAMPLE_H_
