#include "lab/bench/bench_text.h"

#include <cmath>

#include "base/number_text.h"

namespace cairn {
namespace {

constexpr double kSameRatio = 1.02;  // less than that is no difference worth a word

}  // namespace

std::string RatioText(double ratio) {
  if (ratio <= 0) return "-";
  if (ratio < 9.995) return Fixed(ratio, 2);
  if (ratio < 99.95) return Fixed(ratio, 1);
  return WithCommas(static_cast<size_t>(std::round(ratio)));
}

std::string PerRunText(size_t sum, size_t runs) {
  if (runs == 0) return "-";
  return WithCommas((sum + (runs / 2)) / runs);
}

std::string SoonerText(double first_token_ratio) {
  const std::string came = "first tokens came ";
  if (first_token_ratio <= 0) return "first tokens cannot be compared";
  if (first_token_ratio <= 1 / kSameRatio)
    return came + RatioText(1 / first_token_ratio) + " times sooner";
  if (first_token_ratio >= kSameRatio) return came + RatioText(first_token_ratio) + " times later";
  return came + "at the same time";
}

std::string EscapeMarkup(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

}  // namespace cairn
