#include "lab/sim/oracle.h"

#include <algorithm>

#include "base/check.h"
#include "lab/sim/oracle_exact.h"
#include "lab/sim/oracle_needs.h"
#include "lab/sim/oracle_prices.h"

namespace cairn {
namespace {

OracleBound UpperBound(const std::vector<OracleNeeds>& needs, const OraclePrices& prices) {
  OracleBound bound;
  double shared = 0;
  for (const OracleNeeds& request : needs) {
    bound.prompt_tokens += request.prompt_tokens;
    shared += static_cast<double>(request.deepest);
  }
  bound.saved_tokens_max = std::min(shared, prices.saved_tokens_max);
  return bound;
}

}  // namespace

std::string_view BoundKindName(BoundKind kind) {
  return kind == BoundKind::kExact ? "exact" : "upper";
}

OracleBound BoundSaved(const std::vector<TraceStep>& steps, size_t block_tokens,
                       const OracleInput& input) {
  CHECK(input.memory_bytes > 0);
  const std::vector<OracleNeeds> needs = FindNeeds(steps, block_tokens, input);
  return UpperBound(needs, FindPrices(needs, input));
}

OracleBound BestSaved(const std::vector<TraceStep>& steps, size_t block_tokens,
                      const OracleInput& input) {
  CHECK(input.memory_bytes > 0);
  const std::vector<OracleNeeds> needs = FindNeeds(steps, block_tokens, input);
  const OraclePrices prices = FindPrices(needs, input);
  OracleBound bound = UpperBound(needs, prices);
  const OracleSearch search = SearchBest(needs, input, prices);
  bound.saved_tokens_found = search.found;
  bound.saved_tokens_max = std::min(bound.saved_tokens_max, search.most);
  if (search.exact) bound.kind = BoundKind::kExact;
  return bound;
}

}  // namespace cairn
