#include "fleet/remote/remote_objects.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace cairn {
namespace {

constexpr uint8_t kEntryFormat = 1;
constexpr uint8_t kLogitsFlag = 1;

void Append(uint64_t value, size_t bytes, std::string* text) {
  for (size_t i = 0; i < bytes; ++i) text->push_back(static_cast<char>(value >> (8 * i) & 0xFFU));
}

// REQUIRES: enough bytes are left.
uint64_t Take(ByteSpan* bytes, size_t size) {
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) value |= uint64_t{(*bytes)[i]} << (8 * i);
  *bytes = bytes->subspan(size);
  return value;
}

}  // namespace

std::string EncodeEntry(const RemoteEntry& entry) {
  std::string text;
  Append(kEntryFormat, 1, &text);
  Append(static_cast<uint8_t>(entry.kind), 1, &text);
  Append(entry.checkpoint_class, 1, &text);
  Append(entry.has_logits ? kLogitsFlag : 0, 1, &text);
  Append(0, 4, &text);
  for (const uint64_t value :
       {entry.id.high, entry.id.low, entry.parent.high, entry.parent.low, entry.begin, entry.end,
        uint64_t{entry.lineage}, entry.stored_bytes, std::bit_cast<uint64_t>(entry.worth_ms),
        static_cast<uint64_t>(entry.written_s)}) {
    Append(value, 8, &text);
  }
  return text;
}

Result<RemoteEntry> DecodeEntry(ByteSpan bytes) {
  if (bytes.empty()) return Fail(ErrorCode::kCorrupt, "the index entry is empty");
  if (bytes[0] > kEntryFormat) {
    return Fail(ErrorCode::kUnsupported, "a newer cairn wrote the index entry");
  }
  if (bytes[0] != kEntryFormat || bytes.size() != kEntryBytes) {
    return Fail(ErrorCode::kCorrupt, "the index entry has " + std::to_string(bytes.size()) +
                                         " bytes; one has " + std::to_string(kEntryBytes));
  }
  RemoteEntry entry;
  bytes = bytes.subspan(1);
  const uint64_t kind = Take(&bytes, 1);
  if (kind < 1 || kind > static_cast<uint8_t>(ObjectKind::kFullState)) {
    return Fail(ErrorCode::kCorrupt, "the index entry is of an unknown kind");
  }
  entry.kind = static_cast<ObjectKind>(kind);
  entry.checkpoint_class = static_cast<uint8_t>(Take(&bytes, 1));
  entry.has_logits = (Take(&bytes, 1) & kLogitsFlag) != 0;
  (void)Take(&bytes, 4);
  entry.id.high = Take(&bytes, 8);
  entry.id.low = Take(&bytes, 8);
  entry.parent.high = Take(&bytes, 8);
  entry.parent.low = Take(&bytes, 8);
  entry.begin = Take(&bytes, 8);
  entry.end = Take(&bytes, 8);
  entry.lineage = Take(&bytes, 8);
  entry.stored_bytes = Take(&bytes, 8);
  entry.worth_ms = std::bit_cast<double>(Take(&bytes, 8));
  entry.written_s = static_cast<int64_t>(Take(&bytes, 8));
  if (entry.id.empty() || entry.begin > entry.end || !std::isfinite(entry.worth_ms)) {
    return Fail(ErrorCode::kCorrupt, "the index entry contradicts itself");
  }
  return entry;
}

void KeepNewest(std::vector<RemoteEntry>* entries) {
  if (entries->size() <= kEntriesPerKeyMax) return;
  std::stable_sort(
      entries->begin(), entries->end(),
      [](const RemoteEntry& a, const RemoteEntry& b) { return a.written_s > b.written_s; });
  entries->resize(kEntriesPerKeyMax);
}

}  // namespace cairn
