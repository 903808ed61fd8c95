#include "engine/llama/state/llama_segments.h"

#include <algorithm>
#include <array>

#include "base/bytes.h"
#include "base/check.h"
#include "engine/llama/state/segment_header.h"
#include "engine/llama/state/sequence_state.h"

namespace cairn {
namespace {

// Every state begins with libllama's own eight bytes.
constexpr size_t kStateHeaderBytes = 8;

}  // namespace

Result<Bytes> LlamaSegments::TakeSegment(SeqId seq, size_t begin, size_t end) {
  CHECK(traits_->segments);
  CHECK(begin < end && end <= loaded_->SequenceEnd(seq));
  llama_memory_t memory = loaded_->memory();
  llama_memory_seq_cp(memory, seq, loaded_->scratch_seq(), loaded_->PositionAt(seq, begin),
                      loaded_->PositionAt(seq, end));
  Bytes bytes;
  const Status written = WriteSegment(begin, end, &bytes);
  llama_memory_seq_rm(memory, loaded_->scratch_seq(), -1, -1);
  if (!written) return tl::unexpected(written.error());
  return bytes;
}

Status LlamaSegments::WriteSegment(size_t begin, size_t end, Bytes* bytes) {
  const size_t partial_bytes = llama_state_seq_get_size_ext(
      loaded_->context(), loaded_->scratch_seq(), LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY);
  const size_t state_bytes = llama_state_seq_get_size_ext(
      loaded_->context(), loaded_->scratch_seq(), LLAMA_STATE_SEQ_FLAGS_NONE);
  if (Status room = TryResize(bytes, sizeof(SegmentHeader) + state_bytes); !room) return room;
  WriteSegmentHeader(begin, end, bytes);
  const size_t written =
      llama_state_seq_get_data_ext(loaded_->context(), bytes->data() + sizeof(SegmentHeader),
                                   state_bytes, loaded_->scratch_seq(), LLAMA_STATE_SEQ_FLAGS_NONE);
  if (written != state_bytes || partial_bytes > state_bytes) {
    return Fail(ErrorCode::kInternal, "libllama gave no state for a range of the sequence");
  }
  bytes->resize(bytes->size() - (partial_bytes - kStateHeaderBytes));
  bytes->insert(bytes->end(), empty_partial_.begin() + kStateHeaderBytes, empty_partial_.end());
  return {};
}

Status LlamaSegments::Assemble(SeqId seq, size_t keep, std::span<const SegmentPart> parts,
                               size_t position, std::optional<ByteSpan> snapshot) {
  CHECK(traits_->segments);
  KeepFront(seq, keep);
  Status assembled;
  size_t end = keep;
  for (const SegmentPart& part : parts) {
    CHECK(part.begin == end);
    if (assembled) assembled = SetSegment(seq, part);
    end = part.end;
  }
  CHECK(end == position);
  if (assembled && !snapshot) return {};
  if (assembled && traits_->NeedsSnapshots()) return sequences_->Restore(seq, position, *snapshot);
  if (assembled && loaded_->SequenceEnd(seq) != position) {
    assembled = Fail(ErrorCode::kInternal, "the assembled sequence ends elsewhere");
  }
  if (!assembled) sequences_->Clear(seq);
  return assembled;
}

void LlamaSegments::KeepFront(SeqId seq, size_t keep) {
  llama_memory_t memory = loaded_->memory();
  const llama_pos cut = loaded_->PositionAt(seq, keep);
  if (keep == 0) {
    sequences_->Clear(seq);
    return;
  }
  // Between the steps of an assembly a state that cannot be rolled back has no end.
  if (keep >= loaded_->SequenceEnd(seq)) return;
  if (llama_memory_seq_rm(memory, seq, cut, -1)) return;
  // A recurrent state refuses to be truncated, and with it the whole sequence; shared cells do not.
  llama_memory_seq_cp(memory, seq, loaded_->scratch_seq(), 0, cut);
  llama_memory_seq_rm(memory, seq, -1, -1);
  llama_memory_seq_cp(memory, loaded_->scratch_seq(), seq, -1, -1);
  llama_memory_seq_rm(memory, loaded_->scratch_seq(), -1, -1);
}

Status LlamaSegments::SetSegment(SeqId seq, const SegmentPart& part) {
  const Result<ByteSpan> bytes = part.Load();
  if (!bytes) return tl::unexpected(bytes.error());
  const auto header = ReadSegmentHeader(*bytes, part);
  if (!header) return tl::unexpected(header.error());
  const ByteSpan state = bytes->subspan(sizeof(SegmentHeader));
  llama_memory_t memory = loaded_->memory();
  const size_t read =
      llama_state_seq_set_data_ext(loaded_->context(), state.data(), state.size(),
                                   loaded_->scratch_seq(), LLAMA_STATE_SEQ_FLAGS_NONE);
  if (read > 0) {
    llama_memory_seq_cp(memory, loaded_->scratch_seq(), seq, loaded_->PositionAt(seq, part.begin),
                        loaded_->PositionAt(seq, part.end));
  }
  llama_memory_seq_rm(memory, loaded_->scratch_seq(), -1, -1);
  if (read == 0) {
    return Fail(WhyRefused(*loaded_, cells_(), header->end - header->begin),
                "libllama refused a segment");
  }
  return {};
}

Status LlamaSegments::Fork(SeqId from, SeqId to, size_t position, ByteSpan snapshot) {
  CHECK(traits_->segments);
  CHECK(from != to && position <= loaded_->SequenceEnd(from));
  sequences_->Clear(to);
  llama_memory_seq_cp(loaded_->memory(), from, to, 0, loaded_->PositionAt(from, position));
  if (traits_->NeedsSnapshots()) return sequences_->Restore(to, position, snapshot);
  if (loaded_->SequenceEnd(to) == position) return {};
  sequences_->Clear(to);
  return Fail(ErrorCode::kInternal, "the forked sequence ends elsewhere");
}

Status LlamaSegments::Prove(SeqId seq) {
  const size_t end = loaded_->SequenceEnd(seq);
  if (end == 0) return Fail(ErrorCode::kUnsupported, "there is nothing to try them on");
  empty_partial_.resize(llama_state_seq_get_size_ext(loaded_->context(), loaded_->scratch_seq(),
                                                     LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY));
  llama_state_seq_get_data_ext(loaded_->context(), empty_partial_.data(), empty_partial_.size(),
                               loaded_->scratch_seq(), LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY);
  if (empty_partial_.size() < kStateHeaderBytes) {
    return Fail(ErrorCode::kUnsupported, "an empty state is shorter than its header");
  }
  Bytes full_state;
  const Status written = WriteFullState(*loaded_, seq, 0, &full_state);
  const auto front = TakeSegment(seq, end / 4, end / 2 + 1);
  const auto back = TakeSegment(seq, end / 2, end);
  if (!written || !front || !back) return Fail(ErrorCode::kUnsupported, "no state was given");
  Bytes snapshot;
  if (traits_->NeedsSnapshots()) {
    auto taken = sequences_->TakeSnapshot(seq);
    if (!taken) return tl::unexpected(taken.error());
    snapshot = std::move(*taken);
  }
  const std::array<SegmentPart, 2> parts = {SegmentPart{end / 4, end / 2, *front},
                                            SegmentPart{end / 2, end, *back}};
  if (Status assembled = Assemble(seq, end / 4, parts, end, snapshot); !assembled) return assembled;
  Status same = ProveSame(*loaded_, seq, full_state, kAssembledDiffers);
  if (!same) return same;
  return ProveFork(seq, full_state, snapshot);
}

Status LlamaSegments::ProveFork(SeqId seq, ByteSpan full_state, ByteSpan snapshot) {
  const SeqId other = loaded_->scratch_seq();
  const size_t end = loaded_->SequenceEnd(seq);
  const Status forked = ProveForks(*loaded_, seq, other, full_state, [&](SeqId from, SeqId to) {
    return Fork(from, to, end, snapshot);
  });
  sequences_->Clear(other);
  return forked;
}

}  // namespace cairn
