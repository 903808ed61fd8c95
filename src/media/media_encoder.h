// MediaEncoder: turns the pixels of an image, or the samples of a recording, into the rows of
// embeddings that the model takes in place of tokens. The implementation on libmtmd is
// engine/media/llama_media_encoder.h.
//
//   DecodedMedium ── Layout ──> | text tokens | 256 rows | text tokens |      without computing
//                 ── Encode ──> the rows                                      on the projector
//
// A medium may have several pieces with rows (an overview and tiles of a large image), with tokens
// of text before, between and behind them.

#ifndef CAIRN_MEDIA_MEDIA_ENCODER_H_
#define CAIRN_MEDIA_MEDIA_ENCODER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/tokens.h"
#include "media/medium.h"

namespace cairn {

// A piece of a medium: tokens of text, or rows of embeddings.
struct MediumPiece {
  Tokens text = {};  // empty: rows
  size_t rows = 0;
  // The positions that the rows take up: as many as rows, but for models with M-RoPE, where the
  // rows of an image share positions.
  size_t positions = 0;

  friend bool operator==(const MediumPiece&, const MediumPiece&) = default;
};
using MediumLayout = std::vector<MediumPiece>;

// The position of a row beside the first position of its piece; M-RoPE only.
struct RowPosition {
  uint32_t t = 0;
  uint32_t y = 0;
  uint32_t x = 0;

  friend bool operator==(const RowPosition&, const RowPosition&) = default;
};

// The rows of one piece.
struct EncodedPiece {
  size_t rows = 0;
  size_t positions = 0;
  // Whether each row attends to the rows after it too. Then all rows are decoded in one ubatch.
  bool non_causal = false;
  std::vector<RowPosition> row_positions;  // M-RoPE: one a row; else empty
  std::vector<float> embeddings;           // rows x the model's embedding size
};

class MediaEncoder {
 public:
  virtual ~MediaEncoder() = default;
  virtual bool takes_images() const = 0;
  virtual bool takes_audio() const = 0;
  // Samples a second of the recordings that it takes; 0 if it takes none.
  virtual uint32_t sample_rate() const = 0;
  // Names everything that rows depend on besides the medium: the projector's content and settings.
  virtual std::string Identity() const = 0;
  // Any thread, concurrently. kInvalidArgument if the medium cannot be taken.
  virtual Result<MediumLayout> Layout(const DecodedMedium& medium) const = 0;
  // Returns the pieces of the layout that have rows. One thread at a time.
  virtual Result<std::vector<EncodedPiece>> Encode(const DecodedMedium& medium) = 0;
};

}  // namespace cairn

#endif  // CAIRN_MEDIA_MEDIA_ENCODER_H_
