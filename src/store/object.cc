#include "store/object.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "base/text.h"

namespace cairn {
namespace {

// docs/format.md describes all of this; a test compares the page with the code.
constexpr std::array<uint8_t, 8> kMagic = {0x89, 'C', 'A', 'I', 'R', 'N', '\r', '\n'};
constexpr uint32_t kFormat = 1;
constexpr size_t kFixedBytes = 256;
constexpr size_t kCountsAt = 136;
constexpr size_t kChecksumBytes = 8;
constexpr size_t kTokenBytes = 4;
constexpr size_t kRangeBytes = 16;  // size of an answer or a run
constexpr uint64_t kPayloadBytesMax = uint64_t{1} << 40;
constexpr uint8_t kColdEndFlag = 1;

constexpr bool kLittleEndian = std::endian::native == std::endian::little;

// Writes little-endian on every machine.
class FieldWriter {
 public:
  void Number(uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) bytes_.push_back(static_cast<uint8_t>(value >> (8 * i)));
  }
  void Tokens(TokenSpan tokens) {
    if (kLittleEndian) {  // a hundred thousand tokens are not rare
      const size_t begin = bytes_.size();
      bytes_.resize(begin + tokens.size_bytes());
      if (!tokens.empty()) std::memcpy(&bytes_[begin], tokens.data(), tokens.size_bytes());
      return;
    }
    for (const Token token : tokens) Number(static_cast<uint32_t>(token), kTokenBytes);
  }
  void ZerosTo(size_t size) {
    CHECK(bytes_.size() <= size);
    bytes_.insert(bytes_.end(), size - bytes_.size(), 0);
  }
  // Appends the checksum of all bytes written so far.
  void Checksum() { Number(Hash64(bytes_.data(), bytes_.size()), kChecksumBytes); }
  Bytes Take() { return std::move(bytes_); }
  const Bytes& bytes() const { return bytes_; }

 private:
  Bytes bytes_;
};

// REQUIRES for all functions: enough bytes are left.
class FieldReader {
 public:
  explicit FieldReader(ByteSpan bytes) : left_(bytes) {}

  ByteSpan Take(size_t bytes) {
    CHECK(bytes <= left_.size());
    const ByteSpan taken = left_.first(bytes);
    left_ = left_.subspan(bytes);
    return taken;
  }
  uint64_t Number(size_t bytes) {
    const ByteSpan taken = Take(bytes);
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; ++i) value |= uint64_t{taken[i]} << (8 * i);
    return value;
  }
  uint8_t Byte() { return static_cast<uint8_t>(Number(1)); }
  Tokens TakeTokens(size_t count) {
    Tokens tokens(count);
    if (kLittleEndian) {
      const ByteSpan bytes = Take(count * kTokenBytes);
      if (!tokens.empty()) std::memcpy(tokens.data(), bytes.data(), bytes.size());
      return tokens;
    }
    for (Token& token : tokens) token = static_cast<Token>(Number(kTokenBytes));
    return tokens;
  }
  bool TakeZeros(size_t bytes) {
    const ByteSpan zeros = Take(bytes);
    return std::all_of(zeros.begin(), zeros.end(), [](uint8_t byte) { return byte == 0; });
  }
  size_t left() const { return left_.size(); }

 private:
  ByteSpan left_;
};

tl::unexpected<Error> Corrupt(std::string message) {
  return Fail(ErrorCode::kCorrupt, std::move(message));
}

bool ChecksumHolds(ByteSpan bytes) {
  const ByteSpan checked = bytes.first(bytes.size() - kChecksumBytes);
  return FieldReader(bytes.last(kChecksumBytes)).Number(kChecksumBytes) ==
         Hash64(checked.data(), checked.size());
}

// The numbers of elements that follow the fixed header.
struct Counts {
  uint64_t tokens = 0;
  uint64_t answers = 0;
  uint64_t runs = 0;
};

// The counts have 32 bits, so nothing overflows here.
uint64_t FrontBytesOf(const Counts& counts) {
  const uint64_t used = kFixedBytes + counts.tokens * kTokenBytes +
                        (counts.answers + counts.runs) * kRangeBytes + kChecksumBytes;
  return (used + kFrontBytesMin - 1) / kFrontBytesMin * kFrontBytesMin;
}

struct Start {
  size_t front_bytes = 0;
  Counts counts;
};

// The fields of the fixed header that determine how to read the rest.
Result<Start> ReadStart(ByteSpan begin) {
  if (StartsWith(begin, TextView(kSealedFileMagic))) {
    return Fail(ErrorCode::kUnsupported,
                "it is sealed; --cache-key-file names the file of its key");
  }
  const size_t seen = std::min(begin.size(), kMagic.size());
  if (!std::equal(kMagic.begin(), kMagic.begin() + seen, begin.begin())) {
    return Corrupt("it is none of ours: it does not begin as they do");
  }
  if (begin.size() < kFrontBytesMin) {
    return Corrupt("it is torn: it ends after " + std::to_string(begin.size()) +
                   " bytes, and the shortest front has " + std::to_string(kFrontBytesMin));
  }
  // The checksum comes before everything else, the format included: a flipped bit in one of our
  // files must not make it look like a newer version's. So this checksum is part of every future
  // format.
  if (!ChecksumHolds(begin.first(kFixedBytes))) {
    return Corrupt("the checksum of its fixed header fails");
  }
  FieldReader reader(begin.subspan(kMagic.size()));
  const uint64_t format = reader.Number(4);
  if (format != kFormat) {
    const bool newer = format > kFormat;
    return Fail(newer ? ErrorCode::kUnsupported : ErrorCode::kCorrupt,
                "written by " + std::string(newer ? "a newer" : "an older") + " cairn (format " +
                    std::to_string(format) + "), this one reads format " + std::to_string(kFormat));
  }
  Start start;
  start.front_bytes = reader.Number(4);
  FieldReader counts(begin.subspan(kCountsAt, 12));
  start.counts.tokens = counts.Number(4);
  start.counts.answers = counts.Number(4);
  start.counts.runs = counts.Number(4);
  if (start.front_bytes > kFrontBytesMax) {
    return Corrupt("its front is said to have " + std::to_string(start.front_bytes) +
                   " bytes, and none has more than " + std::to_string(kFrontBytesMax));
  }
  if (start.front_bytes != FrontBytesOf(start.counts)) {
    return Corrupt("its front is said to have " + std::to_string(start.front_bytes) +
                   " bytes, and what is said to be in it takes " +
                   std::to_string(FrontBytesOf(start.counts)));
  }
  return start;
}

// Returns what is wrong with the answers; null if nothing is.
const char* WrongAnswers(const ObjectHeader& header) {
  size_t end = header.begin;
  for (const TokenRange& answer : header.answers) {
    if (answer.begin < end) return "its answers are not in order, or begin before it";
    if (answer.begin >= answer.end) return "one of its answers is empty";
    end = answer.end;
  }
  return end > header.tokens.size() ? "an answer goes on behind its tokens" : nullptr;
}

const char* WrongRuns(const ObjectHeader& header) {
  if (header.clean > header.tokens.size()) return "more of it is clean than it has tokens";
  if (header.runs.empty()) return nullptr;
  if (header.runs.front().begin != header.clean) return "its first run does not begin at clean";
  for (size_t i = 0; i < header.runs.size(); ++i) {
    const Run& run = header.runs[i];
    if (run.lineage == 0) return "one of its runs has no number";
    if (i > 0 && run.begin <= header.runs[i - 1].begin) return "its runs are not in order";
    if (run.begin >= header.tokens.size()) return "a run begins behind its tokens";
  }
  return nullptr;
}

const char* WrongSizes(const ObjectHeader& header) {
  if (header.raw_bytes > kPayloadBytesMax || header.stored_bytes > kPayloadBytesMax) {
    return "its payload is said to be larger than any is";
  }
  if (header.codec == Codec::kRaw && header.raw_bytes != header.stored_bytes) {
    return "its payload is raw, and yet of another size than before";
  }
  if (header.logits_bytes > header.raw_bytes) return "its logits are larger than its payload";
  return nullptr;
}

// Returns a contradiction within the header; null if there is none.
const char* Contradiction(const ObjectHeader& header) {
  const bool segment = header.kind == ObjectKind::kSegment;
  if (header.begin > header.tokens.size()) return "it begins behind its tokens";
  if (header.begin > 0 && !segment) return "it begins in the middle, and is no segment";
  if (!header.parent.empty() && !segment) return "it has a parent, and is no segment";
  if (const char* const wrong = WrongAnswers(header); wrong != nullptr) return wrong;
  if (const char* const wrong = WrongRuns(header); wrong != nullptr) return wrong;
  return WrongSizes(header);
}

void WriteFixed(const ObjectHeader& header, uint64_t front_bytes, FieldWriter* writer) {
  for (const uint8_t byte : kMagic) writer->Number(byte, 1);
  writer->Number(kFormat, 4);
  writer->Number(front_bytes, 4);
  writer->Number(static_cast<uint8_t>(header.kind), 1);
  writer->Number(static_cast<uint8_t>(header.codec), 1);
  writer->Number(header.checkpoint_class, 1);
  writer->Number(header.cold_end ? kColdEndFlag : 0, 1);
  writer->Number(0, 4);
  writer->Number(header.fingerprint.high, 8);
  writer->Number(header.fingerprint.low, 8);
  writer->Number(header.name_space, 8);
  writer->Number(header.begin, 8);
  writer->Number(header.lineage, 8);
  writer->Number(header.parent.high, 8);
  writer->Number(header.parent.low, 8);
  writer->Number(header.logits_bytes, 8);
  writer->Number(header.turns, 8);
  writer->Number(header.clean, 8);
  const bool worth = std::isfinite(header.worth_ms) && header.worth_ms > 0;
  writer->Number(std::bit_cast<uint64_t>(worth ? header.worth_ms : 0.0), 8);
  writer->Number(header.raw_bytes, 8);
  writer->Number(header.stored_bytes, 8);
  writer->Number(header.payload_checksum, 8);
  CHECK(writer->bytes().size() == kCountsAt);
  writer->Number(header.tokens.size(), 4);
  writer->Number(header.answers.size(), 4);
  writer->Number(header.runs.size(), 4);
  writer->ZerosTo(kFixedBytes - kChecksumBytes);
  writer->Checksum();
}

// REQUIRES: ReadStart accepts the front.
Result<ObjectHeader> ReadFixed(ByteSpan front) {
  FieldReader reader(front.subspan(16, kFixedBytes - 16 - kChecksumBytes));
  ObjectHeader header;
  const uint8_t kind = reader.Byte();
  const uint8_t codec = reader.Byte();
  if (kind < 1 || kind > static_cast<uint8_t>(ObjectKind::kMediaRows)) {
    return Corrupt("its kind is unknown: " + std::to_string(kind));
  }
  if (codec < 1 || codec > static_cast<uint8_t>(Codec::kLossless)) {
    return Corrupt("its codec is unknown: " + std::to_string(codec));
  }
  header.kind = static_cast<ObjectKind>(kind);
  header.codec = static_cast<Codec>(codec);
  header.checkpoint_class = reader.Byte();
  const uint8_t flags = reader.Byte();
  if ((flags & ~kColdEndFlag) != 0) return Corrupt("a flag is unknown: " + std::to_string(flags));
  header.cold_end = flags != 0;
  bool zeros = reader.TakeZeros(4);
  header.fingerprint.high = reader.Number(8);
  header.fingerprint.low = reader.Number(8);
  header.name_space = reader.Number(8);
  header.begin = reader.Number(8);
  header.lineage = reader.Number(8);
  header.parent.high = reader.Number(8);
  header.parent.low = reader.Number(8);
  header.logits_bytes = reader.Number(8);
  header.turns = reader.Number(8);
  header.clean = reader.Number(8);
  header.worth_ms = std::bit_cast<double>(reader.Number(8));
  header.raw_bytes = reader.Number(8);
  header.stored_bytes = reader.Number(8);
  header.payload_checksum = reader.Number(8);
  (void)reader.Take(12);  // the counts are known
  zeros = reader.TakeZeros(reader.left()) && zeros;
  if (!zeros) return Corrupt("reserved bytes of its header are not zero");
  if (!std::isfinite(header.worth_ms) || std::signbit(header.worth_ms)) {
    return Corrupt("its worth is no number, or less than nothing");
  }
  return header;
}

}  // namespace

std::string_view KindName(ObjectKind kind) {
  switch (kind) {
    case ObjectKind::kSnapshot:
      return "snapshot";
    case ObjectKind::kSegment:
      return "segment";
    case ObjectKind::kFullState:
      return "full state";
    case ObjectKind::kMediaRows:
      return "embedding";
  }
  return "unknown";
}

ObjectName NameOf(const ObjectHeader& header) {
  FieldWriter writer;
  const bool logits = header.kind == ObjectKind::kSnapshot && header.logits_bytes > 0;
  for (const uint64_t value :
       {header.fingerprint.high, header.fingerprint.low, header.name_space,
        static_cast<uint64_t>(header.kind), uint64_t{header.begin}, uint64_t{header.lineage},
        uint64_t{logits}, uint64_t{header.tokens.size()}}) {
    writer.Number(value, 8);
  }
  writer.Tokens(header.tokens);
  const Bits128 hash = Hash128(writer.bytes().data(), writer.bytes().size());
  return {hash.high, hash.low};
}

std::string ToText(const ObjectName& name) {
  return HexText(name.high) + HexText(name.low);
}

std::string ToText(const Fingerprint& fingerprint) {
  return HexText(fingerprint.high) + HexText(fingerprint.low);
}

ObjectName ParseObjectName(const std::string& text) {
  std::string_view digits = text;
  if (digits.ends_with(kObjectSuffix)) digits.remove_suffix(kObjectSuffix.size());
  if (digits.size() != kObjectNameDigits) return {};
  std::array<uint64_t, 2> parts = {};
  for (size_t i = 0; i < kObjectNameDigits; ++i) {
    const char c = digits[i];
    const bool letter = c >= 'a' && c <= 'f';
    if (!letter && (c < '0' || c > '9')) return {};
    uint64_t& part = parts[i / (kObjectNameDigits / 2)];
    part = part << 4 | static_cast<uint64_t>(letter ? c - 'a' + 10 : c - '0');
  }
  return {parts[0], parts[1]};
}

Bytes EncodeHeader(const ObjectHeader& header) {
  CHECK(Contradiction(header) == nullptr);
  const uint64_t front_bytes =
      FrontBytesOf({header.tokens.size(), header.answers.size(), header.runs.size()});
  CHECK(front_bytes <= kFrontBytesMax);
  FieldWriter writer;
  WriteFixed(header, front_bytes, &writer);
  writer.Tokens(header.tokens);
  for (const TokenRange& answer : header.answers) {
    writer.Number(answer.begin, 8);
    writer.Number(answer.end, 8);
  }
  for (const Run& run : header.runs) {
    writer.Number(run.lineage, 8);
    writer.Number(run.begin, 8);
  }
  writer.ZerosTo(front_bytes - kChecksumBytes);
  writer.Checksum();
  return writer.Take();
}

Result<size_t> FrontBytes(ByteSpan begin) {
  const Result<Start> start = ReadStart(begin);
  if (!start) return tl::unexpected(start.error());
  return start->front_bytes;
}

Result<ObjectHeader> DecodeHeader(ByteSpan front) {
  const Result<Start> start = ReadStart(front);
  if (!start) return tl::unexpected(start.error());
  if (front.size() < start->front_bytes) {
    return Corrupt("it is torn: " + std::to_string(front.size()) +
                   " bytes of its front are there, " + std::to_string(start->front_bytes) +
                   " were written");
  }
  front = front.first(start->front_bytes);
  if (!ChecksumHolds(front)) return Corrupt("the checksum of its front fails");
  Result<ObjectHeader> header = ReadFixed(front);
  if (!header) return header;
  // The counts were checked against the front's length, which bounds the allocations below.
  FieldReader reader(front.subspan(kFixedBytes));
  header->tokens = reader.TakeTokens(start->counts.tokens);
  for (size_t i = 0; i < start->counts.answers; ++i) {
    const size_t begin = reader.Number(8);
    header->answers.push_back({begin, reader.Number(8)});
  }
  for (size_t i = 0; i < start->counts.runs; ++i) {
    const LineageId lineage = reader.Number(8);
    header->runs.push_back({lineage, reader.Number(8)});
  }
  if (!reader.TakeZeros(reader.left() - kChecksumBytes)) {
    return Corrupt("what fills its front up is not zero");
  }
  if (const char* const wrong = Contradiction(*header); wrong != nullptr) return Corrupt(wrong);
  return header;
}

uint64_t PayloadChecksum(ByteSpan stored) {
  return Hash64(stored.data(), stored.size());
}

}  // namespace cairn
