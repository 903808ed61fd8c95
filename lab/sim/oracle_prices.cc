#include "lab/sim/oracle_prices.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace cairn {
namespace {

// Refine() halves its steps after this many rounds without improvement.
constexpr size_t kPatience = 20;

// Returns a price to begin a search of prices with: one saved token for the KV of a token over a
// hundred requests.
double FirstPriceOf(const OracleInput& input) {
  return 1.0 / (100.0 * static_cast<double>(std::max<size_t>(input.kv_bytes_per_token, 1)));
}

struct BestResume {
  double saved = 0;  // tokens, less the price
  size_t position = 0;
};

// `price_of(run)`: of a byte kept since `run` was last seen, in tokens. The best point is at the
// end of a run, or at free_tokens, the last position without a snapshot.
template <typename PriceOf>
BestResume FindBestResume(const OracleNeeds& needs, const OracleInput& input,
                          const PriceOf& price_of) {
  const auto kv = static_cast<double>(input.kv_bytes_per_token);
  const auto snapshot = static_cast<double>(input.snapshot_bytes);
  BestResume best;
  double kept = 0;  // tokens less the price of their KV
  size_t begin = 0;
  for (const OracleRun& run : needs.runs) {
    const double price = price_of(run);
    const auto consider = [&](size_t end) {
      kept += static_cast<double>(end - begin) * (1 - kv * price);
      begin = end;
      const double saved = kept - (end > input.free_tokens ? snapshot * price : 0);
      if (saved > best.saved) best = {saved, end};
    };
    if (begin < input.free_tokens && input.free_tokens < run.end_tokens) {
      consider(input.free_tokens);
    }
    consider(run.end_tokens);
  }
  return best;
}

// Calls use(run, bytes) for each run of which a resume at `position` needs bytes.
template <typename Use>
void ForEachUsed(const OracleNeeds& needs, const OracleInput& input, size_t position,
                 const Use& use) {
  size_t begin = 0;
  for (const OracleRun& run : needs.runs) {
    if (begin >= position) break;
    const size_t end = std::min(run.end_tokens, position);
    auto bytes = static_cast<double>((end - begin) * input.kv_bytes_per_token);
    if (end == position && position > input.free_tokens) {
      bytes += static_cast<double>(input.snapshot_bytes);
    }
    use(run, bytes);
    begin = end;
  }
}

class PriceSearch {
 public:
  PriceSearch(const std::vector<OracleNeeds>& needs, const OracleInput& input)
      : needs_(needs),
        input_(input),
        prices_(needs.size(), FirstPriceOf(input)),
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

  // Computes the bound at these prices; fills used_.
  void Evaluate() {
    now_.paid[0] = 0;
    for (size_t i = 0; i < prices_.size(); ++i) now_.paid[i + 1] = now_.paid[i] + prices_[i];
    std::fill(used_.begin(), used_.end(), 0);
    now_.saved_tokens_max = now_.paid.back() * input_.memory_bytes;
    for (size_t j = 0; j < needs_.size(); ++j) {
      const BestResume best = FindBestResume(
          needs_[j], input_, [&](const OracleRun& run) { return now_.PriceOf(run.last_seen, j); });
      now_.best[j] = best.saved;
      now_.saved_tokens_max += best.saved;
      ForEachUsed(needs_[j], input_, best.position, [&](const OracleRun& run, double bytes) {
        used_[run.last_seen] += bytes;
        used_[j] -= bytes;
      });
    }
    // Until here used_ holds differences between consecutive requests.
    for (size_t i = 1; i < used_.size(); ++i) used_[i] += used_[i - 1];
  }

  const std::vector<OracleNeeds>& needs_;
  const OracleInput& input_;
  std::vector<double> prices_;  // of a byte from request i to the next
  std::vector<double> used_;    // bytes from request i to the next
  OraclePrices now_;
};

// A place for bytes, memory or disk, with its prices at all times.
class Tier {
 public:
  Tier(double bytes_max, size_t requests, double first_price)
      : bytes_max_(bytes_max), prices_(requests, first_price), used_(requests) {}

  double PriceAt(size_t i) const { return prices_[i]; }
  void SetUsed(size_t i, double bytes) { used_[i] = bytes; }

  // Returns the price of all its bytes at all times.
  double Rent() const {
    double sum = 0;
    for (const double price : prices_) sum += price;
    return sum * bytes_max_;
  }

  // Moves each price by the relative excess of its interval's bytes.
  void MovePrices(double step) {
    for (size_t i = 0; i < prices_.size(); ++i) {
      const double over = (used_[i] - bytes_max_) / bytes_max_;
      prices_[i] *= std::exp(step * std::clamp(over, -1.0, 1.0));
    }
  }

 private:
  const double bytes_max_;
  std::vector<double> prices_;  // of a byte from request i to the next
  std::vector<double> used_;    // bytes from request i to the next
};

class TwoPriceSearch {
 public:
  TwoPriceSearch(const std::vector<OracleNeeds>& needs, const OracleInput& input)
      : needs_(needs),
        input_(input),
        memory_(input.memory_bytes - input.disk_bytes, needs.size(), FirstPriceOf(input)),
        disk_(input.disk_bytes, needs.size(), FirstPriceOf(input)),
        paid_memory_(needs.size() + 1),
        paid_either_(needs.size() + 1),
        in_memory_(needs.size() + 1),
        in_either_(needs.size() + 1) {}

  double Search() {
    double least = Evaluate();
    for (size_t round = 1; round <= input_.rounds; ++round) {
      const double step = 1.0 / std::sqrt(static_cast<double>(round));
      memory_.MovePrices(step);
      disk_.MovePrices(step);
      least = std::min(least, Evaluate());
    }
    return least;
  }

 private:
  // Returns the bound at these prices, and tells the tiers how many bytes are wanted of them.
  double Evaluate() {
    for (size_t i = 0; i < needs_.size(); ++i) {
      paid_memory_[i + 1] = paid_memory_[i] + memory_.PriceAt(i);
      paid_either_[i + 1] = paid_either_[i] + std::min(memory_.PriceAt(i), disk_.PriceAt(i));
    }
    std::fill(in_memory_.begin(), in_memory_.end(), 0);
    std::fill(in_either_.begin(), in_either_.end(), 0);
    double saved = memory_.Rent() + disk_.Rent();
    for (size_t j = 0; j < needs_.size(); ++j) {
      const BestResume best = FindBestResume(needs_[j], input_, [&](const OracleRun& run) {
        return std::min(InMemory(run, j), InEither(run, j));
      });
      saved += best.saved;
      ForEachUsed(needs_[j], input_, best.position, [&](const OracleRun& run, double bytes) {
        std::vector<double>& place = InMemory(run, j) <= InEither(run, j) ? in_memory_ : in_either_;
        place[run.last_seen] += bytes;
        place[j] -= bytes;
      });
    }
    TellTiers();
    return saved;
  }

  // Returns the price of a byte that stays in memory from the run's last request until request j.
  double InMemory(const OracleRun& run, size_t j) const {
    return paid_memory_[j] - paid_memory_[run.last_seen];
  }
  // Returns the price of a byte that is read from the disk by then and was where it is cheaper.
  double InEither(const OracleRun& run, size_t j) const {
    return paid_either_[j] - paid_either_[run.last_seen] + input_.read_tokens_per_byte;
  }

  // Until here in_memory_ and in_either_ hold differences between consecutive requests.
  void TellTiers() {
    double memory = 0;
    double either = 0;
    for (size_t i = 0; i < needs_.size(); ++i) {
      memory += in_memory_[i];
      either += in_either_[i];
      const bool on_disk = disk_.PriceAt(i) < memory_.PriceAt(i);
      memory_.SetUsed(i, memory + (on_disk ? 0 : either));
      disk_.SetUsed(i, on_disk ? either : 0);
    }
  }

  const std::vector<OracleNeeds>& needs_;
  const OracleInput& input_;
  Tier memory_;
  Tier disk_;
  // The prices that a byte has paid from the first request until request i.
  std::vector<double> paid_memory_;
  std::vector<double> paid_either_;
  // Bytes, as differences between consecutive requests.
  std::vector<double> in_memory_;
  std::vector<double> in_either_;
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

double MostSavedLessReads(const std::vector<OracleNeeds>& needs, const OracleInput& input) {
  CHECK(input.disk_bytes > 0 && input.memory_bytes > input.disk_bytes);
  return TwoPriceSearch(needs, input).Search();
}

}  // namespace cairn
