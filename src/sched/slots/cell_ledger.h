// CellLedger: counts how many of the context's cells the slots occupy. Slots that share the KV of a
// prefix occupy the same cells, which count once and stay until no slot holds them:
//
//   slot 0   | 1: system prefix and A, 900 |           cells used: 900 + 500
//   slot 1   | 1: its first 600 | 2: 500 |
//
// The ledger exists because libllama does not report how full a context is; it only refuses a state
// that does not fit.
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

  // `slot` was truncated, or extended, to `tokens`.
  void SetTokens(size_t slot, size_t tokens);
  // `to` holds the first `tokens` of `from` and nothing else.
  void Share(size_t from, size_t to, size_t tokens);

  size_t used() const { return UsedBy(std::vector<bool>(held_.size(), true)); }
  // Cells that at least one of `slots` holds.
  size_t UsedBy(const std::vector<bool>& slots) const;
  // Returns the position up to which a slot's tokens lie in cells that other slots hold too; the
  // tokens after it are in its own cells.
  size_t SharedTokens(size_t slot) const;
  // Cells that only `slot` holds, which clearing it frees.
  size_t OnlyIn(size_t slot) const;

 private:
  // The first `tokens` of a row of cells, which was filled in one go and has a number.
  struct Part {
    uint64_t row = 0;
    size_t tokens = 0;
  };

  size_t TokensOf(size_t slot) const;
  // The most tokens of the row that another slot holds.
  size_t OthersTokens(uint64_t row, size_t slot) const;

  std::vector<std::vector<Part>> held_;  // by slot
  uint64_t last_row_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_SLOTS_CELL_LEDGER_H_
