// Segments: how attention KV of a range of positions leaves a sequence and comes back, through
// llama.h alone.
//
// seq_cp shares the range's cells with a scratch sequence, whose state libllama then writes as
//
//   | 8 bytes: what it is | attention KV of the range | state that cannot be rolled back |
//
// The last part is of no use here and may be large, so the one of an empty sequence takes its
// place: a few bytes, with which libllama reads the rest just the same. Coming back, a segment is
// read into the scratch sequence, and seq_cp shares with the slot what is wanted of it. That must
// be the segment's front: what is not wanted frees its cells, and were those before the others,
// what comes next would be put there, in another order than a cold run's.
//
// The layout of a state is libllama's own and may change. So each load takes a short sequence apart
// and joins it again (ProveSegments); unless every byte is the same, segments are not used. On some
// architectures seq_cp aborts the process: they are not in the table (verified_architectures.h),
// and nothing here is called on them.

#include <llama.h>

#include <array>
#include <cstring>

#include "base/allocate.h"
#include "base/check.h"
#include "engine/llama/llama_engine.h"

namespace cairn {
namespace {

// Every state begins with libllama's own eight bytes.
constexpr size_t kStateHeaderBytes = 8;

// Stands before libllama's bytes in a segment.
struct SegmentHeader {
  std::array<char, 8> magic = {'C', 'R', 'N', 'S', 'E', 'G', 'M', '1'};
  uint64_t begin = 0;
  uint64_t end = 0;
};

}  // namespace

Result<Bytes> LlamaEngine::TakeSegment(SeqId seq, size_t begin, size_t end) {
  CHECK(traits_.segments);
  CHECK(begin < end && end <= SequenceEnd(seq));
  llama_memory_t memory = llama_get_memory(context());
  llama_memory_seq_cp(memory, seq, scratch_seq(), static_cast<llama_pos>(begin),
                      static_cast<llama_pos>(end));
  Bytes bytes;
  const Status written = WriteSegment(begin, end, &bytes);
  llama_memory_seq_rm(memory, scratch_seq(), -1, -1);
  if (!written) return tl::unexpected(written.error());
  return bytes;
}

// Writes what the scratch sequence holds.
Status LlamaEngine::WriteSegment(size_t begin, size_t end, Bytes* bytes) {
  SegmentHeader header;
  header.begin = begin;
  header.end = end;
  const size_t partial_bytes =
      llama_state_seq_get_size_ext(context(), scratch_seq(), LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY);
  const size_t state_bytes =
      llama_state_seq_get_size_ext(context(), scratch_seq(), LLAMA_STATE_SEQ_FLAGS_NONE);
  if (Status room = TryResize(bytes, sizeof(header) + state_bytes); !room) return room;
  std::memcpy(bytes->data(), &header, sizeof(header));
  const size_t written =
      llama_state_seq_get_data_ext(context(), bytes->data() + sizeof(header), state_bytes,
                                   scratch_seq(), LLAMA_STATE_SEQ_FLAGS_NONE);
  if (written != state_bytes || partial_bytes > state_bytes) {
    return Fail(ErrorCode::kInternal, "libllama gave no state for a range of the sequence");
  }
  bytes->resize(bytes->size() - (partial_bytes - kStateHeaderBytes));
  bytes->insert(bytes->end(), empty_partial_.begin() + kStateHeaderBytes, empty_partial_.end());
  return {};
}

Status LlamaEngine::Join(SeqId seq, size_t keep, std::span<const SegmentPart> parts,
                         size_t position, ByteSpan snapshot) {
  CHECK(traits_.segments);
  Status joined = KeepFront(seq, keep);
  size_t end = keep;
  for (const SegmentPart& part : parts) {
    CHECK(part.begin == end);
    if (joined) joined = SetSegment(seq, part);
    end = part.end;
  }
  CHECK(end == position);
  if (joined && traits_.NeedsSnapshots()) return Restore(seq, position, snapshot);
  if (joined && SequenceEnd(seq) != position) {
    joined = Fail(ErrorCode::kInternal, "the joined sequence ends elsewhere");
  }
  if (!joined) Clear(seq);
  return joined;
}

// What the sequence holds afterwards beside attention KV is of no meaning.
Status LlamaEngine::KeepFront(SeqId seq, size_t keep) {
  llama_memory_t memory = llama_get_memory(context());
  const auto cut = static_cast<llama_pos>(keep);
  if (keep == 0) {
    Clear(seq);
    return {};
  }
  CHECK(keep <= SequenceEnd(seq));
  if (llama_memory_seq_rm(memory, seq, cut, -1)) return {};
  // A recurrent state refuses to be cut, and the whole sequence with it; shared cells do not.
  llama_memory_seq_cp(memory, seq, scratch_seq(), 0, cut);
  llama_memory_seq_rm(memory, seq, -1, -1);
  llama_memory_seq_cp(memory, scratch_seq(), seq, -1, -1);
  llama_memory_seq_rm(memory, scratch_seq(), -1, -1);
  return {};
}

Status LlamaEngine::SetSegment(SeqId seq, const SegmentPart& part) {
  const Result<ByteSpan> bytes = part.Load();
  if (!bytes) return tl::unexpected(bytes.error());
  SegmentHeader header;
  if (bytes->size() <= sizeof(header)) {
    return Fail(ErrorCode::kCorrupt, "the segment is too short");
  }
  std::memcpy(&header, bytes->data(), sizeof(header));
  if (header.magic != SegmentHeader().magic || header.begin != part.begin ||
      header.end < part.end) {
    return Fail(ErrorCode::kCorrupt, "the segment is not of the positions asked for");
  }
  const ByteSpan state = bytes->subspan(sizeof(header));
  llama_memory_t memory = llama_get_memory(context());
  const size_t read = llama_state_seq_set_data_ext(context(), state.data(), state.size(),
                                                   scratch_seq(), LLAMA_STATE_SEQ_FLAGS_NONE);
  if (read > 0) {
    llama_memory_seq_cp(memory, scratch_seq(), seq, static_cast<llama_pos>(part.begin),
                        static_cast<llama_pos>(part.end));
  }
  llama_memory_seq_rm(memory, scratch_seq(), -1, -1);
  if (read == 0) {
    return Fail(WhyRefused(header.end - header.begin), "libllama refused a segment");
  }
  return {};
}

Status LlamaEngine::ProveSegments(SeqId seq) {
  const size_t end = SequenceEnd(seq);
  if (end == 0) return Fail(ErrorCode::kUnsupported, "there is nothing to try them on");
  empty_partial_.resize(
      llama_state_seq_get_size_ext(context(), scratch_seq(), LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY));
  llama_state_seq_get_data_ext(context(), empty_partial_.data(), empty_partial_.size(),
                               scratch_seq(), LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY);
  if (empty_partial_.size() < kStateHeaderBytes) {
    return Fail(ErrorCode::kUnsupported, "an empty state is shorter than its header");
  }
  Bytes whole;
  const Status written = WriteWhole(seq, 0, &whole);
  const auto front = TakeSegment(seq, end / 4, end / 2 + 1);
  const auto back = TakeSegment(seq, end / 2, end);
  if (!written || !front || !back) return Fail(ErrorCode::kUnsupported, "no state was given");
  Bytes snapshot;
  if (traits_.NeedsSnapshots()) {
    auto taken = TakeSnapshot(seq);
    if (!taken) return tl::unexpected(taken.error());
    snapshot = std::move(*taken);
  }
  const std::array<SegmentPart, 2> parts = {SegmentPart{end / 4, end / 2, *front},
                                            SegmentPart{end / 2, end, *back}};
  if (Status joined = Join(seq, end / 4, parts, end, snapshot); !joined) return joined;
  Bytes again;
  if (Status rewritten = WriteWhole(seq, 0, &again); !rewritten || again != whole) {
    return Fail(ErrorCode::kUnsupported, "a state joined from segments differs from the whole");
  }
  return ProveFork(seq, whole, snapshot);
}

}  // namespace cairn
