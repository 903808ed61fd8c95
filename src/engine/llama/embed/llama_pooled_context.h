// LlamaPooledContext: computes the vectors of a complete text, in a libllama context of its own
// that is made when the first text comes. For llama_*.cc only.
//
// A text is computed as one ubatch, because attention may look ahead and pooling needs all tokens;
// only where the last token counts and attention looks back alone is it split like a prompt. So the
// context has room for --ubatch-size tokens, and is made anew with more room for a longer text, if
// the machine has the memory.
//
// Short texts that come together are computed together, each as a sequence of its own, up to
// --ubatch-size tokens: a matrix that is read once for all of them. Then a vector may differ in its
// last bits from that of the text alone, as a product of another size rounds otherwise. The same
// texts in the same order give the same vectors.
//
// libllama pools the tokens of one batch, and a medium is a batch of its own. So where a text has
// media, the vectors of its tokens are pooled here:
//
//   text   | tokens | rows of an image | tokens |
//   batch      1            2              3          the vectors of all of them ──> mean, first
//
// Threads: any, at the same time; texts are processed one after the other.

#ifndef CAIRN_ENGINE_LLAMA_EMBED_LLAMA_POOLED_CONTEXT_H_
#define CAIRN_ENGINE_LLAMA_EMBED_LLAMA_POOLED_CONTEXT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/memory_watch.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/tokens.h"
#include "engine/embed/embedder.h"
#include "engine/llama/llama_engine.h"
#include "engine/llama/model/llama_options.h"
#include "engine/llama/model/llama_pointers.h"

namespace cairn {

class LlamaPooledContext {
 public:
  // `engine` must outlive this object; `options` are those it was loaded with. `pooling`: a
  // llama_pooling_type that the model supports, which gives `size` numbers.
  LlamaPooledContext(const LlamaEngine& engine, const LlamaOptions& options, int pooling,
                     size_t size);
  ~LlamaPooledContext();

  size_t size() const { return size_; }
  // Whether a text gives one vector. Otherwise it gives one for each token.
  bool pools() const;
  // The context's size.
  size_t tokens_max() const { return tokens_max_; }
  // Returns libllama's numbers unchanged. Errors as in Embedder::Embed.
  Result<TextVectors> Pool(TokenSpan tokens);
  // The same of several texts, in their order. Polls `gone` before each batch; true: kCancelled.
  Result<std::vector<TextVectors>> PoolAll(std::span<const TokenSpan> texts,
                                           const std::function<bool()>& gone);
  // The same of a text with media.
  Result<TextVectors> Pool(std::span<const TextPart> parts);
  TextCounts counts() const;

 private:
  // The room for a text: a power of two of ubatches, so that texts of about the same length do not
  // each make a context.
  size_t RoomFor(size_t tokens) const;
  // `pooling`: a llama_pooling_type of the context.
  Status MakeRoom(size_t tokens, int pooling) REQUIRES(mutex_);
  // Checks the memory for a context above --ubatch-size.
  Status CheckMemory(size_t room) const REQUIRES(mutex_);
  Status MakeContext(size_t room, int pooling) REQUIRES(mutex_);
  void Count(size_t texts, size_t tokens, double ms);
  Status CheckLength(size_t tokens) const;
  // Returns how many of the first texts are computed together; at least one.
  size_t TextsTogether(std::span<const TokenSpan> texts) const;
  // Computes texts together and appends their vectors.
  Status PoolTexts(std::span<const TokenSpan> texts, std::vector<TextVectors>* vectors)
      REQUIRES(mutex_);
  Status CheckRows(std::span<const TextPart> parts) const;
  Result<TextVectors> PoolWithRows(std::span<const TextPart> parts, size_t tokens) REQUIRES(mutex_);
  void Forget() REQUIRES(mutex_);
  void DropLargeRoom() REQUIRES(mutex_);
  // Decodes the texts, each as a sequence of its own, from position `first` on.
  Status Compute(std::span<const TokenSpan> texts, int32_t first) REQUIRES(mutex_);
  Status ComputeRows(const EncodedPiece& piece, int32_t first) REQUIRES(mutex_);
  // Returns the vectors of tokens of the last batch.
  Result<TextVectors> TokenVectors(size_t begin, size_t end) const REQUIRES(mutex_);
  Result<TextVectors> PooledVector(int32_t sequence) const REQUIRES(mutex_);

  llama_model* const model_;
  const LlamaOptions options_;
  const int pooling_;  // a llama_pooling_type
  const size_t size_;
  const size_t tokens_max_;
  const size_t ubatch_tokens_;  // of the options
  const uint64_t row_bytes_;    // of the logits of a token
  const bool looks_back_;       // whether attention looks back alone
  const bool splits_;           // whether a text may be cut into ubatches
  const size_t texts_max_;      // that are computed together
  const SteadyClock clock_;
  mutable Mutex counts_mutex_;
  TextCounts counts_ GUARDED_BY(counts_mutex_);
  const std::unique_ptr<MemoryWatch> memory_ PT_GUARDED_BY(mutex_);
  Mutex mutex_;
  LlamaContextPtr context_ GUARDED_BY(mutex_);  // nullptr until it is needed
  size_t room_ GUARDED_BY(mutex_) = 0;          // the most tokens that context_ takes
  int context_pooling_ GUARDED_BY(mutex_) = 0;  // a llama_pooling_type
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_EMBED_LLAMA_POOLED_CONTEXT_H_
