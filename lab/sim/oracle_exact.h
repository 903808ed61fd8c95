// SearchBest: the most tokens that any choice of places to go on from saves, found by trying them
// all, request after request, following one of all ways with the same future and leaving out what
// prices prove to be no better (docs/oracle.md).

#ifndef CAIRN_LAB_SIM_ORACLE_EXACT_H_
#define CAIRN_LAB_SIM_ORACLE_EXACT_H_

#include <cstdint>
#include <vector>

#include "lab/sim/oracle.h"
#include "lab/sim/oracle_needs.h"
#include "lab/sim/oracle_prices.h"

namespace cairn {

struct OracleSearch {
  // Some choice saves so many; 0: none was found.
  uint64_t found = 0;
  // No choice saves more.
  double most = 0;
  // All were tried: `found` is the best.
  bool exact = false;
};

// Tries until input.steps_max. `prices`: of these needs.
OracleSearch SearchBest(const std::vector<OracleNeeds>& needs, const OracleInput& input,
                        const OraclePrices& prices);

}  // namespace cairn

#endif  // CAIRN_LAB_SIM_ORACLE_EXACT_H_
