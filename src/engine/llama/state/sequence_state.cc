#include "engine/llama/state/sequence_state.h"

#include <algorithm>

#include "base/bytes.h"

namespace cairn {
namespace {

constexpr llama_state_seq_flags kPartial = LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY;
constexpr llama_state_seq_flags kFull = LLAMA_STATE_SEQ_FLAGS_NONE;

}  // namespace

Status WritePartialState(const LoadedModel& loaded, SeqId seq, size_t front, Bytes* bytes) {
  const size_t size = llama_state_seq_get_size_ext(loaded.context(), seq, kPartial);
  if (Status room = TryResize(bytes, front + size); !room) return room;
  const size_t room = bytes->size() - front;
  const size_t written =
      llama_state_seq_get_data_ext(loaded.context(), bytes->data() + front, room, seq, kPartial);
  if (written == 0 || written > room) {
    return Fail(ErrorCode::kInternal, "libllama gave no state for the sequence");
  }
  bytes->resize(front + written);
  return {};
}

Status ReadPartialState(const LoadedModel& loaded, SeqId seq, ByteSpan state) {
  const size_t read =
      llama_state_seq_set_data_ext(loaded.context(), state.data(), state.size(), seq, kPartial);
  if (read == state.size()) return {};
  return Fail(ErrorCode::kCorrupt, "libllama refused the state of a sequence");
}

Status WriteFullState(const LoadedModel& loaded, SeqId seq, size_t front, Bytes* bytes) {
  const size_t size = llama_state_seq_get_size_ext(loaded.context(), seq, kFull);
  if (Status room = TryResize(bytes, front + size); !room) return room;
  const size_t written =
      llama_state_seq_get_data_ext(loaded.context(), bytes->data() + front, size, seq, kFull);
  if (written == size && size > 0) return {};
  return Fail(ErrorCode::kInternal, "libllama gave no state for the sequence");
}

Status ProveSame(const LoadedModel& loaded, SeqId seq, ByteSpan full_state, const char* differs) {
  Bytes now;
  if (Status written = WriteFullState(loaded, seq, 0, &now); !written) return written;
  if (std::equal(now.begin(), now.end(), full_state.begin(), full_state.end())) return {};
  return Fail(ErrorCode::kUnsupported, differs);
}

Status ProveForks(const LoadedModel& loaded, SeqId seq, SeqId other, ByteSpan full_state,
                  const std::function<Status(SeqId from, SeqId to)>& fork) {
  Status forked = fork(seq, other);
  if (forked) forked = fork(other, seq);
  if (!forked) return forked;
  return ProveSame(loaded, seq, full_state, "a fork's state differs from its origin's");
}

ErrorCode WhyRefused(const LoadedModel& loaded, size_t cells, size_t tokens) {
  // A stream of its own has room for all that a sequence may hold.
  if (!loaded.unified()) return ErrorCode::kCorrupt;
  size_t held = 0;
  for (size_t seq = 0; seq < loaded.slots(); ++seq) {
    held += loaded.SequenceEnd(static_cast<SeqId>(seq));
  }
  return held + tokens > cells ? ErrorCode::kNoSpace : ErrorCode::kCorrupt;
}

}  // namespace cairn
