// LlamaRowBatch: rows of a medium as a batch for llama_decode. For llama_*.cc only.
//
// Owned by one function; the batch is valid as long as this object and the piece are.

#ifndef CAIRN_ENGINE_LLAMA_STATE_LLAMA_ROW_BATCH_H_
#define CAIRN_ENGINE_LLAMA_STATE_LLAMA_ROW_BATCH_H_

#include <llama.h>

#include <cstdint>
#include <vector>

#include "base/provenance.h"
#include "engine/engine.h"
#include "media/media_encoder.h"

namespace cairn {

class LlamaRowBatch {
 public:
  enum class Outputs : uint8_t { kLastOfPiece, kAll };

  // The rows `rows` of `piece`, whose first row is at position `first` of `seq`.
  // REQUIRES: the piece has rows of as many numbers as the model takes.
  LlamaRowBatch(const EncodedPiece& piece, const TokenRange& rows, SeqId seq, llama_pos first,
                Outputs outputs);
  LlamaRowBatch(const LlamaRowBatch&) = delete;
  LlamaRowBatch& operator=(const LlamaRowBatch&) = delete;

  const llama_batch& batch() const { return batch_; }

 private:
  SeqId seq_;
  std::vector<llama_pos> positions_;
  std::vector<int32_t> seq_counts_;
  std::vector<llama_seq_id*> seqs_;
  std::vector<int8_t> has_output_;
  llama_batch batch_ = {};
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_STATE_LLAMA_ROW_BATCH_H_
