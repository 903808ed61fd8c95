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

// Requests whose clients disconnected may have waited for nothing, whatever they saved.
double LeastWait(const std::vector<TraceStep>& steps, const std::vector<OracleNeeds>& needs,
                 const OracleInput& input, const OracleBound& bound) {
  double least = bound.read_tokens_min();
  if (input.disk_bytes > 0) {
    const double saved = MostSavedLessReads(needs, input);
    least = std::max(least, static_cast<double>(bound.prompt_tokens) - saved);
  }
  for (const TraceStep& step : steps) {
    if (step.request->cancelled_at) least -= static_cast<double>(step.request->input_tokens);
  }
  return std::max(least, 0.0);
}

}  // namespace

std::string_view BoundKindName(BoundKind kind) {
  return kind == BoundKind::kExact ? "exact" : "upper";
}

OracleBound BoundSaved(const std::vector<TraceStep>& steps, size_t block_tokens,
                       const OracleInput& input) {
  CHECK(input.memory_bytes > 0);
  const std::vector<OracleNeeds> needs = FindNeeds(steps, block_tokens, input);
  OracleBound bound = UpperBound(needs, FindPrices(needs, input));
  bound.wait_tokens_min = LeastWait(steps, needs, input, bound);
  return bound;
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
  bound.wait_tokens_min = LeastWait(steps, needs, input, bound);
  return bound;
}

}  // namespace cairn
