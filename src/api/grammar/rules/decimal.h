// Decimal: a number of JSON, exactly.

#ifndef CAIRN_API_GRAMMAR_RULES_DECIMAL_H_
#define CAIRN_API_GRAMMAR_RULES_DECIMAL_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"

namespace cairn {

// sign * 0.DIGITS * 10^exponent, with no zeros around the digits; zero has none.
class Decimal {
 public:
  Decimal() = default;
  explicit Decimal(const Json& number);  // REQUIRES: number.is_number()

  bool is_zero() const { return digits_.empty(); }
  bool negative() const { return negative_; }
  bool is_integer() const { return is_zero() || exponent_ >= static_cast<int>(digits_.size()); }
  Decimal Magnitude() const;
  Decimal Negated() const;

  // The digits before and after the point of the magnitude, such as "12" and "5"; "0" for none
  // before it. REQUIRES: the exponent is between -400 and 400, as any double's is.
  std::string Whole() const;
  std::string Fraction() const;
  // In scientific notation the magnitude is D.DDD * 10^Power(), with Mantissa() as D.DDD.
  // REQUIRES: not zero.
  int Power() const { return exponent_ - 1; }
  Decimal Mantissa() const;
  // The magnitude as a whole number, if it is one below 2^31.
  std::optional<uint32_t> Small() const;
  // The magnitude times 10^places.
  Decimal Shifted(int places) const;

  std::strong_ordering operator<=>(const Decimal& other) const;
  bool operator==(const Decimal& other) const = default;

 private:
  bool negative_ = false;
  std::string digits_;
  int exponent_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_API_GRAMMAR_RULES_DECIMAL_H_
