#include "sched/slots/cell_ledger.h"

#include <algorithm>

#include "base/check.h"

namespace cairn {

size_t CellLedger::TokensOf(size_t slot) const {
  size_t tokens = 0;
  for (const Part& part : held_[slot]) tokens += part.tokens;
  return tokens;
}

size_t CellLedger::OthersTokens(uint64_t row, size_t slot) const {
  size_t tokens = 0;
  for (size_t other = 0; other < held_.size(); ++other) {
    if (other == slot) continue;
    for (const Part& part : held_[other]) {
      if (part.row == row) tokens = std::max(tokens, part.tokens);
    }
  }
  return tokens;
}

// Slots share only beginnings.
size_t CellLedger::SharedTokens(size_t slot) const {
  size_t shared = 0;
  size_t position = 0;
  for (const Part& part : held_[slot]) {
    const size_t tokens = std::min(part.tokens, OthersTokens(part.row, slot));
    if (tokens > 0) shared = position + tokens;
    position += part.tokens;
  }
  return shared;
}

void CellLedger::SetTokens(size_t slot, size_t tokens) {
  std::vector<Part>& parts = held_[slot];
  size_t held = TokensOf(slot);
  while (held > tokens) {
    const size_t cut = std::min(parts.back().tokens, held - tokens);
    parts.back().tokens -= cut;
    held -= cut;
    if (parts.back().tokens == 0) parts.pop_back();
  }
  if (held == tokens) return;
  // Another slot may hold more of the row than this slot does.
  if (parts.empty() || OthersTokens(parts.back().row, slot) > 0) parts.push_back({++last_row_, 0});
  parts.back().tokens += tokens - held;
}

void CellLedger::Share(size_t from, size_t to, size_t tokens) {
  CHECK(from != to && tokens <= TokensOf(from));
  held_[to] = held_[from];
  SetTokens(to, tokens);
}

size_t CellLedger::OnlyIn(size_t slot) const {
  std::vector<bool> others(held_.size(), true);
  others[slot] = false;
  return used() - UsedBy(others);
}

size_t CellLedger::UsedBy(const std::vector<bool>& slots) const {
  std::vector<Part> rows;  // few, so they are searched one by one
  rows.reserve(2 * held_.size());
  for (size_t slot = 0; slot < held_.size(); ++slot) {
    if (!slots[slot]) continue;
    for (const Part& part : held_[slot]) {
      const auto row = std::find_if(rows.begin(), rows.end(),
                                    [&](const Part& other) { return other.row == part.row; });
      if (row == rows.end()) {
        rows.push_back(part);
      } else {
        row->tokens = std::max(row->tokens, part.tokens);
      }
    }
  }
  size_t used = 0;
  for (const Part& row : rows) used += row.tokens;
  return used;
}

}  // namespace cairn
