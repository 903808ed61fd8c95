// Arithmetic and texts of numbers as Python has them. Pure functions; they raise Failures.

#ifndef CAIRN_JINJA_VALUE_NUMBER_H_
#define CAIRN_JINJA_VALUE_NUMBER_H_

#include <optional>
#include <string>
#include <string_view>

#include "jinja/value/value.h"

namespace cairn::jinja {

enum class Arithmetic : uint8_t { kAdd, kSub, kMul, kDiv, kFloorDiv, kMod, kPow };

const char* OperatorText(Arithmetic operation);

// Both must be numbers.
Value Calculate(Arithmetic operation, const Value& a, const Value& b);
// -1, 0 or 1; 2 where one is no number (NaN).
int CompareNumbers(const Value& a, const Value& b);

double ToDouble(const Value& number);
// The integral part. Raises a Failure for infinities and what does not fit.
Int ToInt(double number);
std::string IntText(Int value, unsigned base = 10);
// As repr() writes it.
std::string FloatText(double value);
// As int(text, base) and float(text) read it.
std::optional<Int> ParseInt(std::string_view given, unsigned base);
std::optional<double> ParseFloat(std::string_view given);
// round(value, digits)
Value Rounded(const Value& number, Int digits);

}  // namespace cairn::jinja

#endif  // CAIRN_JINJA_VALUE_NUMBER_H_
