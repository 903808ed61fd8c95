// WindowOrder: keeps the cells of a sliding window in an order that depends on the position only.
//
// The cache of a window reuses the cells of tokens that left it, so the order of its cells depends
// on how the sequence reached its end, and so do the last bits of the sums in attention. Therefore
// the window is put in order, oldest token in the first cell, before each chunk of a prompt:
//
//   cells  [ t96 | t97 | t90 | t91 | … | t95 ]     the window after some decoding
//   cells  [ t90 | t91 | … | t95 | t96 | t97 ]     put in order: written out and read back
//
// See docs/decisions/0008-window-order.md. Does nothing until Enable.
//
// Threads: the one that owns the context.

#ifndef CAIRN_ENGINE_LLAMA_STATE_WINDOW_ORDER_H_
#define CAIRN_ENGINE_LLAMA_STATE_WINDOW_ORDER_H_

#include <cstddef>
#include <map>

#include "base/bytes.h"
#include "base/result.h"
#include "engine/engine.h"
#include "engine/llama/model/loaded_model.h"

namespace cairn {

class WindowOrder {
 public:
  // `loaded` must outlive this object.
  explicit WindowOrder(const LoadedModel* loaded) : loaded_(loaded) {}

  void Enable() { enabled_ = true; }
  // Called before a decode of `seq`. `single_token`: the decode is of one token, as in an answer,
  // where ordering every time would cost too much; then the window is ordered only before the first
  // of them. After an error the state of `seq` is unknown.
  Status Prepare(SeqId seq, bool single_token);
  // Called after one token was decoded; `single_token` as in Prepare.
  void OnDecoded(SeqId seq, bool single_token);
  // Called after the window was restored from a snapshot: it is in order.
  void OnRestored(SeqId seq);
  void OnTruncated(SeqId seq);
  // Whether the cells have not wrapped around to the first one since they were in order.
  bool IsInOrder(SeqId seq) const;
  void Forget(SeqId seq) { cells_.erase(seq); }
  void ForgetAll();

 private:
  struct Cells {
    // Tokens decoded since the cells were in order. Up to the size of a ubatch, they still are.
    size_t unordered_tokens = 0;
    bool in_answer = false;  // the last decode was of one token
  };

  const LoadedModel* const loaded_;
  bool enabled_ = false;
  std::map<SeqId, Cells> cells_;  // of sequences in use
  Bytes buffer_;                  // Prepare's buffer, kept between calls
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_STATE_WINDOW_ORDER_H_
