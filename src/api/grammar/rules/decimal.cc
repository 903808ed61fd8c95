#include "api/grammar/rules/decimal.h"

#include <algorithm>
#include <charconv>

namespace cairn {

Decimal::Decimal(const Json& number) {
  const std::string text = number.dump();
  size_t at = 0;
  if (text[at] == '-') {
    negative_ = true;
    ++at;
  }
  bool fraction = false;
  for (; at < text.size() && text[at] != 'e' && text[at] != 'E'; ++at) {
    if (text[at] == '.') {
      fraction = true;
      continue;
    }
    digits_ += text[at];
    if (!fraction) ++exponent_;
  }
  if (at < text.size()) {
    ++at;
    if (text[at] == '+') ++at;
    int power = 0;
    std::from_chars(text.data() + at, text.data() + text.size(), power);
    exponent_ += power;
  }
  const size_t zeros = std::min(digits_.find_first_not_of('0'), digits_.size());
  digits_.erase(0, zeros);
  exponent_ -= static_cast<int>(zeros);
  digits_.erase(digits_.find_last_not_of('0') + 1);
  if (digits_.empty()) {
    negative_ = false;
    exponent_ = 0;
  }
}

Decimal Decimal::Magnitude() const {
  Decimal positive = *this;
  positive.negative_ = false;
  return positive;
}

Decimal Decimal::Negated() const {
  Decimal other = *this;
  other.negative_ = !negative_ && !is_zero();
  return other;
}

std::string Decimal::Whole() const {
  if (exponent_ <= 0) return "0";
  const auto size = static_cast<size_t>(exponent_);
  std::string whole = digits_.substr(0, size);
  whole.resize(size, '0');
  return whole;
}

std::string Decimal::Fraction() const {
  if (exponent_ <= 0) return std::string(static_cast<size_t>(-exponent_), '0') + digits_;
  const auto size = static_cast<size_t>(exponent_);
  return size >= digits_.size() ? "" : digits_.substr(size);
}

Decimal Decimal::Mantissa() const {
  Decimal mantissa = Magnitude();
  mantissa.exponent_ = 1;
  return mantissa;
}

std::optional<uint32_t> Decimal::Small() const {
  if (!is_integer() || exponent_ > 9) return std::nullopt;
  uint32_t value = 0;
  for (const char c : Whole()) value = value * 10 + static_cast<uint32_t>(c - '0');
  return value;
}

Decimal Decimal::Shifted(int places) const {
  Decimal shifted = Magnitude();
  if (!shifted.is_zero()) shifted.exponent_ += places;
  return shifted;
}

std::strong_ordering Decimal::operator<=>(const Decimal& other) const {
  const int left = is_zero() ? 0 : negative_ ? -1 : 1;
  const int right = other.is_zero() ? 0 : other.negative_ ? -1 : 1;
  if (left != right || left == 0) return left <=> right;
  // Digits without zeros around them compare as texts.
  const auto magnitude = exponent_ != other.exponent_ ? exponent_ <=> other.exponent_
                                                      : digits_.compare(other.digits_) <=> 0;
  return left > 0 ? magnitude : 0 <=> magnitude;
}

}  // namespace cairn
