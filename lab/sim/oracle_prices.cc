#include "lab/sim/oracle_prices.h"

#include <algorithm>
#include <cmath>

namespace cairn {
namespace {

// Refine() halves its steps after this many rounds without improvement.
constexpr size_t kPatience = 20;

class PriceSearch {
 public:
  PriceSearch(const std::vector<OracleNeeds>& needs, const OracleInput& input)
      : needs_(needs),
        input_(input),
        kv_(static_cast<double>(input.kv_bytes_per_token)),
        snapshot_(static_cast<double>(input.snapshot_bytes)),
        prices_(needs.size(), FirstPrice()),
        used_(needs.size() + 1) {
    now_.paid.resize(needs.size() + 1);
    now_.best.resize(needs.size());
  }

  // Returns the prices with the lowest bound found.
  OraclePrices Search() {
    Evaluate();
    OraclePrices least = now_;
    // Each price moves by the relative excess of its interval's memory, in ever smaller steps.
    for (size_t round = 1; round <= input_.rounds; ++round) {
      const double step = 1.0 / std::sqrt(static_cast<double>(round));
      for (size_t i = 0; i < prices_.size(); ++i) {
        prices_[i] *= std::exp(step * std::clamp(Over(i), -1.0, 1.0));
      }
      Evaluate();
      if (now_.saved_tokens_max < least.saved_tokens_max) least = now_;
    }
    return least;
  }

  // Subgradient descent with Polyak's steps, scaled by `share`: an unscaled step would end at
  // `reached` if the bound kept its initial slope.
  OraclePrices Refine(const OraclePrices& prices, double reached, double enough, size_t rounds) {
    OraclePrices least = prices;
    for (size_t i = 0; i < prices_.size(); ++i) prices_[i] = prices.PriceOf(i, i + 1);
    double share = 1;
    size_t in_vain = 0;
    for (size_t round = 0; round < rounds; ++round) {
      Evaluate();
      ++in_vain;
      if (now_.saved_tokens_max < least.saved_tokens_max) {
        least = now_;
        in_vain = 0;
      }
      if (least.saved_tokens_max - reached < enough) break;
      if (in_vain == kPatience) {
        share /= 2;
        in_vain = 0;
      }
      double squares = 0;
      for (size_t i = 0; i < prices_.size(); ++i) squares += Over(i) * Over(i);
      if (squares == 0) break;
      const double step =
          share * (now_.saved_tokens_max - reached) / (squares * input_.memory_bytes);
      for (size_t i = 0; i < prices_.size(); ++i) {
        prices_[i] = std::max(0.0, prices_[i] + step * Over(i));
      }
    }
    return least;
  }

 private:
  // Returns the memory wanted beyond the limit from request i to the next, relative to the limit.
  double Over(size_t i) const { return (used_[i] - input_.memory_bytes) / input_.memory_bytes; }

  // Pays one saved token for each of the token's bytes over a hundred requests.
  double FirstPrice() const { return 1.0 / (100.0 * std::max(kv_, 1.0)); }

  // Computes the bound at these prices; fills used_.
  void Evaluate() {
    now_.paid[0] = 0;
    for (size_t i = 0; i < prices_.size(); ++i) now_.paid[i + 1] = now_.paid[i] + prices_[i];
    std::fill(used_.begin(), used_.end(), 0);
    now_.saved_tokens_max = now_.paid.back() * input_.memory_bytes;
    for (size_t j = 0; j < needs_.size(); ++j) {
      now_.best[j] = Best(j);
      now_.saved_tokens_max += now_.best[j];
    }
    // Until here used_ holds differences between consecutive requests.
    for (size_t i = 1; i < used_.size(); ++i) used_[i] += used_[i - 1];
  }

  // Returns the best savings of one request less the price of its memory, over all positions. The
  // maximum is at the end of a run, or at free_tokens, the last position without a snapshot.
  double Best(size_t j) {
    double best = 0;
    double kept = 0;  // tokens less the price of their KV
    size_t begin = 0;
    size_t chosen = 0;
    for (const OracleRun& run : needs_[j].runs) {
      const double price = now_.PriceOf(run.last_seen, j);
      const auto consider = [&](size_t end) {
        kept += static_cast<double>(end - begin) * (1 - kv_ * price);
        begin = end;
        const double saved = kept - (end > input_.free_tokens ? snapshot_ * price : 0);
        if (saved <= best) return;
        best = saved;
        chosen = end;
      };
      if (begin < input_.free_tokens && input_.free_tokens < run.end_tokens) {
        consider(input_.free_tokens);
      }
      consider(run.end_tokens);
    }
    Use(j, chosen);
    return best;
  }

  // Adds the memory of a resume of request j from `position` to used_.
  void Use(size_t j, size_t position) {
    size_t begin = 0;
    for (const OracleRun& run : needs_[j].runs) {
      if (begin >= position) break;
      const size_t end = std::min(run.end_tokens, position);
      double bytes = static_cast<double>(end - begin) * kv_;
      if (end == position && position > input_.free_tokens) bytes += snapshot_;
      used_[run.last_seen] += bytes;
      used_[j] -= bytes;
      begin = end;
    }
  }

  const std::vector<OracleNeeds>& needs_;
  const OracleInput& input_;
  const double kv_;
  const double snapshot_;
  std::vector<double> prices_;  // of a byte from request i to the next
  std::vector<double> used_;    // bytes from request i to the next
  OraclePrices now_;
};

}  // namespace

OraclePrices RefinePrices(const std::vector<OracleNeeds>& needs, const OracleInput& input,
                          const OraclePrices& prices, double reached, double enough,
                          size_t rounds) {
  return PriceSearch(needs, input).Refine(prices, reached, enough, rounds);
}

OraclePrices FindPrices(const std::vector<OracleNeeds>& needs, const OracleInput& input) {
  return PriceSearch(needs, input).Search();
}

}  // namespace cairn
