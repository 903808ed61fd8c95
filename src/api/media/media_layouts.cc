#include "api/media/media_layouts.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "media/media_tokens.h"

namespace cairn {
namespace {

Bits128 HashOf(const std::string& identity) {
  return Hash128(identity.data(), identity.size());
}

// The key of all that the rows of a piece depend on.
Bits128 KeyOf(const Medium& medium, const Bits128& encoder, size_t piece) {
  const std::array<uint64_t, 5> words = {medium.content.high, medium.content.low, encoder.high,
                                         encoder.low, piece};
  return Hash128(words.data(), sizeof(words));
}

}  // namespace

MediaLayouts::MediaLayouts(MediaDecoder* decoder, const MediaEncoder* encoder, size_t kept_max)
    : decoder_(decoder),
      encoder_(encoder),
      encoder_hash_(HashOf(encoder->Identity())),
      kept_max_(kept_max) {}

std::shared_ptr<const LaidOutMedium> MediaLayouts::Find(const Bits128& content) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(kept_.begin(), kept_.end(),
                                  [&](const Kept& kept) { return kept.content == content; });
  if (found == kept_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, found);
  return found->layout;
}

Result<std::shared_ptr<const LaidOutMedium>> MediaLayouts::Of(const Medium& medium) {
  if (auto known = Find(medium.content); known != nullptr) return known;
  auto laid_out = LayOut(medium);
  if (!laid_out) {
    return Fail(laid_out.error().code, medium.place + ": " + laid_out.error().message);
  }
  auto layout = std::make_shared<const LaidOutMedium>(*std::move(laid_out));
  const std::lock_guard lock(mutex_);
  kept_.push_front({medium.content, layout});
  if (kept_.size() > kept_max_) kept_.pop_back();
  return layout;
}

Result<LaidOutMedium> MediaLayouts::LayOut(const Medium& medium) const {
  const auto decoded = decoder_->Decode(medium);
  if (!decoded) return tl::unexpected(decoded.error());
  const auto layout = encoder_->Layout(*decoded);
  if (!layout) return tl::unexpected(layout.error());
  LaidOutMedium laid_out;
  for (const MediumPiece& piece : *layout) {
    if (!piece.text.empty()) {
      laid_out.push_back({piece.text, false});
      continue;
    }
    const std::string kind(MediumKindName(medium.kind));
    if (piece.rows < kMediumRowsMin) {
      return Fail(ErrorCode::kInvalidArgument,
                  "the " + kind + " is too small: it becomes " + std::to_string(piece.rows) +
                      " tokens, and at least " + std::to_string(kMediumRowsMin) + " are needed");
    }
    if (piece.positions > kMediumPositionsMax) {
      return Fail(ErrorCode::kInvalidArgument, "the " + kind + " is too large");
    }
    const Bits128 key = KeyOf(medium, encoder_hash_, laid_out.size());
    laid_out.push_back({MediaTokens(key, piece.rows, piece.positions), true});
  }
  return laid_out;
}

}  // namespace cairn
