// StoredObject: one object that the cache keeps on disk, as a self-describing file: a snapshot, a
// segment, the full state of a slot, or the rows of a medium. docs/format.md specifies every byte.
//
//   | fixed header | tokens, answers, runs | padding | payload, encoded by its codec |
//
// An object's name is a hash of all that determines its bits: the same state has the same name
// wherever it was made, and different states have different names. The name only finds an object;
// the tokens inside it decide whether it matches.
//
// Values and pure functions; any thread.

#ifndef CAIRN_STORE_OBJECT_H_
#define CAIRN_STORE_OBJECT_H_

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/provenance.h"
#include "base/result.h"
#include "base/tokens.h"

namespace cairn {

// Stored on disk: never change a value and never reuse one.
enum class ObjectKind : uint8_t { kSnapshot = 1, kSegment = 2, kFullState = 3, kMediaRows = 4 };
// 3 to 5 were lossy codecs, whose files no version reads any more.
enum class Codec : uint8_t { kRaw = 1, kLossless = 2 };

// 128 bits, written as 32 hexadecimal digits in file names. All zero means no name.
struct ObjectName {
  uint64_t high = 0;
  uint64_t low = 0;

  friend auto operator<=>(const ObjectName&, const ObjectName&) = default;
  bool empty() const { return high == 0 && low == 0; }
};

// Identifies the model, context settings and libraries that the bits belong to: a hash of all that
// influences them.
struct Fingerprint {
  uint64_t high = 0;
  uint64_t low = 0;

  friend auto operator<=>(const Fingerprint&, const Fingerprint&) = default;
};

struct ObjectHeader {
  ObjectKind kind = ObjectKind::kSnapshot;
  Fingerprint fingerprint;
  uint64_t name_space = 0;  // a hash of the client's key; 0 for requests without a key
  // All tokens of the sequence from position 0 to the object's end. For rows of a medium: media
  // tokens that stand for all that the rows depend on.
  Tokens tokens;
  size_t begin = 0;       // segments: the position of the first token; otherwise 0
  LineageId lineage = 0;  // lineage of the last token
  ObjectName parent;      // segments: the segment that this one begins in; empty if it begins at 0
  // Snapshots only: see Checkpoint (cache/checkpoint_cache.h).
  uint8_t checkpoint_class = 0;
  bool cold_end = false;
  size_t logits_bytes = 0;
  size_t turns = 0;
  // For a segment the answers within it, for a full state all answers.
  std::vector<TokenRange> answers = {};
  // Full states only: the provenance.
  size_t clean = 0;
  std::vector<Run> runs = {};
  // Expected cost of losing the object: the time to recompute it, weighted by how likely it is
  // needed. The eviction order depends on it.
  double worth_ms = 0;
  // Filled in when the object is written.
  Codec codec = Codec::kRaw;
  size_t raw_bytes = 0;           // size before encoding
  size_t stored_bytes = 0;        // size after encoding
  uint64_t payload_checksum = 0;  // checksum of the encoded bytes

  friend bool operator==(const ObjectHeader&, const ObjectHeader&) = default;
};

// Returns the kind as people read it: "full state".
std::string_view KindName(ObjectKind kind);
ObjectName NameOf(const ObjectHeader& header);
std::string ToText(const ObjectName& name);
std::string ToText(const Fingerprint& fingerprint);
// The name of an object's file is the name's hexadecimal digits and the suffix.
inline constexpr std::string_view kObjectSuffix = ".cairn";
inline constexpr size_t kObjectNameDigits = 32;
// Parses the name of a file without its folder, "<ToText>.cairn", or the result of ToText alone.
// Returns an empty name if `text` is neither.
ObjectName ParseObjectName(const std::string& text);

// How a file begins that is sealed (fleet/remote/sealed_fs.h): without its key it is nobody's to
// read.
inline constexpr std::array<uint8_t, 8> kSealedFileMagic = {0x89, 'C', 'A', 'I',
                                                            'R',  'N', 'D', '\n'};

// Returns the file's front: everything before the payload, padded to a multiple of 4,096 bytes. A
// `worth_ms` that is negative or not a number is written as 0. REQUIRES: the header's fields pass
// the checks of DecodeHeader.
Bytes EncodeHeader(const ObjectHeader& header);
// Returns the length of the front, given the first kFrontBytesMin bytes of the file. Returns
// kUnsupported if the front is intact and of a newer format, which the newer version can read, or
// if the file is sealed. Returns kCorrupt if it is not an object's, torn, or of a format that never
// existed; the message says which.
inline constexpr size_t kFrontBytesMin = 4096;
inline constexpr size_t kFrontBytesMax = size_t{64} << 20;  // about 16 million tokens
Result<size_t> FrontBytes(ByteSpan begin);
// Errors as above; also kCorrupt if its checksum fails or its fields contradict each other. Ignores
// bytes of `front` past the front's end.
Result<ObjectHeader> DecodeHeader(ByteSpan front);
uint64_t PayloadChecksum(ByteSpan stored);

}  // namespace cairn

#endif  // CAIRN_STORE_OBJECT_H_
