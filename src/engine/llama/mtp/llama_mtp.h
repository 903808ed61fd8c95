// LlamaMtp: a model's heads for multi-token prediction on libllama, in a context of their own.
//
//   model     | t0 t1 … t57 t58 t59 |            rows: the hidden state behind each token
//   heads     | t0 t1 … t57 |                    each token is read with the row behind the one
//                    unread | t58 t59 |          before it; the last few wait for the next draft
//
// The last tokens are read together with the next draft's first token, so a draft of n tokens takes
// n decodes of the heads, for all answers together. Longer runs, such as a prompt's chunk, are read
// at once.
//
// The functions named On… and the rest, up to Draft, are called by LlamaEngine as it changes its
// sequences, so that what the heads know goes where the model's state goes. Where they do not fit
// what is known, the heads begin again.
//
// Threads: the one that owns the context.

#ifndef CAIRN_ENGINE_LLAMA_MTP_LLAMA_MTP_H_
#define CAIRN_ENGINE_LLAMA_MTP_LLAMA_MTP_H_

#include <llama.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "engine/engine.h"
#include "engine/llama/model/loaded_model.h"
#include "engine/llama/mtp/mtp_part.h"
#include "engine/mtp_heads.h"

namespace cairn {

class LlamaMtp final : public MtpHeads {
 public:
  // `loaded` must outlive this object.
  explicit LlamaMtp(const LoadedModel* loaded) : loaded_(loaded) {}
  ~LlamaMtp() override;

  // Whether the model that is loaded has heads. The functions below do nothing without.
  bool on() const { return loaded_->heads().context != nullptr; }

  // The model decoded these tokens, and its rows are still there.
  void OnDecoded(std::span<const NextToken> tokens);
  // `seq` holds `end` tokens, of which the heads know none.
  void BeginAt(SeqId seq, size_t end);
  // The tokens at and after `position` are dropped, or replaced by an earlier state's.
  void CutTo(SeqId seq, size_t position);
  // `to` begins with the first `position` tokens of `from`.
  void Fork(SeqId from, SeqId to, size_t position);
  // Sets the row behind the last token of `seq`, which holds `position` tokens.
  void SetRow(SeqId seq, size_t position, ByteSpan row);
  // Sets what was taken of [begin, end), or of more tokens from `begin` on.
  void SetKv(SeqId seq, size_t begin, size_t end, ByteSpan kv);
  void OnUnloaded();

  // The row behind the last token of `seq`, which holds `position` tokens; empty if not known.
  ByteSpan RowAt(SeqId seq, size_t position) const;
  // The KV that the heads have of [begin, end); empty if they do not know all of it.
  Result<Bytes> TakeKv(SeqId seq, size_t begin, size_t end);
  // The first token that the heads know of `seq`.
  size_t KnownFrom(SeqId seq) const;
  // Bytes of a row.
  size_t row_bytes() const { return width() * sizeof(float); }

  std::vector<Tokens> DraftEach(std::span<const Wish> wishes, double p_min) override;
  size_t KnownTokens(SeqId seq) const override;

 private:
  struct BatchDeleter {
    void operator()(llama_batch_ext* batch) const { llama_batch_ext_free(batch); }
  };
  struct Sequence {
    size_t begin = 0;  // the heads' KV is that of [begin, end)
    size_t end = 0;
    Tokens unread;            // the tokens behind it
    std::vector<float> rows;  // before each of those, and behind the last; zeros: not known
    size_t known_end() const { return end + unread.size(); }
  };

  size_t width() const;
  llama_context* context() const { return loaded_->heads().context.get(); }
  llama_memory_t memory() const { return llama_get_memory(context()); }
  SeqId scratch() const { return static_cast<SeqId>(loaded_->heads().slots); }
  Sequence& At(SeqId seq);
  std::span<const float> RowBefore(const Sequence& sequence, size_t index) const;
  // The heads begin again behind the last known token, whose row stays.
  void BeginAgain(SeqId seq);
  // The unread tokens are read.
  void OnRead(SeqId seq);
  // Adds the unread tokens [begin, end) to the batch.
  bool AddUnread(SeqId seq, size_t begin, size_t end);
  // A draft that goes on.
  struct Drafting {
    const Wish* wish = nullptr;
    size_t base = 0;  // tokens that the sequence holds
    Tokens* drafted = nullptr;
    int32_t output = -1;  // the index of its last token in the batch
  };
  // Adds the unread tokens and the next one of each wish to the batch. Returns the drafts that
  // begin.
  std::vector<Drafting> BeginDrafts(std::span<const Wish> wishes, std::vector<Tokens>* drafts);
  // Adds the likeliest token to a draft whose last token was decoded, and to the batch if the draft
  // goes on. Returns whether it does.
  bool Extend(Drafting* draft, double p_min);
  // Returns the likeliest token at an output of the last batch, if it has at least `p_min`.
  std::optional<Token> Likeliest(int32_t output, double p_min) const;
  // Reads the unread tokens. Returns false if it cannot; then the heads have begun again.
  bool Read(SeqId seq);
  // Adds a token to the batch. Returns its index.
  int32_t Add(SeqId seq, size_t position, Token token, std::span<const float> row, bool output);
  // Decodes the batch and empties it.
  bool Process();

  const LoadedModel* const loaded_;
  std::vector<Sequence> sequences_;
  std::unique_ptr<llama_batch_ext, BatchDeleter> batch_;
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_MTP_LLAMA_MTP_H_
