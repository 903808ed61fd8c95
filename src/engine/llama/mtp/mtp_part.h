// MtpPart: what heads for multi-token prediction know, behind the bytes of a state.
//
//   snapshot     | the model's state           | row of the last token | trailer |
//   segment      | the model's attention KV    | the heads' KV | row   | trailer |
//   full state   | the model's state           | the heads' KV | row   | trailer |
//
// Bytes without a trailer belong to the model alone.
//
// Pure: no libllama. Any thread.

#ifndef CAIRN_ENGINE_LLAMA_MTP_MTP_PART_H_
#define CAIRN_ENGINE_LLAMA_MTP_MTP_PART_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace cairn {

struct MtpTrailer {
  uint64_t kv_bytes = 0;
  uint64_t row_bytes = 0;
  uint64_t position = 0;
  std::array<char, 8> magic = {'C', 'R', 'N', 'H', 'E', 'A', 'D', '1'};
};

struct MtpPart {
  ByteSpan kv = {};     // libllama's bytes; empty: not known
  ByteSpan row = {};    // the hidden state behind the last token; empty: not known
  size_t position = 0;  // where the row is; of a full state: the first token of the KV
};

void AppendMtpPart(const MtpPart& part, Bytes* bytes);

struct SplitState {
  ByteSpan model = {};
  MtpPart heads = {};
};
// The parts point into `bytes`.
SplitState SplitOffMtpPart(ByteSpan bytes);

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_MTP_MTP_PART_H_
