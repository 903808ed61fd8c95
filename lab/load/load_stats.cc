#include "lab/load/load_stats.h"

#include <algorithm>

#include "lab/bench/percentile.h"

namespace cairn {
namespace {

size_t PiecesIn(const PieceTimes& answer, const TimeWindow& window) {
  const auto from = std::lower_bound(answer.at_ms.begin(), answer.at_ms.end(), window.begin_ms);
  const auto to = std::lower_bound(answer.at_ms.begin(), answer.at_ms.end(), window.end_ms);
  return from < to ? static_cast<size_t>(to - from) : 0;
}

// Returns the mean tokens per delta; a delta may hold several tokens.
double TokensAPiece(const PieceTimes& answer) {
  if (answer.tokens == 0 || answer.at_ms.empty()) return 1;
  return static_cast<double>(answer.tokens) / static_cast<double>(answer.at_ms.size());
}

}  // namespace

std::vector<double> GapsIn(const PieceTimes& answer, const TimeWindow& window) {
  std::vector<double> gaps;
  for (size_t i = 1; i < answer.at_ms.size(); ++i) {
    const double at_ms = answer.at_ms[i];
    if (at_ms < window.begin_ms) continue;
    if (answer.at_ms[i - 1] >= window.end_ms) return gaps;
    if (at_ms >= window.end_ms) {
      // The answer stalled across the window's end.
      gaps.push_back(window.end_ms - answer.at_ms[i - 1]);
      return gaps;
    }
    gaps.push_back(at_ms - answer.at_ms[i - 1]);
  }
  if (!answer.ended && !answer.at_ms.empty() && answer.at_ms.back() < window.end_ms) {
    gaps.push_back(window.end_ms - answer.at_ms.back());
  }
  return gaps;
}

TimeWindow TimeOfAll(const std::vector<PieceTimes>& answers) {
  TimeWindow window;
  for (size_t i = 0; i < answers.size(); ++i) {
    const std::vector<double>& at_ms = answers[i].at_ms;
    if (at_ms.empty()) return {};
    window.begin_ms = i == 0 ? at_ms.front() : std::max(window.begin_ms, at_ms.front());
    window.end_ms = i == 0 ? at_ms.back() : std::min(window.end_ms, at_ms.back());
  }
  if (window.end_ms <= window.begin_ms) return {};
  return window;
}

double TokensPerSecond(const std::vector<PieceTimes>& answers, const TimeWindow& window) {
  if (window.length_ms() <= 0) return 0;
  double tokens = 0;
  for (const PieceTimes& answer : answers) {
    tokens += static_cast<double>(PiecesIn(answer, window)) * TokensAPiece(answer);
  }
  return tokens * 1000 / window.length_ms();
}

Spread SpreadOf(const std::vector<double>& values) {
  if (values.empty()) return {};
  return {Percentile(values, 0.5), Percentile(values, 0.99),
          *std::max_element(values.begin(), values.end())};
}

double RatioOf(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

}  // namespace cairn
