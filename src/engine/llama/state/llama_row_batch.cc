#include "engine/llama/state/llama_row_batch.h"

#include <cstddef>

namespace cairn {

LlamaRowBatch::LlamaRowBatch(const EncodedPiece& piece, const TokenRange& rows, SeqId seq,
                             llama_pos first, Outputs outputs)
    : seq_(seq) {
  const size_t count = rows.end - rows.begin;
  const size_t row_floats = piece.embeddings.size() / piece.rows;
  // With M-RoPE a row has four positions: time, height, width, and one that is not used.
  positions_.resize(piece.row_positions.empty() ? count : 4 * count);
  for (size_t i = 0; i < count; ++i) {
    const size_t row = rows.begin + i;
    if (piece.row_positions.empty()) {
      positions_[i] = first + static_cast<llama_pos>(row);
      continue;
    }
    const RowPosition& at = piece.row_positions[row];
    positions_[i] = first + static_cast<llama_pos>(at.t);
    positions_[count + i] = first + static_cast<llama_pos>(at.y);
    positions_[2 * count + i] = first + static_cast<llama_pos>(at.x);
  }
  seq_counts_.assign(count, 1);
  seqs_.assign(count, &seq_);
  has_output_.assign(count, outputs == Outputs::kAll ? 1 : 0);
  if (rows.end == piece.rows) has_output_.back() = 1;
  batch_.n_tokens = static_cast<int32_t>(count);
  // libllama does not change the rows.
  batch_.embd = const_cast<float*>(piece.embeddings.data()) + rows.begin * row_floats;
  batch_.pos = positions_.data();
  batch_.n_seq_id = seq_counts_.data();
  batch_.seq_id = seqs_.data();
  batch_.logits = has_output_.data();
}

}  // namespace cairn
