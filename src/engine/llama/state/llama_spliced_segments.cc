#include "engine/llama/state/llama_spliced_segments.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "engine/llama/state/segment_header.h"
#include "engine/llama/state/sequence_state.h"

namespace cairn {
namespace {

constexpr size_t kFrontBytes = StateLayout::kFrontBytes;

// The KV of a window begins with the number of streams and that of each stream's cells. Returns the
// rest of an empty sequence's state as if there were one stream.
Bytes InOneBuffer(ByteSpan empty_rest, size_t streams) {
  std::vector<uint32_t> head(1 + streams, 0);
  head.front() = static_cast<uint32_t>(streams);
  const size_t head_bytes = head.size() * sizeof(uint32_t);
  const bool has_window = empty_rest.size() >= head_bytes &&
                          std::memcmp(empty_rest.data(), head.data(), head_bytes) == 0;
  if (!has_window) return {empty_rest.begin(), empty_rest.end()};
  const std::array<uint32_t, 2> one_empty = {1, 0};
  Bytes rest(sizeof(one_empty));
  std::memcpy(rest.data(), one_empty.data(), sizeof(one_empty));
  const ByteSpan behind = empty_rest.subspan(head_bytes);
  rest.insert(rest.end(), behind.begin(), behind.end());
  return rest;
}

}  // namespace

Result<StateLayout::Kv> LlamaSplicedSegments::KvOf(SeqId seq) {
  if (!taken_ || taken_->seq != seq) {
    Release();
    Taken taken{seq, {}};
    if (Status written = WriteFullState(*loaded_, seq, 0, &taken.state); !written) {
      return tl::unexpected(written.error());
    }
    taken_ = std::move(taken);
  }
  auto kv = layout_->Find(taken_->state);
  if (!kv) Release();
  return kv;
}

Result<Bytes> LlamaSplicedSegments::TakeSegment(SeqId seq, size_t begin, size_t end) {
  CHECK(traits_->segments);
  CHECK(begin < end && end <= loaded_->SequenceEnd(seq));
  const auto kv = KvOf(seq);
  if (!kv) return tl::unexpected(kv.error());
  StateSplice::Plan plan;
  plan.cells = end - begin;
  plan.front = sizeof(SegmentHeader);
  plan.rest = empty_rest_;
  Bytes bytes;
  auto splice = StateSplice::Begin(&*layout_, plan, &bytes);
  if (!splice) return tl::unexpected(splice.error());
  WriteSegmentHeader(begin, end, &bytes);
  const Status appended = splice->Append(*kv, RangeOf(seq, begin, end));
  if (!appended || end == loaded_->SequenceEnd(seq)) Release();
  if (!appended) return tl::unexpected(appended.error());
  return bytes;
}

Status LlamaSplicedSegments::Assemble(SeqId seq, size_t keep, std::span<const SegmentPart> parts,
                                      size_t position, ByteSpan snapshot) {
  CHECK(traits_->segments && keep <= loaded_->SequenceEnd(seq));
  return SetState(seq, position, Splice(seq, keep, parts, position, snapshot));
}

Status LlamaSplicedSegments::Fork(SeqId from, SeqId to, size_t position, ByteSpan snapshot) {
  CHECK(traits_->segments);
  CHECK(from != to && position <= loaded_->SequenceEnd(from));
  if (position == 0) {
    sequences_->Clear(to);
    return {};
  }
  return SetState(to, position, Splice(from, position, {}, position, snapshot));
}

Result<Bytes> LlamaSplicedSegments::Splice(SeqId seq, size_t keep,
                                           std::span<const SegmentPart> parts, size_t position,
                                           ByteSpan snapshot) {
  const auto rest = RestIn(snapshot, position);
  if (!rest) return tl::unexpected(rest.error());
  StateSplice::Plan plan;
  plan.stream = static_cast<uint32_t>(seq);
  plan.streams = static_cast<uint32_t>(loaded_->slots());
  plan.cells = position;
  plan.rest = *rest;
  Bytes state;
  auto splice = StateSplice::Begin(&*layout_, plan, &state);
  if (!splice) return tl::unexpected(splice.error());
  if (keep > 0) {
    const auto kv = KvOf(seq);
    if (!kv) return tl::unexpected(kv.error());
    const Status kept = splice->Append(*kv, RangeOf(seq, 0, keep));
    Release();
    if (!kept) return tl::unexpected(kept.error());
  }
  size_t end = keep;
  for (const SegmentPart& part : parts) {
    CHECK(part.begin == end);
    if (Status appended = AppendPart(seq, part, &*splice); !appended) {
      return tl::unexpected(appended.error());
    }
    end = part.end;
  }
  CHECK(splice->is_whole());
  return state;
}

StateLayout::Range LlamaSplicedSegments::RangeOf(SeqId seq, size_t begin, size_t end) const {
  return {static_cast<size_t>(loaded_->PositionAt(seq, begin)),
          static_cast<size_t>(loaded_->PositionAt(seq, end)), end - begin};
}

Status LlamaSplicedSegments::AppendPart(SeqId seq, const SegmentPart& part,
                                        StateSplice* splice) const {
  const Result<ByteSpan> bytes = part.Load();
  if (!bytes) return tl::unexpected(bytes.error());
  const auto header = ReadSegmentHeader(*bytes, part);
  if (!header) return tl::unexpected(header.error());
  const ByteSpan state = bytes->subspan(sizeof(SegmentHeader));
  const auto kv = layout_->Find(state);
  if (!kv) return tl::unexpected(kv.error());
  if (kv->cells != header->end - header->begin || state.size() - kv->end != empty_rest_.size()) {
    return Fail(ErrorCode::kCorrupt, "the segment has another size than its positions");
  }
  return splice->Append(*kv, RangeOf(seq, part.begin, part.end));
}

Status LlamaSplicedSegments::SetState(SeqId seq, size_t position, const Result<Bytes>& state) {
  sequences_->Clear(seq);
  if (!state) return tl::unexpected(state.error());
  const size_t read = llama_state_seq_set_data_ext(loaded_->context(), state->data(), state->size(),
                                                   seq, LLAMA_STATE_SEQ_FLAGS_NONE);
  if (read == state->size() && loaded_->SequenceEnd(seq) == position) {
    sequences_->OnRestored(seq);
    return {};
  }
  sequences_->Clear(seq);
  // A stream has room for every position that a sequence can have.
  return Fail(ErrorCode::kCorrupt, read == state->size()
                                       ? "the assembled sequence ends elsewhere"
                                       : "libllama refused a state assembled from segments");
}

Result<ByteSpan> LlamaSplicedSegments::RestIn(ByteSpan snapshot, size_t position) const {
  if (!traits_->NeedsSnapshots()) return ByteSpan();
  const auto partial = LlamaSequences::PartialStateIn(snapshot, position);
  if (!partial) return tl::unexpected(partial.error());
  if (partial->size() < kFrontBytes) {
    return Fail(ErrorCode::kCorrupt, "the snapshot is shorter than its header");
  }
  return partial->subspan(kFrontBytes);
}

Status LlamaSplicedSegments::Prove(SeqId seq) {
  CHECK(loaded_->slots() > 1);
  Bytes full_state;
  if (Status written = WriteFullState(*loaded_, seq, 0, &full_state); !written) return written;
  Bytes snapshot;
  if (traits_->NeedsSnapshots()) {
    auto taken = sequences_->TakeSnapshot(seq);
    if (!taken) return tl::unexpected(taken.error());
    snapshot = std::move(*taken);
  }
  Status proven = Learn(seq, full_state);
  if (proven) proven = ProveAssembly(seq, full_state, snapshot);
  if (proven) proven = ProveFork(seq, full_state, snapshot);
  Release();
  return proven;
}

Status LlamaSplicedSegments::Learn(SeqId seq, ByteSpan full_state) {
  Bytes partial;
  if (Status written = WritePartialState(*loaded_, seq, 0, &partial); !written) return written;
  const bool is_front =
      partial.size() >= kFrontBytes && partial.size() <= full_state.size() &&
      std::equal(partial.begin(), partial.begin() + kFrontBytes, full_state.begin());
  const size_t rest_bytes = is_front ? partial.size() - kFrontBytes : 0;
  const ByteSpan rest = full_state.last(rest_bytes);
  if (!is_front || !std::equal(rest.begin(), rest.end(), partial.begin() + kFrontBytes)) {
    return Fail(ErrorCode::kUnsupported,
                "the state that cannot be rolled back is not the end of a full state");
  }
  if (rest_bytes > 0 && !traits_->NeedsSnapshots()) {
    return Fail(ErrorCode::kUnsupported, "a part of the state grows and is no attention KV");
  }
  auto layout = StateLayout::Learn(full_state, loaded_->SequenceEnd(seq), rest_bytes);
  if (!layout) return tl::unexpected(layout.error());
  layout_ = std::move(*layout);
  const SeqId empty = seq == 0 ? 1 : 0;
  if (Status written = WritePartialState(*loaded_, empty, 0, &partial); !written) return written;
  if (partial.size() < kFrontBytes) {
    return Fail(ErrorCode::kUnsupported, "an empty state is shorter than its header");
  }
  empty_rest_ = InOneBuffer(ByteSpan(partial).subspan(kFrontBytes), loaded_->slots());
  return {};
}

Status LlamaSplicedSegments::ProveAssembly(SeqId seq, ByteSpan full_state, ByteSpan snapshot) {
  const size_t end = loaded_->SequenceEnd(seq);
  const auto front = TakeSegment(seq, end / 4, end / 2 + 1);
  const auto back = TakeSegment(seq, end / 2, end);
  if (!front) return tl::unexpected(front.error());
  if (!back) return tl::unexpected(back.error());
  const std::array<SegmentPart, 2> parts = {SegmentPart{end / 4, end / 2, *front},
                                            SegmentPart{end / 2, end, *back}};
  if (Status assembled = Assemble(seq, end / 4, parts, end, snapshot); !assembled) return assembled;
  return ProveSame(*loaded_, seq, full_state, kAssembledDiffers);
}

Status LlamaSplicedSegments::ProveFork(SeqId seq, ByteSpan full_state, ByteSpan snapshot) {
  const SeqId other = seq == 0 ? 1 : 0;
  const size_t end = loaded_->SequenceEnd(seq);
  const Status forked = ProveForks(*loaded_, seq, other, full_state, [&](SeqId from, SeqId to) {
    return Fork(from, to, end, snapshot);
  });
  sequences_->Clear(other);
  return forked;
}

}  // namespace cairn
