#include "jinja/builtin/format_spec.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "jinja/builtin/text_work.h"
#include "jinja/value/number.h"
#include "jinja/value/print.h"

namespace cairn::jinja {
namespace {

constexpr size_t kWidthMax = 1U << 24U;
constexpr int kPrecisionMax = 400;

bool IsAlign(char c) {
  return c == '<' || c == '>' || c == '^' || c == '=';
}

size_t ReadNumber(std::string_view* spec) {
  size_t number = 0;
  while (!spec->empty() && spec->front() >= '0' && spec->front() <= '9') {
    number = number * 10 + static_cast<size_t>(spec->front() - '0');
    if (number > kWidthMax) Raise("Too many decimal digits in format string");
    spec->remove_prefix(1);
  }
  return number;
}

bool Skip(std::string_view* spec, char c) {
  if (!spec->starts_with(c)) return false;
  spec->remove_prefix(1);
  return true;
}

// With a separator between groups of digits, from the right of the integral part.
std::string Grouped(const std::string& digits, char separator, size_t group) {
  std::string grouped;
  const char* const known = group == 4 ? "0123456789abcdefABCDEF" : "0123456789";
  const size_t end = std::min(digits.find_first_not_of(known), digits.size());
  for (size_t i = 0; i < end; ++i) {
    if (i > 0 && (end - i) % group == 0) grouped += separator;
    grouped += digits[i];
  }
  return grouped + digits.substr(end);
}

std::string SignOf(bool negative, char sign) {
  if (negative) return "-";
  return sign == '-' ? "" : std::string(1, sign);
}

std::string Printed(const char* format, int precision, double value) {
  std::array<char, 1024> text{};
  std::snprintf(text.data(), text.size(), format, precision, value);
  return text.data();
}

// Python's form of a float with a number of significant digits and no type: as %g, but its exponent
// begins one digit earlier, and a point is always there.
std::string GeneralText(double value, int precision, bool alternate) {
  std::string text = Printed(alternate ? "%#.*e" : "%.*e", precision - 1, value);
  const size_t e = text.find('e');
  if (std::atoi(text.c_str() + e + 1) >= precision - 1) {
    if (!alternate && precision > 1) {
      const size_t digits = text.find_last_not_of('0', e - 1) + 1;
      const size_t kept = text[digits - 1] == '.' ? digits - 1 : digits;
      text.erase(kept, e - kept);
    }
    return text;
  }
  text = Printed(alternate ? "%#.*g" : "%.*g", precision, value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string FloatDigits(double value, const FormatSpec& spec) {
  char type = spec.type;
  if (!std::isfinite(value)) {
    std::string text = std::isnan(value) ? "nan" : "inf";
    if (type == 'F' || type == 'E' || type == 'G') {
      for (char& c : text) c = static_cast<char>(c - 32);
    }
    return type == '%' ? text + "%" : text;
  }
  if (type == 0 && spec.precision < 0) return FloatText(value);
  if (type == 0) return GeneralText(value, std::max(spec.precision, 1), spec.alternate);
  const int precision = spec.precision < 0 ? 6 : spec.precision;
  if (type == 'n') type = 'g';
  const std::string form = spec.alternate ? "%#.*" : "%.*";
  if (type == '%') return Printed((form + "f%%").c_str(), precision, value * 100);
  return Printed((form + type).c_str(), precision, value);
}

std::string IntDigits(Int value, const FormatSpec& spec, std::string* prefix) {
  unsigned base = 10;
  if (spec.type == 'x' || spec.type == 'X') base = 16;
  if (spec.type == 'o') base = 8;
  if (spec.type == 'b') base = 2;
  std::string digits = IntText(value, base);
  if (value < 0) digits.erase(0, 1);
  if (spec.alternate && base != 10) *prefix = std::string("0") + spec.type;
  if (spec.type == 'X') {
    for (char& c : digits) c = c >= 'a' ? static_cast<char>(c - 32) : c;
  }
  return digits;
}

bool IsFloatType(char type) {
  return std::string_view("eEfFgG%").find(type) != std::string_view::npos && type != 0;
}

// The sign and prefix, and how many bytes these are.
std::string WholeNumber(const Value& number, const FormatSpec& spec, size_t* sign_bytes) {
  std::string prefix;
  std::string digits;
  bool negative = false;
  if (number.is_int() && !IsFloatType(spec.type)) {
    negative = number.integer() < 0;
    digits = IntDigits(number.integer(), spec, &prefix);
  } else {
    const double value = ToDouble(number);
    negative = std::signbit(value) && !std::isnan(value);
    digits = FloatDigits(std::fabs(value), spec);
  }
  if (spec.grouping != 0) {
    const bool by_four =
        spec.type == 'x' || spec.type == 'X' || spec.type == 'o' || spec.type == 'b';
    const size_t group = by_four ? 4 : 3;
    const std::string head = SignOf(negative, spec.sign) + prefix;
    digits = Grouped(digits, spec.grouping, group);
    if (spec.fill == "0" && spec.align == '=') {
      // Fillers are digits, which are grouped too.
      std::string plain = digits;
      std::erase(plain, spec.grouping);
      while (head.size() + digits.size() < spec.width) {
        plain.insert(0, 1, '0');
        const std::string more = Grouped(plain, spec.grouping, group);
        digits = more;
      }
    }
  }
  const std::string head = SignOf(negative, spec.sign) + prefix;
  *sign_bytes = head.size();
  return head + digits;
}

}  // namespace

FormatSpec ParseFormatSpec(std::string_view spec) {
  FormatSpec parsed;
  bool filled = false;
  const size_t fill = spec.empty() ? 0 : CharacterAt(spec, 0).bytes;
  if (spec.size() > fill && IsAlign(spec[fill])) {
    parsed.fill = spec.substr(0, fill);
    filled = true;
    parsed.align = spec[fill];
    spec.remove_prefix(fill + 1);
  } else if (!spec.empty() && IsAlign(spec[0])) {
    parsed.align = spec[0];
    spec.remove_prefix(1);
  }
  for (const char sign : {'+', '-', ' '}) {
    if (!Skip(&spec, sign)) continue;
    parsed.sign = sign;
    break;
  }
  parsed.alternate = Skip(&spec, '#');
  if (spec.starts_with('0')) {
    spec.remove_prefix(1);
    if (!filled) parsed.fill = "0";
    if (parsed.align == 0 && !filled) parsed.align = '0';  // "=" for numbers, "<" for texts
  }
  parsed.width = ReadNumber(&spec);
  for (const char grouping : {',', '_'}) {
    if (!Skip(&spec, grouping)) continue;
    if (parsed.grouping != 0) Raise("Cannot specify both ',' and '_'.");
    parsed.grouping = grouping;
  }
  if (Skip(&spec, '.')) {
    if (spec.empty() || spec[0] < '0' || spec[0] > '9') Raise("Format specifier missing precision");
    const size_t precision = ReadNumber(&spec);
    parsed.precision = static_cast<int>(precision);
  }
  if (spec.size() > 1) Raise("Invalid format specifier");
  if (!spec.empty()) parsed.type = spec[0];
  const std::string_view grouped = parsed.grouping == '_' ? "deEfFgG%boxX" : "deEfFgG%";
  if (parsed.grouping != 0 && parsed.type != 0 &&
      grouped.find(parsed.type) == std::string_view::npos) {
    Raise(std::string("Cannot specify '") + parsed.grouping + "' with '" + parsed.type + "'.");
  }
  return parsed;
}

std::string NumberText(const Value& number, const FormatSpec& spec) {
  if (spec.precision > kPrecisionMax) Raise("precision too big");
  size_t sign_bytes = 0;
  return WholeNumber(number, spec, &sign_bytes);
}

Text Aligned(Interpreter& run, const Text& text, const FormatSpec& spec, char default_align,
             size_t sign_bytes) {
  const size_t length = text.length();
  if (spec.width <= length) return text;
  const char align = spec.align == 0 ? default_align : spec.align;
  const size_t missing = spec.width - length;
  Heap* const heap = &run.heap();
  if (align == '<') return Padded(heap, text, 0, missing, spec.fill);
  if (align == '^') return Padded(heap, text, missing / 2, missing - missing / 2, spec.fill);
  if (align == '>') return Padded(heap, text, missing, 0, spec.fill);
  TextBuilder out(heap);
  out.Append(text, 0, sign_bytes);
  out.Append(Padded(heap, Part(text, sign_bytes, text.size()), missing, 0, spec.fill));
  return out.Build();
}

Text Formatted(Interpreter& run, const Value& value, std::string_view spec_text) {
  if (spec_text.empty()) return TextOf(&run.heap(), value);
  FormatSpec spec = ParseFormatSpec(spec_text);
  if (value.is_text()) {
    if ((spec.type != 0 && spec.type != 's') || spec.sign != '-' || spec.alternate ||
        spec.align == '=' || spec.grouping != 0) {
      Raise("Invalid format specifier for a str");
    }
    if (spec.align == '0') spec.align = '<';
    Text text = value.text();
    if (spec.precision >= 0) text = Part(text, 0, text.ByteOf(static_cast<size_t>(spec.precision)));
    return Aligned(run, text, spec, '<', 0);
  }
  if (!value.is_number() || (value.is(Kind::kBool) && spec.type == 's')) {
    Raise(std::string("unsupported format string passed to ") + TypeName(value) + ".__format__");
  }
  if (spec.align == '0') spec.align = '=';
  if (value.is_int() && spec.type == 'c') {
    if (spec.precision >= 0) Raise("Precision not allowed in integer format specifier");
    if (spec.sign != '-' || spec.alternate) Raise("A sign or '#' is not allowed with 'c'");
    std::string one;
    const Int code = value.integer();
    if (code < 0 || code > 0x10FFFF) Raise("%c arg not in range(0x110000)");
    AppendCharacter(static_cast<uint32_t>(code), &one);
    return Aligned(run, run.Made(one).text(), spec, '>', 0);
  }
  const bool integral = value.is_int();
  const std::string_view types = integral ? "bdoxXneEfFgG%" : "eEfFgGn%";
  if (spec.type != 0 && types.find(spec.type) == std::string_view::npos) {
    Raise(std::string("Unknown format code '") + spec.type + "' for object of type '" +
          TypeName(value) + "'");
  }
  if (integral && spec.precision >= 0 && !IsFloatType(spec.type)) {
    Raise("Precision not allowed in integer format specifier");
  }
  if (spec.precision > kPrecisionMax) Raise("precision too big");
  size_t sign_bytes = 0;
  const std::string text = WholeNumber(value, spec, &sign_bytes);
  return Aligned(run, run.Made(text).text(), spec, '>', sign_bytes);
}

}  // namespace cairn::jinja
