// StoredObject: one thing that the cache keeps on disk, as a file that describes itself: a
// snapshot, a segment, or a slot stored whole. docs/format.md specifies every byte of it.
//
//   | fixed header | tokens, answers, runs | padding | payload, as its codec writes it |
//
// A name is a hash of all that decides the bits, so that the same state has the same name wherever
// it was made, and different ones never meet. A name may find; only the tokens inside decide.
//
// Values and pure functions; any thread.

#ifndef CAIRN_STORE_OBJECT_H_
#define CAIRN_STORE_OBJECT_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/provenance.h"
#include "base/result.h"
#include "base/tokens.h"

namespace cairn {

// Part of what is written to disk: never change a value, never use one again.
enum class ObjectKind : uint8_t { kSnapshot = 1, kSegment = 2, kFullState = 3 };
// 3 to 5 were lossy codecs, whose files no version reads any more.
enum class Codec : uint8_t { kRaw = 1, kLossless = 2 };

// 128 bits; as a file's name 32 hexadecimal digits. All zero: none.
struct ObjectName {
  uint64_t high = 0;
  uint64_t low = 0;

  friend auto operator<=>(const ObjectName&, const ObjectName&) = default;
  bool empty() const { return high == 0 && low == 0; }
};

// Which model, context settings and libraries the bits belong to: a hash of all that moves them.
struct Fingerprint {
  uint64_t high = 0;
  uint64_t low = 0;

  friend auto operator<=>(const Fingerprint&, const Fingerprint&) = default;
};

struct ObjectHeader {
  ObjectKind kind = ObjectKind::kSnapshot;
  Fingerprint fingerprint;
  uint64_t name_space = 0;  // a hash of the client's key; 0: asked without one
  // Of the sequence from its begin to where the object ends.
  Tokens tokens;
  size_t begin = 0;       // of a segment: its first token; else 0
  LineageId lineage = 0;  // of the last token
  ObjectName parent;      // of a segment: the one that it begins in; empty: it begins at 0
  // Of a snapshot: see Checkpoint (cache/checkpoint_cache.h).
  uint8_t checkpoint_class = 0;
  bool cold_end = false;
  size_t logits_bytes = 0;
  size_t turns = 0;
  // Of a segment: those in it. Of a whole: all.
  std::vector<TokenRange> answers = {};
  // Of a whole: its provenance.
  size_t clean = 0;
  std::vector<Run> runs = {};
  // What it would cost to read again, and how likely that is wanted; for what to give up.
  double worth_ms = 0;
  // Filled in when it is written.
  Codec codec = Codec::kRaw;
  size_t raw_bytes = 0;           // before the codec
  size_t stored_bytes = 0;        // after it
  uint64_t payload_checksum = 0;  // of the stored bytes

  friend bool operator==(const ObjectHeader&, const ObjectHeader&) = default;
};

ObjectName NameOf(const ObjectHeader& header);
std::string ToText(const ObjectName& name);
std::string ToText(const Fingerprint& fingerprint);
// Of a file's name without its folder, "<ToText>.cairn", or of ToText alone; empty when it is none
// of ours.
ObjectName ParseObjectName(const std::string& text);

// The file's front: everything before the payload, padded to a multiple of 4,096 bytes. A
// `worth_ms` that is no number, or less than nothing, is written as 0. REQUIRES: what DecodeHeader
// checks of the header's fields.
Bytes EncodeHeader(const ObjectHeader& header);
// How long the front is, from the file's first kFrontBytesMin bytes. kUnsupported: it is whole, and
// of a newer format, which its owner can read. kCorrupt: it is none of ours, torn, or of a format
// that never was; the message says which.
inline constexpr size_t kFrontBytesMin = 4096;
inline constexpr size_t kFrontBytesMax = size_t{64} << 20;  // some 16 million tokens
Result<size_t> FrontBytes(ByteSpan begin);
// Errors as above; kCorrupt also: its checksum fails, or its fields contradict one another. What
// follows the front in `front` is not looked at.
Result<ObjectHeader> DecodeHeader(ByteSpan front);
uint64_t PayloadChecksum(ByteSpan stored);

}  // namespace cairn

#endif  // CAIRN_STORE_OBJECT_H_
