#include "jinja/value/number.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "jinja/value/unicode.h"

namespace cairn::jinja {
namespace {

__extension__ using UnsignedInt = unsigned __int128;

constexpr const char* kTooLarge = "an integer has more than 128 bits";

Int PowerOf(Int base, Int exponent) {
  Int result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) Raise(kTooLarge);
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) Raise(kTooLarge);
  }
  return result;
}

Int FloorDivide(Int a, Int b) {
  if (b == -1) {
    Int negative = 0;
    if (__builtin_sub_overflow(Int{0}, a, &negative)) Raise(kTooLarge);
    return negative;
  }
  const Int quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

Int FloorModulo(Int a, Int b) {
  if (b == -1) return 0;
  const Int rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

// The nearest float, as Python's; that of the quotient of two floats is not, where these are
// rounded.
double Divide(Int a, Int b) {
  constexpr Int kExactMax = Int{1} << 53;
  if (a > -kExactMax && a < kExactMax && b > -kExactMax && b < kExactMax) {
    return static_cast<double>(a) / static_cast<double>(b);
  }
  const auto size = [](Int value) {
    return value < 0 ? UnsignedInt{0} - static_cast<UnsignedInt>(value)
                     : static_cast<UnsignedInt>(value);
  };
  UnsignedInt quotient = size(a) / size(b);
  UnsignedInt rest = size(a) % size(b);
  int halvings = 0;
  for (; rest != 0 && quotient < UnsignedInt{1} << 60; ++halvings) {
    quotient <<= 1;
    rest <<= 1;
    if (rest >= size(b)) {
      rest -= size(b);
      quotient |= 1;
    }
  }
  if (rest != 0) quotient |= 1;  // It is not half way between two floats.
  const double result = std::ldexp(static_cast<double>(quotient), -halvings);
  return (a < 0) != (b < 0) ? -result : result;
}

double FloatModulo(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest != 0) {
    if ((b < 0) != (rest < 0)) rest += b;
  } else {
    rest = std::copysign(0.0, b);
  }
  return rest;
}

double FloatFloorDivide(double a, double b) {
  const double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1.0;
  if (quotient == 0) return std::copysign(0.0, a / b);
  double whole = std::floor(quotient);
  if (quotient - whole > 0.5) whole += 1.0;
  return whole;
}

double FloatPower(double a, double b) {
  if (a == 0 && b < 0) Raise("0.0 cannot be raised to a negative power");
  if (a < 0 && std::isfinite(a) && std::isfinite(b) && b != std::floor(b)) {
    Raise("complex numbers are not supported");
  }
  const double power = std::pow(a, b);
  if (std::isinf(power) && std::isfinite(a) && std::isfinite(b)) Raise("Result too large");
  return power;
}

Value CalculateInts(Arithmetic operation, Int a, Int b) {
  Int result = 0;
  bool overflow = false;
  switch (operation) {
    case Arithmetic::kAdd:
      overflow = __builtin_add_overflow(a, b, &result);
      break;
    case Arithmetic::kSub:
      overflow = __builtin_sub_overflow(a, b, &result);
      break;
    case Arithmetic::kMul:
      overflow = __builtin_mul_overflow(a, b, &result);
      break;
    case Arithmetic::kFloorDiv:
      if (b == 0) Raise("integer division or modulo by zero");
      result = FloorDivide(a, b);
      break;
    case Arithmetic::kMod:
      if (b == 0) Raise("integer modulo by zero");
      result = FloorModulo(a, b);
      break;
    case Arithmetic::kDiv:
      if (b == 0) Raise("division by zero");
      return Value::Float(Divide(a, b));
    case Arithmetic::kPow:
      if (b < 0) return Value::Float(FloatPower(static_cast<double>(a), static_cast<double>(b)));
      result = PowerOf(a, b);
      break;
  }
  if (overflow) Raise(kTooLarge);
  return Value::Integer(result);
}

// A float to the nearest multiple of 10 ** `zeros`, which a C library prints exactly.
double RoundedToTens(double value, int zeros) {
  std::array<char, 400> text{};
  std::snprintf(text.data(), text.size(), "%.17e", value);
  const int exponent = std::atoi(std::strchr(text.data(), 'e') + 1);
  const int digits = exponent + 1 - zeros;
  if (digits > 0) {
    std::snprintf(text.data(), text.size(), "%.*e", digits - 1, value);
    return std::strtod(text.data(), nullptr);
  }
  const auto power = [](int digit, int of) {
    return std::strtod((std::to_string(digit) + "e" + std::to_string(of)).c_str(), nullptr);
  };
  const bool up = digits == 0 && std::fabs(value) > power(5, exponent);
  return std::copysign(up ? power(1, exponent + 1) : 0.0, value);
}

int Sign(Int value) {
  return value < 0 ? -1 : value > 0 ? 1 : 0;
}

int CompareIntFloat(Int a, double b) {
  if (std::isnan(b)) return 2;
  if (b >= 0x1p127) return -1;
  if (b < -0x1p127) return 1;
  const double whole = std::floor(b);
  const auto integral = static_cast<Int>(whole);
  if (a != integral) return a < integral ? -1 : 1;
  return b > whole ? -1 : 0;
}

// Digits with single underscores between them.
bool WithoutUnderscores(std::string_view text, std::string* plain) {
  char before = '_';
  for (const char c : text) {
    if (c == '_' && before == '_') return false;
    if (c != '_') *plain += c;
    before = c;
  }
  return before != '_';
}

int DigitValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
  return 99;
}

}  // namespace

const char* OperatorText(Arithmetic operation) {
  constexpr std::array<const char*, 7> kTexts = {"+", "-", "*", "/", "//", "%", "** or pow()"};
  return kTexts[static_cast<size_t>(operation)];
}

double ToDouble(const Value& number) {
  return number.is(Kind::kFloat) ? number.floating() : static_cast<double>(number.integer());
}

Int ToInt(double number) {
  if (std::isnan(number)) Raise("cannot convert float NaN to integer");
  if (std::isinf(number)) Raise("cannot convert float infinity to integer");
  if (number >= 0x1p127 || number < -0x1p127) Raise(kTooLarge);
  return static_cast<Int>(number);
}

Value Calculate(Arithmetic operation, const Value& a, const Value& b) {
  if (a.is_int() && b.is_int()) return CalculateInts(operation, a.integer(), b.integer());
  const double x = ToDouble(a);
  const double y = ToDouble(b);
  switch (operation) {
    case Arithmetic::kAdd:
      return Value::Float(x + y);
    case Arithmetic::kSub:
      return Value::Float(x - y);
    case Arithmetic::kMul:
      return Value::Float(x * y);
    case Arithmetic::kPow:
      return Value::Float(FloatPower(x, y));
    case Arithmetic::kDiv:
      if (y == 0) Raise("float division by zero");
      return Value::Float(x / y);
    case Arithmetic::kFloorDiv:
      if (y == 0) Raise("float floor division by zero");
      return Value::Float(FloatFloorDivide(x, y));
    case Arithmetic::kMod:
      if (y == 0) Raise("float modulo");
      return Value::Float(FloatModulo(x, y));
  }
  return {};
}

int CompareNumbers(const Value& a, const Value& b) {
  if (a.is_int() && b.is_int()) {
    return a.integer() < b.integer() ? -1 : a.integer() > b.integer() ? 1 : 0;
  }
  if (a.is_int()) return CompareIntFloat(a.integer(), b.floating());
  if (b.is_int()) {
    const int reversed = CompareIntFloat(b.integer(), a.floating());
    return reversed == 2 ? 2 : -reversed;
  }
  if (std::isnan(a.floating()) || std::isnan(b.floating())) return 2;
  return a.floating() < b.floating() ? -1 : a.floating() > b.floating() ? 1 : 0;
}

std::string IntText(Int value, unsigned base) {
  std::string text;
  auto rest = value < 0 ? UnsignedInt{0} - static_cast<UnsignedInt>(value)
                        : static_cast<UnsignedInt>(value);
  do {
    text += "0123456789abcdef"[static_cast<size_t>(rest % base)];
    rest /= base;
  } while (rest != 0);
  if (Sign(value) < 0) text += '-';
  std::reverse(text.begin(), text.end());
  return text;
}

std::string FloatText(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 std::chars_format::scientific);
  const std::string_view shortest(buffer.data(), static_cast<size_t>(end.ptr - buffer.data()));
  const size_t e = shortest.find('e');
  const int exponent = std::atoi(std::string(shortest.substr(e + 1)).c_str());
  std::string digits;
  for (const char c : shortest.substr(0, e)) {
    if (c >= '0' && c <= '9') digits += c;
  }
  std::string text = std::signbit(value) ? "-" : "";
  if (exponent < -4 || exponent >= 16) {
    text += digits.substr(0, 1);
    if (digits.size() > 1) text += "." + digits.substr(1);
    std::snprintf(buffer.data(), buffer.size(), "e%c%02d", exponent < 0 ? '-' : '+',
                  std::abs(exponent));
    return text + buffer.data();
  }
  if (exponent < 0)
    return text + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  const auto point = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= point) return text + digits + std::string(point - digits.size(), '0') + ".0";
  return text + digits.substr(0, point) + "." + digits.substr(point);
}

std::optional<Int> ParseInt(std::string_view given, unsigned base) {
  std::string_view text = StrippedSpace(given);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.size() > 2 && text[0] == '0') {
    const char mark = static_cast<char>(text[1] | 0x20);
    const unsigned marked = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
    if (marked != 0 && (base == marked || base == 0)) {
      base = marked;
      text.remove_prefix(text[2] == '_' ? 3 : 2);
    }
  }
  std::string digits;
  if (!WithoutUnderscores(text, &digits) || digits.empty()) return std::nullopt;
  if (base == 0) {
    base = 10;
    if (digits[0] == '0' && digits.find_first_not_of('0') != std::string::npos) return std::nullopt;
  }
  Int value = 0;
  for (const char c : digits) {
    const int digit = DigitValue(c);
    if (digit >= static_cast<int>(base)) return std::nullopt;
    if (__builtin_mul_overflow(value, static_cast<Int>(base), &value) ||
        __builtin_sub_overflow(value, static_cast<Int>(digit), &value)) {
      Raise(kTooLarge);
    }
  }
  if (negative) return value;
  if (__builtin_sub_overflow(Int{0}, value, &value)) Raise(kTooLarge);
  return value;
}

std::optional<double> ParseFloat(std::string_view given) {
  std::string_view text = StrippedSpace(given);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  std::string plain;
  if (text.find('_') != std::string_view::npos) {
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '_') {
        plain += text[i];
        continue;
      }
      const bool between = i > 0 && i + 1 < text.size() && DigitValue(text[i - 1]) < 10 &&
                           DigitValue(text[i + 1]) < 10;
      if (!between) return std::nullopt;
    }
    text = plain;
  }
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  double value = 0;
  if (lower == "inf" || lower == "infinity") {
    value = INFINITY;
  } else if (lower == "nan") {
    value = NAN;
  } else {
    if (lower.empty() || lower.find_first_not_of("0123456789.e+-") != std::string::npos) {
      return std::nullopt;
    }
    if (lower[0] != '.' && DigitValue(lower[0]) > 9) return std::nullopt;
    char* end = nullptr;
    value = std::strtod(lower.c_str(), &end);
    if (end != lower.c_str() + lower.size() || lower == ".") return std::nullopt;
  }
  return negative ? -value : value;
}

Value Rounded(const Value& number, Int digits) {
  if (number.is_int()) {
    if (digits >= 0) return Value::Integer(number.integer());
    if (digits < -38) return Value::Integer(0);
    const Int unit = PowerOf(10, -digits);
    const Int below = FloorDivide(number.integer(), unit);
    const Int rest = number.integer() - below * unit;
    const bool up = rest * 2 > unit || (rest * 2 == unit && (below & 1) != 0);
    return Value::Integer((below + (up ? 1 : 0)) * unit);
  }
  const double value = number.floating();
  if (!std::isfinite(value) || digits > 323) return number;
  if (digits < -308) return Value::Float(std::copysign(0.0, value));
  if (digits >= 0) {
    std::array<char, 1024> text{};
    std::snprintf(text.data(), text.size(), "%.*f", static_cast<int>(digits), value);
    return Value::Float(std::strtod(text.data(), nullptr));
  }
  return Value::Float(RoundedToTens(value, static_cast<int>(-digits)));
}

}  // namespace cairn::jinja
