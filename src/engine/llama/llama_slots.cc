// How what one sequence holds comes to another: by sharing the cells of a prefix (Fork), or as the
// bytes of all that it holds (whole states), which works where cells cannot be shared.
//
// A fork shares every cell of [0, position), those of a window and a recurrent state too, until the
// snapshot gives it its own. A window's cell is only used again when one sequence holds it, so two
// that went on with a shared one would find ever fewer.

#include <llama.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/allocate.h"
#include "base/check.h"
#include "engine/llama/llama_engine.h"

namespace cairn {
namespace {

// Stands before libllama's bytes in a whole state.
struct WholeHeader {
  std::array<char, 8> magic = {'C', 'R', 'N', 'W', 'H', 'O', 'L', '1'};
  uint64_t position = 0;
  uint64_t bytes = 0;  // after the header
};
static_assert(sizeof(WholeHeader) == LlamaEngine::kWholeHeaderBytes);

}  // namespace

Status LlamaEngine::Fork(SeqId from, SeqId to, size_t position, ByteSpan snapshot) {
  CHECK(traits_.segments);
  CHECK(from != to && position <= SequenceEnd(from));
  Clear(to);
  llama_memory_seq_cp(llama_get_memory(context()), from, to, 0, static_cast<llama_pos>(position));
  if (traits_.NeedsSnapshots()) return Restore(to, position, snapshot);
  if (SequenceEnd(to) == position) return {};
  Clear(to);
  return Fail(ErrorCode::kInternal, "the forked sequence ends elsewhere");
}

Status LlamaEngine::WriteWhole(SeqId seq, size_t front, Bytes* bytes) const {
  const size_t size = llama_state_seq_get_size_ext(context(), seq, LLAMA_STATE_SEQ_FLAGS_NONE);
  if (Status room = TryResize(bytes, front + size); !room) return room;
  const size_t written = llama_state_seq_get_data_ext(context(), bytes->data() + front, size, seq,
                                                      LLAMA_STATE_SEQ_FLAGS_NONE);
  if (written == size && size > 0) return {};
  return Fail(ErrorCode::kInternal, "libllama gave no state for the sequence");
}

Result<Bytes> LlamaEngine::TakeWhole(SeqId seq) {
  CHECK(traits_.whole_states);
  Bytes bytes;
  WholeHeader header;
  if (Status written = WriteWhole(seq, sizeof(header), &bytes); !written) {
    return tl::unexpected(written.error());
  }
  header.position = SequenceEnd(seq);
  header.bytes = bytes.size() - sizeof(header);
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

Status LlamaEngine::SetWhole(SeqId seq, size_t position, ByteSpan whole) {
  Clear(seq);
  const auto refuse = [&](ErrorCode code, const std::string& why) {
    Clear(seq);
    return Fail(code, "the whole state for position " + std::to_string(position) + " " + why);
  };
  WholeHeader header;
  if (whole.size() <= sizeof(header)) return refuse(ErrorCode::kCorrupt, "is too short");
  std::memcpy(&header, whole.data(), sizeof(header));
  const ByteSpan state = whole.subspan(sizeof(header));
  if (header.magic != WholeHeader().magic) {
    return refuse(ErrorCode::kCorrupt, "does not begin as one");
  }
  if (header.position != position) {
    return refuse(ErrorCode::kCorrupt, "was taken at position " + std::to_string(header.position));
  }
  if (header.bytes != state.size()) return refuse(ErrorCode::kCorrupt, "is not whole");
  const size_t read = llama_state_seq_set_data_ext(context(), state.data(), state.size(), seq,
                                                   LLAMA_STATE_SEQ_FLAGS_NONE);
  if (read != state.size()) {
    return refuse(WhyRefused(position), "was refused: it is of another model, or there is no room");
  }
  if (SequenceEnd(seq) != position) {
    return refuse(ErrorCode::kCorrupt, "left the sequence elsewhere");
  }
  return {};
}

Status LlamaEngine::ProveWholeStates(SeqId seq) {
  const size_t end = SequenceEnd(seq);
  if (end == 0) return Fail(ErrorCode::kUnsupported, "there is nothing to try them on");
  const auto whole = TakeWhole(seq);
  if (!whole) return tl::unexpected(whole.error());
  if (Status set = SetWhole(seq, end, *whole); !set) return set;
  const auto again = TakeWhole(seq);
  if (!again || *again != *whole) {
    return Fail(ErrorCode::kUnsupported, "a whole state that was set back differs from itself");
  }
  return {};
}

// There and back, as a state names its sequence in places that are libllama's own.
Status LlamaEngine::ProveFork(SeqId seq, ByteSpan whole, ByteSpan snapshot) {
  const size_t end = SequenceEnd(seq);
  Status forked = Fork(seq, scratch_seq(), end, snapshot);
  if (forked) forked = Fork(scratch_seq(), seq, end, snapshot);
  Clear(scratch_seq());
  Bytes again;
  if (forked) forked = WriteWhole(seq, 0, &again);
  if (forked && !std::equal(again.begin(), again.end(), whole.begin(), whole.end())) {
    forked = Fail(ErrorCode::kUnsupported, "a fork's state differs from its origin's");
  }
  return forked;
}

}  // namespace cairn
