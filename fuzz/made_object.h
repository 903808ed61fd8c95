// Object files from fuzzed bytes: valid ones, and invalid ones with valid checksums.

#ifndef CAIRN_FUZZ_MADE_OBJECT_H_
#define CAIRN_FUZZ_MADE_OBJECT_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/hash.h"
#include "fuzz/input.h"
#include "store/codec/codec.h"
#include "store/object.h"

namespace cairn::fuzz {

struct MadeObject {
  ObjectHeader header;
  Bytes payload;  // before the codec
  Bytes file;
};

// Returns a header without contradictions.
inline ObjectHeader MakeHeader(FuzzInput* input) {
  ObjectHeader header;
  header.kind = static_cast<ObjectKind>(1 + input->Below(3));
  header.fingerprint = {input->Number(8), input->Number(2)};
  header.name_space = input->Number(2);
  header.tokens.resize(input->Below(2000));
  for (size_t i = 0; i < header.tokens.size(); ++i) {
    header.tokens[i] = static_cast<Token>(i < 16 ? input->Number(4) : i);
  }
  header.lineage = input->Number(2);
  header.checkpoint_class = input->Byte();
  header.cold_end = input->Flag();
  header.turns = input->Number(8);
  header.clean = input->Below(header.tokens.size() + 1);
  header.worth_ms = static_cast<double>(input->Number(4)) / 8;
  if (header.kind == ObjectKind::kSegment) {
    header.begin = input->Below(header.tokens.size() + 1);
    header.parent = {input->Number(8), input->Number(8)};
  }
  size_t at = header.begin;
  for (size_t i = input->Below(4); i > 0; --i) {
    const size_t begin = at + input->Byte();
    at = begin + 1 + input->Byte();
    if (at > header.tokens.size()) break;
    header.answers.push_back({begin, at});
  }
  at = header.clean;
  for (size_t i = input->Below(4); i > 0 && at < header.tokens.size(); --i) {
    header.runs.push_back({1 + input->Number(2), at});
    at += 1 + input->Byte();
  }
  return header;
}

inline MadeObject MakeObject(FuzzInput* input) {
  MadeObject made;
  made.header = MakeHeader(input);
  const auto codec = static_cast<Codec>(1 + input->Below(2));
  const size_t repeats = 1 + input->Below(40);  // repeated bytes compress
  const ByteSpan rest = input->Rest();
  for (size_t i = 0; i < repeats; ++i) {
    made.payload.insert(made.payload.end(), rest.begin(), rest.end());
  }
  const Encoded encoded = Encode(codec, made.payload);
  const Bytes& stored = encoded.codec == Codec::kRaw ? made.payload : encoded.bytes;
  made.header.codec = encoded.codec;
  made.header.raw_bytes = made.payload.size();
  made.header.stored_bytes = stored.size();
  made.header.payload_checksum = PayloadChecksum(stored);
  made.header.logits_bytes = std::min<size_t>(made.payload.size(), made.header.turns % 512);
  made.file = EncodeHeader(made.header);
  made.file.insert(made.file.end(), stored.begin(), stored.end());
  return made;
}

// Writes a little-endian number of eight bytes. REQUIRES: the file has them.
inline void PutNumber(uint64_t value, size_t at, Bytes* file) {
  for (size_t i = 0; i < 8; ++i) (*file)[at + i] = static_cast<uint8_t>(value >> (8 * i));
}

// Makes all checksums valid and the sizes of the front consistent, so that arbitrary bytes reach
// the code behind those checks. The offsets are docs/format.md's.
inline void RepairChecksums(Bytes* file) {
  constexpr std::array<uint8_t, 12> kBegin = {0x89, 'C',  'A', 'I', 'R', 'N',
                                              '\r', '\n', 1,   0,   0,   0};
  constexpr size_t kFrontBytesAt = 12;
  constexpr size_t kStoredBytesAt = 120;
  constexpr size_t kPayloadChecksumAt = 128;
  constexpr size_t kCountsAt = 136;
  constexpr size_t kFixedChecksumAt = 248;
  constexpr size_t kFixedBytes = 256;
  file->resize(std::max(file->size(), kFixedBytes), 0);
  std::copy(kBegin.begin(), kBegin.end(), file->begin());
  size_t used = kFixedBytes + 8;
  for (size_t i = 0; i < 3; ++i) {
    uint8_t* const count = file->data() + kCountsAt + 4 * i;
    count[2] = count[3] = 0;
    count[1] &= 0x07U;
    used += (count[0] + 256U * count[1]) * (i == 0 ? 4U : 16U);
  }
  const size_t front_bytes = (used + kFrontBytesMin - 1) / kFrontBytesMin * kFrontBytesMin;
  // The bytes after the fixed header stay at the front's beginning; the rest of them is payload.
  const size_t payload_at = std::min(used - 8, file->size());
  Bytes payload(file->begin() + static_cast<std::ptrdiff_t>(payload_at), file->end());
  file->resize(payload_at);
  file->resize(front_bytes, 0);
  for (size_t i = 0; i < 4; ++i) {
    (*file)[kFrontBytesAt + i] = static_cast<uint8_t>(front_bytes >> (8 * i));
  }
  PutNumber(payload.size(), kStoredBytesAt, file);
  PutNumber(PayloadChecksum(payload), kPayloadChecksumAt, file);
  PutNumber(Hash64(file->data(), kFixedChecksumAt), kFixedChecksumAt, file);
  PutNumber(Hash64(file->data(), front_bytes - 8), front_bytes - 8, file);
  file->insert(file->end(), payload.begin(), payload.end());
}

}  // namespace cairn::fuzz

#endif  // CAIRN_FUZZ_MADE_OBJECT_H_
