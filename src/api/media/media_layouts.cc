#include "api/media/media_layouts.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "media/media_tokens.h"
#include "media/thumbnail.h"

namespace cairn {
namespace {

Bits128 IdentityHash(const std::string& identity) {
  return Hash128(identity.data(), identity.size());
}

// The key of all that the rows of a piece depend on.
Bits128 LayoutKey(const Medium& medium, const Bits128& encoder, size_t piece) {
  const std::array<uint64_t, 5> words = {medium.content.high, medium.content.low, encoder.high,
                                         encoder.low, piece};
  return Hash128(words.data(), sizeof(words));
}

size_t KeptBytes(const LaidOutMedium& layout) {
  size_t bytes = sizeof(layout) + (layout.thumbnail == nullptr ? 0 : layout.thumbnail->size());
  for (const LaidOutPiece& piece : layout.pieces) {
    bytes += sizeof(piece) + piece.tokens.size() * sizeof(Token);
  }
  return bytes;
}

}  // namespace

size_t LaidOutMedium::tokens() const {
  size_t tokens = 0;
  for (const LaidOutPiece& piece : pieces) tokens += piece.tokens.size();
  return tokens;
}

MediaLayouts::MediaLayouts(MediaDecoder* decoder, const MediaEncoder* encoder,
                           size_t kept_bytes_max)
    : decoder_(decoder),
      encoder_(encoder),
      encoder_hash_(IdentityHash(encoder->Identity())),
      kept_bytes_max_(kept_bytes_max) {}

std::shared_ptr<const LaidOutMedium> MediaLayouts::Find(const Bits128& content) {
  const MutexLock lock(mutex_);
  const auto found = std::find_if(kept_.begin(), kept_.end(),
                                  [&](const Kept& kept) { return kept.content == content; });
  if (found == kept_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, found);
  return found->layout;
}

Result<std::shared_ptr<const LaidOutMedium>> MediaLayouts::Of(const Medium& medium,
                                                              uint64_t owner) {
  if (auto known = Find(medium.content); known != nullptr) return known;
  auto laid_out = LayOut(medium, owner);
  if (!laid_out) {
    return Fail(laid_out.error().code, medium.place + ": " + laid_out.error().message);
  }
  auto layout = std::make_shared<const LaidOutMedium>(*std::move(laid_out));
  Keep({medium.content, layout});
  return layout;
}

Result<LaidOutMedium> MediaLayouts::LayOut(const Medium& medium, uint64_t owner) const {
  const auto decoded = decoder_->DecodeFor(owner, medium);
  if (!decoded) return tl::unexpected(decoded.error());
  auto pieces = PiecesOf(medium, *decoded);
  if (!pieces) return tl::unexpected(pieces.error());
  LaidOutMedium layout{.pieces = *std::move(pieces), .thumbnail = {}, .preview = {}};
  MediumPreview& preview = layout.preview;
  if (decoded->kind == MediumKind::kImage) {
    preview.width = decoded->width;
    preview.height = decoded->height;
    Bytes thumbnail = MakeThumbnail(*decoded);
    if (!thumbnail.empty()) layout.thumbnail = std::make_shared<const Bytes>(std::move(thumbnail));
    preview.thumbnail = layout.thumbnail;
  } else if (encoder_->sample_rate() > 0) {
    preview.seconds = static_cast<double>(decoded->samples.size()) / encoder_->sample_rate();
  }
  return layout;
}

Result<std::vector<LaidOutPiece>> MediaLayouts::PiecesOf(const Medium& medium,
                                                         const DecodedMedium& decoded) const {
  const auto layout = encoder_->Layout(decoded);
  if (!layout) return tl::unexpected(layout.error());
  std::vector<LaidOutPiece> pieces;
  for (const MediumPiece& piece : *layout) {
    if (!piece.text.empty()) {
      pieces.push_back({piece.text, false});
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
    const Bits128 key = LayoutKey(medium, encoder_hash_, pieces.size());
    pieces.push_back({MediaTokens(key, piece.rows, piece.positions), true});
  }
  return pieces;
}

void MediaLayouts::Keep(Kept kept) {
  const MutexLock lock(mutex_);
  kept_bytes_ += KeptBytes(*kept.layout);
  kept_.push_front(std::move(kept));
  while (kept_bytes_ > kept_bytes_max_ && kept_.size() > 1) {
    kept_bytes_ -= KeptBytes(*kept_.back().layout);
    kept_.pop_back();
  }
}

}  // namespace cairn
