#include "engine/llama/state/llama_sequences.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "engine/llama/state/llama_row_batch.h"
#include "engine/llama/state/sequence_state.h"
#include "engine/verified_architectures.h"

namespace cairn {
namespace {

// Our prefix to libllama's bytes in a snapshot. It detects snapshots that are truncated, of another
// position, or no snapshots at all. It has no checksum: one of 50 MB took longer than half of the
// restore, and bytes that never left this process's memory do not change. Code that brings bytes
// into the process, from a disk or a peer, has to check them: libllama trusts them, and of
// snapshots with one bit changed it accepted more than half, as states that no run ever had.
struct SnapshotHeader {
  std::array<char, 8> magic = {'C', 'R', 'N', 'S', 'T', 'A', 'T', '2'};
  uint64_t position = 0;
  uint64_t bytes = 0;  // after the header
};
static_assert(sizeof(SnapshotHeader) == LlamaSequences::kSnapshotHeaderBytes);

// Room for logits is kept behind a snapshot that is so many times as large.
constexpr size_t kLogitsPart = 16;

// The sequences of the tokens, which are adjacent, each once.
std::vector<SeqId> SequencesOf(std::span<const NextToken> tokens) {
  std::vector<SeqId> seqs;
  for (const NextToken& next : tokens) {
    if (seqs.empty() || seqs.back() != next.seq) seqs.push_back(next.seq);
  }
  return seqs;
}

tl::unexpected<Error> RefuseSnapshot(size_t position, const std::string& why) {
  return Fail(ErrorCode::kCorrupt,
              "the snapshot for position " + std::to_string(position) + " " + why);
}

}  // namespace

Status LlamaSequences::Decode(SeqId seq, size_t position, TokenSpan tokens) {
  CHECK(!tokens.empty() && tokens.size() <= loaded_->ubatch_tokens());
  return DecodeBatch(NextTokens(seq, position, tokens), Batch::kChunks);
}

Status LlamaSequences::DecodeEach(std::span<const NextToken> tokens) {
  CHECK(!tokens.empty() && tokens.size() <= loaded_->ubatch_tokens());
  return DecodeBatch(tokens, Batch::kSingleTokens);
}

Status LlamaSequences::DecodeChunks(std::span<const NextToken> tokens, ChunkLogits logits) {
  CHECK(!tokens.empty() && tokens.size() <= loaded_->ubatch_tokens());
  return DecodeBatch(tokens, logits == ChunkLogits::kEach ? Batch::kScoredChunks : Batch::kChunks);
}

Status LlamaSequences::DecodeBatch(std::span<const NextToken> tokens, Batch kind) {
  for (const NextToken& next : tokens) {
    CHECK(next.seq >= 0 && static_cast<size_t>(next.seq) < loaded_->slots());
    if (next.position < loaded_->context_tokens()) continue;
    return Fail(ErrorCode::kTooLong,
                "the context of " + std::to_string(loaded_->context_tokens()) + " tokens is full");
  }
  const std::vector<SeqId> seqs = SequencesOf(tokens);
  for (const SeqId seq : seqs) Changes(seq);
  for (const NextToken& next : tokens) loaded_->media_positions().CutTo(next.seq, next.position);
  const bool single_token = kind == Batch::kSingleTokens || tokens.size() == 1;
  for (const SeqId seq : seqs) {
    Status ready = window_.Prepare(seq, single_token);
    if (!ready) return FailDecode(seqs, ready.error().message);
  }
  llama_batch batch = llama_batch_init(static_cast<int32_t>(tokens.size()), 0, 1);
  batch.n_tokens = static_cast<int32_t>(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    batch.token[i] = tokens[i].token;
    batch.pos[i] = loaded_->PositionAt(tokens[i].seq, tokens[i].position);
    batch.n_seq_id[i] = 1;
    batch.seq_id[i][0] = tokens[i].seq;
    const bool ends_chunk = i + 1 == tokens.size() || tokens[i + 1].seq != tokens[i].seq;
    batch.logits[i] = kind != Batch::kChunks || ends_chunk ? 1 : 0;
  }
  const int32_t code = llama_decode(loaded_->context(), batch);
  llama_batch_free(batch);
  if (code == 0) {
    for (const NextToken& next : tokens) window_.OnDecoded(next.seq, single_token);
    return {};
  }
  // There was no room, and the memory is unchanged. Any other code may have left part of the chunk
  // behind.
  if (code == 1) return Fail(ErrorCode::kNoSpace, "other sequences hold the cells that it needs");
  return FailDecode(seqs, "llama_decode returned " + std::to_string(code));
}

tl::unexpected<Error> LlamaSequences::FailDecode(std::span<const SeqId> seqs,
                                                 const std::string& why) {
  for (const SeqId seq : seqs) Clear(seq);
  return Fail(ErrorCode::kInternal, "libllama could not decode: " + why);
}

// Rows that attend to later rows must be in one ubatch. Others are decoded in as many as needed.
Status LlamaSequences::DecodeMedium(SeqId seq, size_t position, const EncodedPiece& piece) {
  const auto row_floats = static_cast<size_t>(llama_model_n_embd_inp(loaded_->model()));
  if (piece.embeddings.size() != piece.rows * row_floats) {
    return Fail(ErrorCode::kUnsupported, "the rows of the medium do not fit the model");
  }
  const size_t batch_max = loaded_->ubatch_tokens();
  if (piece.non_causal && piece.rows > batch_max) {
    return Fail(ErrorCode::kUnsupported,
                "the medium has " + std::to_string(piece.rows) +
                    " rows, which this model takes in one ubatch only; start the server with "
                    "--ubatch-size " +
                    std::to_string(piece.rows) + " or more");
  }
  if (position + piece.rows > loaded_->context_tokens()) {
    return Fail(ErrorCode::kTooLong,
                "the context of " + std::to_string(loaded_->context_tokens()) + " tokens is full");
  }
  Changes(seq);
  if (Status ready = window_.Prepare(seq, false); !ready) {
    return FailDecode({&seq, 1}, ready.error().message);
  }
  loaded_->media_positions().CutTo(seq, position);
  const llama_pos first = loaded_->PositionAt(seq, position);
  if (piece.non_causal) llama_set_causal_attn(loaded_->context(), false);
  int32_t code = 0;
  size_t begin = 0;
  while (code == 0 && begin < piece.rows) {
    const size_t end = std::min(begin + batch_max, piece.rows);
    code = DecodeRows(seq, first, piece, {begin, end});
    if (code == 0) begin = end;
  }
  if (piece.non_causal) llama_set_causal_attn(loaded_->context(), true);
  if (code == 1 && begin == 0) {
    return Fail(ErrorCode::kNoSpace, "other sequences hold the cells that it needs");
  }
  if (code != 0) return FailDecode({&seq, 1}, "llama_decode returned " + std::to_string(code));
  loaded_->media_positions().Add(seq, {position, position + piece.rows, piece.positions});
  return {};
}

int32_t LlamaSequences::DecodeRows(SeqId seq, llama_pos first, const EncodedPiece& piece,
                                   const TokenRange& rows) {
  const LlamaRowBatch batch(piece, rows, seq, first, LlamaRowBatch::Outputs::kLastOfPiece);
  const int32_t code = llama_decode(loaded_->context(), batch.batch());
  const size_t count = rows.end - rows.begin;
  for (size_t i = 0; code == 0 && i < count; ++i) window_.OnDecoded(seq, false);
  return code;
}

std::span<const float> LlamaSequences::LogitsAt(int32_t index) const {
  const float* logits = llama_get_logits_ith(loaded_->context(), index);
  CHECK(logits != nullptr);
  return {logits, vocab_size_};
}

Result<Bytes> LlamaSequences::TakeSnapshot(SeqId seq) {
  Bytes bytes;
  // At a prompt's end the logits are put behind it, and to move it for them costs as much as to
  // take it. Windows differ in size, and beside a small state the room would be wasted.
  const size_t logits_bytes = vocab_size_ * sizeof(float);
  const bool has_window =
      traits_->memory_class == MemoryClass::kSlidingWindow || traits_->window_tokens > 0;
  const bool has_room = !has_window && logits_bytes <= traits_->snapshot_bytes / kLogitsPart;
  if (has_room) {
    Status room = TryResize(&bytes, traits_->snapshot_bytes + logits_bytes);
    if (!room) return tl::unexpected(room.error());
  }
  SnapshotHeader header;
  if (Status written = WritePartialState(*loaded_, seq, sizeof(header), &bytes); !written) {
    return tl::unexpected(written.error());
  }
  header.position = loaded_->SequenceEnd(seq);
  header.bytes = bytes.size() - sizeof(header);
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

Result<ByteSpan> LlamaSequences::PartialStateIn(ByteSpan snapshot, size_t position) {
  const auto refuse = [&](const std::string& why) { return RefuseSnapshot(position, why); };
  SnapshotHeader header;
  if (snapshot.size() <= sizeof(header)) return refuse("is too short");
  std::memcpy(&header, snapshot.data(), sizeof(header));
  const ByteSpan state = snapshot.subspan(sizeof(header));
  if (header.magic != SnapshotHeader().magic) return refuse("does not begin as one");
  if (header.position != position) {
    return refuse("was taken at position " + std::to_string(header.position));
  }
  if (header.bytes != state.size()) return refuse("is not whole");
  return state;
}

Status LlamaSequences::Restore(SeqId seq, size_t position, ByteSpan snapshot) {
  Changes(seq);
  const auto refuse = [&](const std::string& why) {
    Clear(seq);
    return RefuseSnapshot(position, why);
  };
  const auto state = PartialStateIn(snapshot, position);
  if (!state) {
    Clear(seq);
    return tl::unexpected(state.error());
  }
  if (!ReadPartialState(*loaded_, seq, *state)) return refuse("does not fit this model");
  window_.OnRestored(seq);
  const bool cut =
      llama_memory_seq_rm(loaded_->memory(), seq, loaded_->PositionAt(seq, position), -1);
  if (!cut || loaded_->SequenceEnd(seq) != position) return refuse("left the sequence elsewhere");
  return {};
}

bool LlamaSequences::CanTruncate(SeqId seq, size_t position) const {
  const size_t end = loaded_->SequenceEnd(seq);
  if (position == 0 || position == end) return true;
  if (position > end) return false;
  switch (traits_->memory_class) {
    case MemoryClass::kAttention:
      return HoldsRowsBefore(seq, position);
    case MemoryClass::kSlidingWindow: {
      if (traits_->window_tokens == 0) return false;  // its length is unknown
      // Its cells must not have wrapped around to the first one.
      return window_.IsInOrder(seq) && HoldsRowsBefore(seq, position);
    }
    case MemoryClass::kRecurrent:
    case MemoryClass::kHybrid:
      return false;
  }
  return false;
}

bool LlamaSequences::HoldsRowsBefore(SeqId seq, size_t position) const {
  const size_t window = traits_->window_tokens;
  if (window == 0) return true;
  const auto at = static_cast<size_t>(loaded_->PositionAt(seq, position));
  const size_t first = at < window ? 0 : at + 1 - window;
  const llama_pos held = llama_memory_seq_pos_min(loaded_->memory(), seq);
  return held >= 0 && static_cast<size_t>(held) <= first;
}

Status LlamaSequences::Truncate(SeqId seq, size_t position) {
  CHECK(CanTruncate(seq, position));
  Changes(seq);
  if (llama_memory_seq_rm(loaded_->memory(), seq, loaded_->PositionAt(seq, position), -1)) {
    window_.OnTruncated(seq);
    return {};
  }
  Clear(seq);
  return Fail(ErrorCode::kInternal,
              "libllama refused to cut the sequence at position " + std::to_string(position));
}

// The cells of a window are reused only for tokens that left it before the decode began, so what
// the tokens before the drafted ones attend to is still there.
size_t LlamaSequences::RollbackTokens() const {
  switch (traits_->memory_class) {
    case MemoryClass::kAttention:
    case MemoryClass::kSlidingWindow:
      return SIZE_MAX;
    case MemoryClass::kRecurrent:
    case MemoryClass::kHybrid:
      // 0 for architectures that do not offer it, whatever was asked.
      return llama_n_rs_seq(loaded_->context());
  }
  return 0;
}

// The window's order is left as it is: putting it in order costs more than a token.
Status LlamaSequences::RollBack(SeqId seq, size_t position) {
  const size_t end = loaded_->SequenceEnd(seq);
  CHECK(0 < position && position <= end && end - position <= traits_->rollback_tokens);
  Changes(seq);
  if (llama_memory_seq_rm(loaded_->memory(), seq, loaded_->PositionAt(seq, position), -1)) {
    return {};
  }
  Clear(seq);
  return Fail(ErrorCode::kInternal,
              "libllama refused to roll the sequence back to position " + std::to_string(position));
}

void LlamaSequences::Clear(SeqId seq) {
  Changes(seq);
  llama_memory_seq_rm(loaded_->memory(), seq, -1, -1);
  window_.Forget(seq);
}

void LlamaSequences::ClearAll() {
  ChangesAll();
  llama_memory_clear(loaded_->memory(), true);
  window_.ForgetAll();
}

void LlamaSequences::OnUnloaded() {
  ChangesAll();
  window_.ForgetAll();
}

void LlamaSequences::ChangesAll() const {
  for (size_t seq = 0; seq < loaded_->slots(); ++seq) Changes(static_cast<SeqId>(seq));
}

// libllama's own report is not sufficient: where keys are not rotated by their position, or by
// several numbers each, no rotation would be right. Memories whose segments are not verified are
// not moved either.
bool LlamaSequences::MayShift(std::string_view architecture) const {
  if (traits_->memory_class != MemoryClass::kAttention || traits_->NeedsSnapshots()) return false;
  const llama_rope_type rope = llama_model_rope_type(loaded_->model());
  if (rope != LLAMA_ROPE_TYPE_NORM && rope != LLAMA_ROPE_TYPE_NEOX) return false;
  return SegmentsVerified(architecture) && llama_memory_can_shift(loaded_->memory());
}

Status LlamaSequences::Drop(SeqId seq, size_t begin, size_t end) {
  const size_t size = loaded_->SequenceEnd(seq);
  CHECK(traits_->shifts && begin < end && end <= size);
  Changes(seq);
  const auto first = static_cast<llama_pos>(begin);
  const auto behind = static_cast<llama_pos>(end);
  if (!llama_memory_seq_rm(loaded_->memory(), seq, first, behind)) {
    Clear(seq);
    return Fail(ErrorCode::kInternal, "libllama refused to drop a part of the sequence");
  }
  if (end < size) llama_memory_seq_add(loaded_->memory(), seq, behind, -1, first - behind);
  if (loaded_->SequenceEnd(seq) == size - (end - begin)) return {};
  Clear(seq);
  return Fail(ErrorCode::kInternal, "the shifted sequence ends elsewhere");
}

}  // namespace cairn
