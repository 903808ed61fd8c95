// Embedder: computes embedding vectors of texts. Separate from Engine: it keeps no sequences and
// does not touch the context that generates answers.
//
// Threads: any, at the same time; texts are processed one after the other.

#ifndef CAIRN_ENGINE_EMBED_EMBEDDER_H_
#define CAIRN_ENGINE_EMBED_EMBEDDER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/tokens.h"
#include "media/media_encoder.h"

namespace cairn {

using TextVectors = std::vector<std::vector<float>>;

// The texts that were computed since the start.
struct TextCounts {
  uint64_t texts = 0;
  uint64_t tokens = 0;
  double ms = 0;

  TextCounts& operator+=(const TextCounts& more) {
    texts += more.texts;
    tokens += more.tokens;
    ms += more.ms;
    return *this;
  }
};

// A part of a text: tokens of the vocabulary, or a medium.
struct TextPart {
  TokenSpan tokens;
  const EncodedPiece* rows = nullptr;  // a medium's, in place of tokens
  size_t size() const { return rows != nullptr ? rows->rows : tokens.size(); }
};

class Embedder {
 public:
  virtual ~Embedder() = default;

  // The dimension of the vectors.
  virtual size_t size() const = 0;
  // The most tokens that one text may have.
  virtual size_t tokens_max() const = 0;
  // Whether a text gives one vector. Otherwise it gives one for each token.
  virtual bool pools() const { return true; }

  // Returns the vector of one text, normalized to length 1; all zeros if the model gives zeros. If
  // not pools(), returns those of all its tokens, of any length. The same tokens give the same
  // vectors. kInvalidArgument if there are no tokens. kTooLong if there
  // are too many. kNoSpace if there is no memory to work in. kInternal if the computation failed.
  virtual Result<TextVectors> Embed(TokenSpan tokens) = 0;
  // The same of a text with media: each row counts as a token. kUnsupported if the model or the
  // implementation takes none.
  virtual Result<TextVectors> EmbedParts(std::span<const TextPart> parts);

  // Returns the vectors of several texts, in their order, which may be computed together: then they
  // may differ in their last bits from those that Embed returns. The same list of texts gives the
  // same vectors. Polls `gone`; true: kCancelled. Other errors as in Embed.
  virtual Result<std::vector<TextVectors>> EmbedAll(std::span<const TokenSpan> texts,
                                                    const std::function<bool()>& gone);

  virtual TextCounts counts() const { return {}; }
};

inline Result<std::vector<TextVectors>> Embedder::EmbedAll(std::span<const TokenSpan> texts,
                                                           const std::function<bool()>& gone) {
  std::vector<TextVectors> vectors;
  for (const TokenSpan& text : texts) {
    if (gone && gone()) return Fail(ErrorCode::kCancelled, "the client disconnected");
    auto one = Embed(text);
    if (!one) return tl::unexpected(one.error());
    vectors.push_back(*std::move(one));
  }
  return vectors;
}

inline Result<TextVectors> Embedder::EmbedParts(std::span<const TextPart> /*parts*/) {
  return Fail(ErrorCode::kUnsupported, "this model embeds no images and no recordings");
}

}  // namespace cairn

#endif  // CAIRN_ENGINE_EMBED_EMBEDDER_H_
