// ArchitectureTable: what libllama supports for the memory of each architecture, as `make
// conformance` found it. It is stored in architectures.tsv, a file that people can read and
// compare; docs/architectures.md is generated from it.

#ifndef CAIRN_ENGINE_ARCHITECTURE_TABLE_H_
#define CAIRN_ENGINE_ARCHITECTURE_TABLE_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cairn {

// One model that was tried. Besides the values below, a cell may be "aborts" (libllama ended the
// process), "timeout", "refused: WHAT" (a call failed) or "-" (not tried: no memory to try it on).
struct ArchitectureRow {
  std::string architecture;  // libllama's name
  std::string variant;       // "dense" or "moe": some architectures are made as both
  std::string memory;        // MemoryClassName(), "none" or "refused: WHY"
  std::string grid;          // tokens, "none" (every cut changed the logits) or "not found"
  std::string snapshot;      // "exact" or "differs by X"
  std::string exactness;     // "12 of 12", or "9 of 12, off by X"
  std::string segments;      // "exact", "differs by X (WHERE)" or "none": there is no attention KV
  std::string whole;         // "exact" or "differs by X (WHERE)"

  bool operator==(const ArchitectureRow&) const = default;
};

struct ArchitectureTable {
  std::string made_with;              // versions of the libraries that were tried
  std::vector<ArchitectureRow> rows;  // sorted by architecture, then variant

  bool operator==(const ArchitectureTable&) const = default;
};

// kCorrupt for a wrong header, a wrong number of cells, an empty cell or a line out of order; the
// message names the line.
Result<ArchitectureTable> ParseArchitectureTable(std::string_view text);
// Sorts the rows. REQUIRES: no cell is empty or contains a tab or a line break.
std::string FormatArchitectureTable(ArchitectureTable table);

// Whether the table knows the architecture and every model of it moved its segments exactly.
bool HasExactSegments(const ArchitectureTable& table, std::string_view architecture);
// Whether a model of the architecture was seen to fail with full states. None has so far, so an
// architecture that the table does not know is tried at load.
bool FailsWithFullStates(const ArchitectureTable& table, std::string_view architecture);

}  // namespace cairn

#endif  // CAIRN_ENGINE_ARCHITECTURE_TABLE_H_
