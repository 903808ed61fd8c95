// SearchBest: the most tokens that any choice of places to go on from saves, found by trying them
// all, request after request, and leaving out what prices prove to be no better (branch and bound;
// docs/oracle.md).

#ifndef CAIRN_SIM_ORACLE_EXACT_H_
#define CAIRN_SIM_ORACLE_EXACT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/oracle.h"
#include "sim/oracle_needs.h"
#include "sim/oracle_prices.h"

namespace cairn {

// Nothing: the search did not come to its end within input.steps_max. `prices`: of these needs.
std::optional<uint64_t> SearchBest(const std::vector<OracleNeeds>& needs, const OracleInput& input,
                                   const OraclePrices& prices);

}  // namespace cairn

#endif  // CAIRN_SIM_ORACLE_EXACT_H_
