// OraclePrices: what a byte of memory is worth between any two requests, so that the packing of
// docs/oracle.md falls apart into one small question for each request. Any prices give a bound;
// these are searched for a low one.

#ifndef CAIRN_LAB_SIM_ORACLE_PRICES_H_
#define CAIRN_LAB_SIM_ORACLE_PRICES_H_

#include <cstddef>
#include <vector>

#include "lab/sim/oracle.h"
#include "lab/sim/oracle_needs.h"

namespace cairn {

struct OraclePrices {
  // No packing saves more tokens.
  double saved_tokens_max = 0;
  // What keeping a byte from the first request until request i costs, in tokens saved.
  std::vector<double> paid;
  // Of each request: what its best place to go on from saves beyond what keeping it costs.
  std::vector<double> best;

  double PriceOf(size_t from, size_t until) const { return paid[until] - paid[from]; }
};

OraclePrices FindPrices(const std::vector<OracleNeeds>& needs, const OracleInput& input);
// Better ones, or the same: until the bound is less than `enough` above `reached`, which some
// packing saves, or `rounds` are over. Dear: for short traces.
OraclePrices RefinePrices(const std::vector<OracleNeeds>& needs, const OracleInput& input,
                          const OraclePrices& prices, double reached, double enough, size_t rounds);

}  // namespace cairn

#endif  // CAIRN_LAB_SIM_ORACLE_PRICES_H_
