// StateLayout: finds the attention KV in a sequence's state as libllama writes it. StateSplice
// writes such a state from pieces of others.
//
//   state          | magic, sequence | streams | 0 for each stream before the sequence's own |
//                  | cells | an entry a cell | V transposed? | layers | more |
//                  | K of each layer | V of each layer | 0 for each stream after it | rest |
//   entry          | position | 1 | coordinates and token, on some models | sequence |
//   K, V           | type | bytes of a row | a row a cell |
//   transposed V   | type | bytes of an element | elements | for each: one of every cell |
//
// The rest is the state that cannot be rolled back; LlamaSequences takes it as a snapshot. Cells
// stand in the order of the buffer, which need not be that of positions.
//
// The layout is libllama's own and may change, and a state does not say how long an entry is, nor
// how much there is between the number of layers and the first K. So a layout is learned from a
// state of known tokens, and every other state must agree with it in each byte that is not data:
// Find refuses states of other models and other libraries.
//
// Pure: no libllama. Threads: any; a layout is constant.

#ifndef CAIRN_ENGINE_LLAMA_STATE_STATE_LAYOUT_H_
#define CAIRN_ENGINE_LLAMA_STATE_STATE_LAYOUT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace cairn {

class StateLayout {
 public:
  // Bytes before the attention KV: the magic number and the sequence.
  static constexpr size_t kFrontBytes = 8;

  // The attention KV found in a state; valid as long as the state's bytes.
  struct Kv {
    size_t cells = 0;
    ByteSpan table;                 // an entry a cell
    std::vector<ByteSpan> tensors;  // K of each layer, then V of each
    size_t end = 0;                 // where the rest of the state begins
  };
  // Positions [begin, end) and the number of cells that hold them: one each, except where the rows
  // of an image share a position.
  struct Range {
    size_t begin = 0;
    size_t end = 0;
    size_t cells = 0;
  };
  // Cells that follow one another and hold positions that follow one another.
  struct Run {
    size_t cell = 0;
    size_t cells = 0;
  };

  // Learns the layout from a state of positions [0, tokens), in that order, whose last `rest_bytes`
  // are no attention KV. kUnsupported if it has another layout. REQUIRES: tokens > 1.
  static Result<StateLayout> Learn(ByteSpan state, size_t tokens, size_t rest_bytes);

  // kCorrupt if the state does not have this layout.
  Result<Kv> Find(ByteSpan state) const;
  // Returns the cells of the range, in the order of positions, those of one position in the order
  // of the buffer. kCorrupt if there are more or fewer.
  Result<std::vector<Run>> CellsOf(const Kv& kv, const Range& range) const;

 private:
  friend class StateSplice;

  // A layer's K or V. Each cell has `bytes` in each of `rows` rows: one, or for transposed V as
  // many as there are elements.
  struct Tensor {
    std::array<uint8_t, 12> header;
    size_t rows = 0;
    size_t bytes = 0;
  };

  // `kv`: a state up to its rest. The sizes of the entries and of the head are set.
  bool LearnFrom(ByteSpan kv, size_t tokens);
  // Fails if the state does not hold `cells` cells from `at` on. Moves `at` behind them.
  bool FindCells(ByteSpan state, size_t* at, Kv* kv) const;

  std::array<uint8_t, 4> magic_ = {};
  size_t entry_bytes_ = 0;
  Bytes head_;  // what stands between the table and the first K
  std::vector<Tensor> tensors_;
};

class StateSplice {
 public:
  struct Plan {
    // Which of the context's streams the sequence has. A context with one buffer has one stream.
    uint32_t stream = 0;
    uint32_t streams = 1;
    size_t cells = 0;
    size_t front = 0;    // bytes before the state, which the caller fills in
    ByteSpan rest = {};  // the state that cannot be rolled back
  };

  // Begins a state; Append fills in its cells. `layout` and `bytes` must outlive this object.
  // kUnavailable if there is no memory. REQUIRES: plan.stream < plan.streams; plan.cells > 0.
  static Result<StateSplice> Begin(const StateLayout* layout, const Plan& plan, Bytes* bytes);

  // Appends the cells of the range. Errors as in StateLayout::CellsOf. REQUIRES: there is room for
  // them.
  Status Append(const StateLayout::Kv& kv, const StateLayout::Range& range);
  bool is_whole() const { return appended_ == cells_; }

 private:
  StateSplice(const StateLayout* layout, Bytes* bytes, size_t cells)
      : layout_(layout), bytes_(bytes), cells_(cells) {}

  void CopyRun(const StateLayout::Kv& kv, const StateLayout::Run& run);

  const StateLayout* layout_;
  Bytes* bytes_;
  size_t cells_;
  size_t appended_ = 0;
  size_t table_ = 0;             // offset of the table in bytes_
  std::vector<size_t> tensors_;  // offsets of the tensors' rows
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_STATE_STATE_LAYOUT_H_
