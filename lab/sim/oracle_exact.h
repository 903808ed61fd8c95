// SearchBest: finds the choice of resume points that saves most tokens, by branch and bound over
// all choices, request by request. Of choices with the same future it follows only one, and it
// prunes those that the prices prove to be no better (docs/oracle.md).

#ifndef CAIRN_LAB_SIM_ORACLE_EXACT_H_
#define CAIRN_LAB_SIM_ORACLE_EXACT_H_

#include <cstdint>
#include <vector>

#include "lab/sim/oracle.h"
#include "lab/sim/oracle_needs.h"
#include "lab/sim/oracle_prices.h"

namespace cairn {

struct OracleSearch {
  // The savings of the best choice found; 0: none was found.
  uint64_t found = 0;
  // No choice saves more.
  double most = 0;
  // The search was exhaustive, so `found` is the best.
  bool exact = false;
};

// Searches for at most input.steps_max steps. `prices` were computed for the same needs.
OracleSearch SearchBest(const std::vector<OracleNeeds>& needs, const OracleInput& input,
                        const OraclePrices& prices);

}  // namespace cairn

#endif  // CAIRN_LAB_SIM_ORACLE_EXACT_H_
