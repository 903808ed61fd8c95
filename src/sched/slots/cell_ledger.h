// CellLedger: how many of the context's cells the slots hold. Slots that share the KV of a prefix
// lie in the same cells, which count once and stay as long as one of them holds them:
//
//   slot 0   | 1: header and A, 900 |               cells used: 900 + 500
//   slot 1   | 1: its first 600     | 2: 500 |
//
// libllama does not tell how full a context is; a state set into a full one is just refused.
//
// Threads: the one that owns the context.

#ifndef CAIRN_SCHED_SLOTS_CELL_LEDGER_H_
#define CAIRN_SCHED_SLOTS_CELL_LEDGER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cairn {

class CellLedger {
 public:
  explicit CellLedger(size_t slots) : held_(slots) {}

  // `slot` was cut, or read on, to `tokens`.
  void SetTokens(size_t slot, size_t tokens);
  // `to` holds the first `tokens` of `from` and nothing else.
  void Share(size_t from, size_t to, size_t tokens);

  size_t used() const { return UsedBy(std::vector<bool>(held_.size(), true)); }
  // Those that one or more of `slots` hold.
  size_t UsedBy(const std::vector<bool>& slots) const;
  // So many of a slot's first tokens lie in cells that others hold too; what is behind them is its
  // own.
  size_t SharedTokens(size_t slot) const;
  // Those that nobody else holds: what clearing `slot` gives back.
  size_t OnlyIn(size_t slot) const;

 private:
  // The first `tokens` of a row of cells that was filled in one go, by number.
  struct Part {
    uint64_t row = 0;
    size_t tokens = 0;
  };

  size_t TokensOf(size_t slot) const;
  // The most that another slot holds of the row.
  size_t OthersTokens(uint64_t row, size_t slot) const;

  std::vector<std::vector<Part>> held_;  // by slot
  uint64_t last_row_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_SLOTS_CELL_LEDGER_H_
