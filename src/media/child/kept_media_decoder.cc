#include "media/child/kept_media_decoder.h"

#include <algorithm>
#include <new>
#include <utility>

namespace cairn {
namespace {

size_t PixelBytes(const DecodedMedium& decoded) {
  return decoded.rgb.size() + decoded.samples.size() * sizeof(float);
}

}  // namespace

Result<DecodedMedium> KeptMediaDecoder::Decode(const Medium& medium) {
  {
    const MutexLock lock(mutex_);
    if (auto kept = Take(medium.content)) return *std::move(kept);
  }
  return decoder_->Decode(medium);
}

Result<DecodedMedium> KeptMediaDecoder::DecodeFor(uint64_t owner, const Medium& medium) {
  auto decoded = decoder_->DecodeFor(owner, medium);
  if (decoded) Keep(medium, *decoded);
  return decoded;
}

size_t KeptMediaDecoder::kept_bytes() const {
  const MutexLock lock(mutex_);
  return kept_bytes_;
}

std::optional<DecodedMedium> KeptMediaDecoder::Take(const Bits128& content) {
  const auto found = std::find_if(kept_.begin(), kept_.end(),
                                  [&](const Kept& kept) { return kept.content == content; });
  if (found == kept_.end()) return std::nullopt;
  DecodedMedium decoded = std::move(found->decoded);
  kept_bytes_ -= found->bytes;
  kept_.erase(found);
  return decoded;
}

// A copy spares time and is not needed, so nothing is lost where there is no memory for it.
void KeptMediaDecoder::Keep(const Medium& medium, const DecodedMedium& decoded) {
  const size_t bytes = PixelBytes(decoded);
  if (bytes > bytes_max_) return;
  std::list<Kept> added;
  try {
    added.push_back({medium.content, decoded, bytes});
  } catch (const std::bad_alloc&) {
    return;
  }
  const MutexLock lock(mutex_);
  Take(medium.content);  // an older copy
  kept_.splice(kept_.begin(), added);
  kept_bytes_ += bytes;
  while (kept_bytes_ > bytes_max_) {
    kept_bytes_ -= kept_.back().bytes;
    kept_.pop_back();
  }
}

}  // namespace cairn
