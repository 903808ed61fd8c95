#include "engine/llama/state/window_order.h"

#include "engine/llama/state/sequence_state.h"

namespace cairn {

// libllama writes cells in their order and reads them back into the first cells. At a prompt's cut
// they have not wrapped around to the first cell again, so their order is that of the tokens.
Status WindowOrder::Prepare(SeqId seq, bool single_token) {
  if (!enabled_) return {};
  if (single_token && cells_[seq].in_answer) return {};
  if (loaded_->SequenceEnd(seq) == 0) return {};
  if (Status written = WritePartialState(*loaded_, seq, 0, &buffer_); !written) return written;
  Status ordered = ReadPartialState(*loaded_, seq, buffer_);
  if (ordered) OnRestored(seq);
  return ordered;
}

void WindowOrder::OnDecoded(SeqId seq, bool single_token) {
  if (!enabled_) return;
  Cells& cells = cells_[seq];
  ++cells.unordered_tokens;
  cells.in_answer = single_token;
}

void WindowOrder::OnRestored(SeqId seq) {
  if (enabled_) cells_[seq] = {};
}

void WindowOrder::OnTruncated(SeqId seq) {
  if (enabled_) cells_[seq].in_answer = false;
}

bool WindowOrder::IsInOrder(SeqId seq) const {
  const auto cells = cells_.find(seq);
  return cells != cells_.end() && cells->second.unordered_tokens <= loaded_->ubatch_tokens();
}

void WindowOrder::ForgetAll() {
  cells_.clear();
  buffer_ = {};
}

}  // namespace cairn
