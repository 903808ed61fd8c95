// Attention KV that moves to other positions. libllama rotates the keys it holds by the distance,
// when it next decodes.

#include <llama.h>

#include "base/check.h"
#include "engine/llama/llama_engine.h"
#include "engine/verified_architectures.h"

namespace cairn {

// What libllama says of its memory is not enough: where keys are not rotated by their position, or
// by several numbers each, nothing it could do with them would be right. Nor are memories moved
// that nobody has tried to take apart.
bool LlamaEngine::MayShift() const {
  if (traits_.memory_class != MemoryClass::kAttention || traits_.NeedsSnapshots()) return false;
  const llama_rope_type rope = llama_model_rope_type(model_.get());
  if (rope != LLAMA_ROPE_TYPE_NORM && rope != LLAMA_ROPE_TYPE_NEOX) return false;
  return SegmentsVerified(info_.architecture) &&
         llama_memory_can_shift(llama_get_memory(context()));
}

Status LlamaEngine::Drop(SeqId seq, size_t begin, size_t end) {
  const size_t size = SequenceEnd(seq);
  CHECK(traits_.shifts && begin < end && end <= size);
  llama_memory_t memory = llama_get_memory(context());
  const auto first = static_cast<llama_pos>(begin);
  const auto behind = static_cast<llama_pos>(end);
  if (!llama_memory_seq_rm(memory, seq, first, behind)) {
    Clear(seq);
    return Fail(ErrorCode::kInternal, "libllama refused to drop a part of the sequence");
  }
  if (end < size) llama_memory_seq_add(memory, seq, behind, -1, first - behind);
  if (SequenceEnd(seq) == size - (end - begin)) return {};
  Clear(seq);
  return Fail(ErrorCode::kInternal, "the shifted sequence ends elsewhere");
}

}  // namespace cairn
