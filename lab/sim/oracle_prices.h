// OraclePrices: a price for each byte of memory between any two consecutive requests, which splits
// the packing problem of docs/oracle.md into one small problem per request. Any prices give an
// upper bound; these are searched for a low one.

#ifndef CAIRN_LAB_SIM_ORACLE_PRICES_H_
#define CAIRN_LAB_SIM_ORACLE_PRICES_H_

#include <cstddef>
#include <vector>

#include "lab/sim/oracle.h"
#include "lab/sim/oracle_needs.h"

namespace cairn {

struct OraclePrices {
  // No choice saves more tokens.
  double saved_tokens_max = 0;
  // The price of keeping a byte from the first request until request i, in tokens saved.
  std::vector<double> paid;
  // For each request, the savings of its best resume point less the price of keeping it.
  std::vector<double> best;

  double PriceOf(size_t from, size_t until) const { return paid[until] - paid[from]; }
};

OraclePrices FindPrices(const std::vector<OracleNeeds>& needs, const OracleInput& input);
// Returns better prices, or the same, until the bound is less than `enough` above `reached`, the
// savings of a known choice, or `rounds` have passed. Expensive: for short traces.
OraclePrices RefinePrices(const std::vector<OracleNeeds>& needs, const OracleInput& input,
                          const OraclePrices& prices, double reached, double enough, size_t rounds);

// Returns the most that any choice saves, in tokens: those that are not prefilled, less those that
// could be prefilled while its reads from the disk take place. A byte has two prices between any
// two consecutive requests, one in memory and one on the disk. REQUIRES: a disk.
double MostSavedLessReads(const std::vector<OracleNeeds>& needs, const OracleInput& input);

}  // namespace cairn

#endif  // CAIRN_LAB_SIM_ORACLE_PRICES_H_
