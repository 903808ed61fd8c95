#include "engine/llama/state/llama_full_states.h"

#include <array>
#include <cstring>

#include "base/check.h"
#include "engine/llama/state/sequence_state.h"

namespace cairn {
namespace {

// Our prefix to libllama's bytes in a full state.
struct FullStateHeader {
  std::array<char, 8> magic = {'C', 'R', 'N', 'W', 'H', 'O', 'L', '1'};
  uint64_t position = 0;
  uint64_t bytes = 0;  // after the header
};
static_assert(sizeof(FullStateHeader) == LlamaFullStates::kHeaderBytes);

}  // namespace

Result<Bytes> LlamaFullStates::Take(SeqId seq) {
  CHECK(traits_->full_states);
  Bytes bytes;
  FullStateHeader header;
  if (Status written = WriteFullState(*loaded_, seq, sizeof(header), &bytes); !written) {
    return tl::unexpected(written.error());
  }
  header.position = loaded_->SequenceEnd(seq);
  header.bytes = bytes.size() - sizeof(header);
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

Status LlamaFullStates::Set(SeqId seq, size_t position, ByteSpan state_bytes) {
  sequences_->Clear(seq);
  const auto refuse = [&](ErrorCode code, const std::string& why) {
    sequences_->Clear(seq);
    return Fail(code, "the full state for position " + std::to_string(position) + " " + why);
  };
  if (!traits_->full_states) return refuse(ErrorCode::kCorrupt, "cannot be used with this engine");
  FullStateHeader header;
  if (state_bytes.size() <= sizeof(header)) return refuse(ErrorCode::kCorrupt, "is too short");
  std::memcpy(&header, state_bytes.data(), sizeof(header));
  const ByteSpan state = state_bytes.subspan(sizeof(header));
  if (header.magic != FullStateHeader().magic) {
    return refuse(ErrorCode::kCorrupt, "does not begin as one");
  }
  if (header.position != position) {
    return refuse(ErrorCode::kCorrupt, "was taken at position " + std::to_string(header.position));
  }
  if (header.bytes != state.size()) return refuse(ErrorCode::kCorrupt, "is not whole");
  const size_t read = llama_state_seq_set_data_ext(loaded_->context(), state.data(), state.size(),
                                                   seq, LLAMA_STATE_SEQ_FLAGS_NONE);
  if (read != state.size()) {
    return refuse(WhyRefused(*loaded_, cells_(), position),
                  "was refused: it is of another model, or there is no room");
  }
  if (loaded_->SequenceEnd(seq) != position) {
    return refuse(ErrorCode::kCorrupt, "left the sequence elsewhere");
  }
  return {};
}

Status LlamaFullStates::Prove(SeqId seq) {
  const size_t end = loaded_->SequenceEnd(seq);
  if (end == 0) return Fail(ErrorCode::kUnsupported, "there is nothing to try them on");
  const auto state_bytes = Take(seq);
  if (!state_bytes) return tl::unexpected(state_bytes.error());
  if (Status set = Set(seq, end, *state_bytes); !set) return set;
  const auto again = Take(seq);
  if (!again || *again != *state_bytes) {
    return Fail(ErrorCode::kUnsupported, "a full state that was set back differs from itself");
  }
  return {};
}

}  // namespace cairn
