#include "sched/media/saved_media.h"

#include <array>
#include <memory>

#include "base/hash.h"
#include "media/media_tokens.h"

namespace cairn {
namespace {

// Media tokens hold 29 bits each, so these hold the whole key.
constexpr size_t kKeyTokens = 8;
// The rows of a medium are needed again only where the text before it changes, or where its state
// has been evicted too.
constexpr double kNeededAgain = 0.25;

}  // namespace

SavedMedia::SavedMedia(DiskStore* disk, SavedAs saved_as, std::string_view encoder_identity)
    : disk_(disk),
      encoder_(Hash128(encoder_identity.data(), encoder_identity.size())),
      saved_as_(std::move(saved_as)) {}

Bits128 SavedMedia::KeyOf(const Medium& medium) const {
  const std::array<uint64_t, 4> words = {medium.content.high, medium.content.low, encoder_.high,
                                         encoder_.low};
  return Hash128(words.data(), sizeof(words));
}

std::optional<ObjectHeader> SavedMedia::HeaderOf(NamespaceId name_space, const Bits128& key) const {
  const MutexLock lock(mutex_);
  const auto name = saved_as_.NameOf(name_space);
  if (!name) return std::nullopt;
  ObjectHeader header;
  header.kind = ObjectKind::kMediaRows;
  header.fingerprint = saved_as_.fingerprint;
  header.name_space = *name;
  header.tokens = MediaTokens(key, kKeyTokens, /*positions=*/0);
  return header;
}

std::optional<EncodedPieces> SavedMedia::Load(NamespaceId name_space, const Medium& medium) {
  const Bits128 key = KeyOf(medium);
  const auto header = HeaderOf(name_space, key);
  if (!header) return std::nullopt;
  const ObjectName name = NameOf(*header);
  const auto payload = disk_->Read(name);
  if (!payload) return std::nullopt;
  auto pieces = DecodeRows(key, *payload);
  if (pieces) disk_->Touch(name);
  return pieces;
}

void SavedMedia::Save(NamespaceId name_space, const Medium& medium, const EncodedPieces& pieces,
                      double encode_ms) {
  const Bits128 key = KeyOf(medium);
  auto header = HeaderOf(name_space, key);
  if (!header) return;
  auto bytes = std::make_shared<const Bytes>(EncodeRows(key, pieces));
  header->worth_ms = encode_ms * kNeededAgain;
  // A disk that takes nothing now is a medium that is encoded again; it has counted and logged why.
  static_cast<void>(disk_->Write(*std::move(header), std::move(bytes)));
}

void SavedMedia::SetNameSpaces(SavedNames name_spaces) {
  const MutexLock lock(mutex_);
  saved_as_.name_spaces = std::move(name_spaces);
}

}  // namespace cairn
