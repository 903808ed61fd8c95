#include "api/grammar/rules/number_range.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "api/grammar/rules/json_grammar.h"

namespace cairn {
namespace {

// The powers of doubles. Parsers refuse what is larger, and take what is smaller for 0, which may
// be out of bounds.
constexpr int kSmallestPower = -307;
constexpr int kLargestPower = 307;
// From here on printers write whole numbers with an exponent.
constexpr int kWholePower = 16;
constexpr uint32_t kModulusMax = 5000;

// Which magnitudes are allowed, and of which form.
struct Magnitudes {
  std::optional<Decimal> least = {};  // not negative
  std::optional<Decimal> most = {};
  bool above_least = false;
  bool below_most = false;
  // Multiples of modulus / 10^places; 0 for all.
  uint32_t modulus = 0;
  int places = 0;
  bool one_digit = false;  // before the point, and not zero
  bool negative = false;   // the numbers have a '-'

  bool none() const {
    if (!most) return false;
    const Decimal low = least.value_or(Decimal());
    return *most < low || (*most == low && (below_most || (least && above_least)));
  }
};

// How the digits so far compare with as many of a bound's.
enum class Compared : uint8_t { kBelow, kEqual, kAbove };

// A position in the text of a number.
struct DigitPlace {
  enum class Phase : uint8_t { kStart, kZero, kWhole, kPoint, kFraction };
  Phase phase = Phase::kStart;
  size_t digits = 0;  // of the whole part, then of the fraction; capped
  std::array<Compared, 2> compared = {Compared::kEqual, Compared::kEqual};
  uint32_t rest = 0;
  auto operator<=>(const DigitPlace&) const = default;
};

// Makes the automaton of the texts "12.5" within bounds.
class DigitsMaker {
 public:
  explicit DigitsMaker(const Magnitudes& range) : range_(range) {
    const std::array<const std::optional<Decimal>*, 2> bounds = {&range.least, &range.most};
    for (size_t i = 0; i < 2; ++i) {
      if (!*bounds[i]) continue;
      bounded_.at(i) = true;
      whole_.at(i) = (*bounds[i])->Whole();
      fraction_.at(i) = (*bounds[i])->Fraction();
    }
    whole_max_ = std::max(whole_[0].size(), whole_[1].size());
    fraction_max_ = std::max(
        {fraction_[0].size(), fraction_[1].size(), static_cast<size_t>(std::max(range.places, 0))});
  }

  std::optional<Dfa> Make(WorkBudget* budget) {
    Number({});
    std::vector<Dfa::State> states;
    for (size_t i = 0; i < places_.size(); ++i) {
      if (places_.size() > Dfa::kStatesMax || !budget->Take(16)) return std::nullopt;
      const DigitPlace place = places_[i];
      Dfa::State state{Accepts(place), {}};
      const bool point =
          place.phase == DigitPlace::Phase::kZero || place.phase == DigitPlace::Phase::kWhole;
      if (point) state.edges.push_back({'.', '.', Number(AtPoint(place))});
      for (char digit = '0'; digit <= '9'; ++digit) {
        const auto next = After(place, digit);
        if (!next) continue;
        const uint32_t c = static_cast<unsigned char>(digit);
        const uint32_t to = Number(*next);
        const bool same = !state.edges.empty() && state.edges.back().to == to &&
                          state.edges.back().high + 1 == c && c > '0';
        if (same) state.edges.back().high = c;
        if (!same) state.edges.push_back({c, c, to});
      }
      states.push_back(std::move(state));
    }
    return Dfa(std::move(states)).Minimised(budget);
  }

 private:
  uint32_t Number(const DigitPlace& place) {
    const auto [known, is_new] = numbers_.emplace(place, static_cast<uint32_t>(places_.size()));
    if (is_new) places_.push_back(place);
    return known->second;
  }

  std::optional<DigitPlace> After(DigitPlace place, char digit) const {
    using Phase = DigitPlace::Phase;
    const auto value = static_cast<uint32_t>(digit - '0');
    if (place.phase == Phase::kZero) return std::nullopt;
    if (place.phase == Phase::kWhole && range_.one_digit) return std::nullopt;
    if (place.phase == Phase::kStart || place.phase == Phase::kWhole) {
      if (place.phase == Phase::kStart && digit == '0') {
        if (range_.one_digit) return std::nullopt;
        place.phase = Phase::kZero;
      } else {
        place.phase = Phase::kWhole;
      }
      for (size_t i = 0; i < 2; ++i) Compare(whole_.at(i), place.digits, digit, i, &place);
      place.digits = std::min(place.digits + 1, whole_max_ + 1);
      if (place.digits > whole_max_) place.compared = {Compared::kAbove, Compared::kAbove};
      if (range_.modulus > 0) place.rest = (place.rest * 10 + value) % range_.modulus;
      return place;
    }
    const bool beyond = place.digits >= static_cast<size_t>(std::max(range_.places, 0));
    if (range_.modulus > 0 && beyond && digit != '0') return std::nullopt;
    if (range_.modulus > 0 && !beyond) place.rest = (place.rest * 10 + value) % range_.modulus;
    for (size_t i = 0; i < 2; ++i) {
      const std::string& bound = fraction_.at(i);
      const char other = place.digits < bound.size() ? bound[place.digits] : '0';
      Decide(digit, other, i, &place);
    }
    place.phase = Phase::kFraction;
    place.digits = std::min(place.digits + 1, fraction_max_);
    return place;
  }

  static void Decide(char digit, char other, size_t bound, DigitPlace* place) {
    if (place->compared.at(bound) != Compared::kEqual || digit == other) return;
    place->compared.at(bound) = digit < other ? Compared::kBelow : Compared::kAbove;
  }
  // Compares a digit of the whole part with the one at the same distance from the front.
  static void Compare(const std::string& whole, size_t at, char digit, size_t bound,
                      DigitPlace* place) {
    if (at < whole.size()) Decide(digit, whole[at], bound, place);
  }

  // The comparison once the whole part is complete: a longer one is larger.
  Compared Whole(const DigitPlace& place, size_t bound) const {
    const size_t size = whole_.at(bound).size();
    if (place.digits < size) return Compared::kBelow;
    if (place.digits > size) return Compared::kAbove;
    return place.compared.at(bound);
  }

  DigitPlace AtPoint(DigitPlace place) const {
    place.compared = {Whole(place, 0), Whole(place, 1)};
    place.digits = 0;
    place.phase = DigitPlace::Phase::kPoint;
    return place;
  }

  bool Accepts(DigitPlace place) const {
    using Phase = DigitPlace::Phase;
    if (place.phase == Phase::kStart || place.phase == Phase::kPoint) return false;
    if (place.phase != Phase::kFraction) place = AtPoint(place);
    if (range_.modulus > 0) {
      uint32_t rest = place.rest;
      const auto places = static_cast<size_t>(std::max(range_.places, 0));
      for (size_t i = place.digits; i < places; ++i) rest = rest * 10 % range_.modulus;
      if (rest != 0) return false;
    }
    for (size_t i = 0; i < 2; ++i) {
      if (!bounded_.at(i)) continue;
      Compared compared = place.compared.at(i);
      // The rest of the bound is not zero.
      if (compared == Compared::kEqual && place.digits < fraction_.at(i).size()) {
        compared = Compared::kBelow;
      }
      const bool exclusive = i == 0 ? range_.above_least : range_.below_most;
      if (compared == Compared::kEqual && exclusive) return false;
      if (compared == (i == 0 ? Compared::kBelow : Compared::kAbove)) return false;
    }
    return true;
  }

  const Magnitudes range_;
  std::array<bool, 2> bounded_ = {};
  std::array<std::string, 2> whole_;
  std::array<std::string, 2> fraction_;
  size_t whole_max_ = 0;
  size_t fraction_max_ = 0;
  std::map<DigitPlace, uint32_t> numbers_;
  std::vector<DigitPlace> places_;
};

// Returns rules for exponents in [least, most], or nothing if there are none.
std::string Powers(int least, int most) {
  least = std::max(least, kSmallestPower);
  most = std::min(most, kLargestPower);
  std::string all;
  const auto add = [&](const std::string& sign, int from, int to) {
    if (from > to) return;
    all += (all.empty() ? "" : " | ") + sign + " \"0\"{0,2} " + GbnfIntegers(from, to);
  };
  add(R"("+"?)", std::max(least, 0), most);
  add(R"("-")", std::max(1, -most), -least);
  if (least <= 0 && most >= 0) add(R"("-")", 0, 0);
  return all;
}

// Writes the numbers of one sign.
class MagnitudeWriter {
 public:
  MagnitudeWriter(const Magnitudes& range, RuleSheet* sheet, WorkBudget* budget)
      : range_(range), sheet_(sheet), budget_(budget) {}

  std::optional<std::string> Write(bool integer) {
    const auto plain = Digits(range_);
    if (!plain) return std::nullopt;
    std::vector<std::string> choices = {*plain};
    whole_ = integer && range_.modulus == 1 && range_.places == 0;
    if (range_.modulus == 0 || whole_) {
      for (std::string& more : WithExponents()) choices.push_back(std::move(more));
    }
    if (failed_) return std::nullopt;
    std::string all;
    for (const std::string& choice : choices) {
      if (!choice.empty()) all += (all.empty() ? "" : " | ") + choice;
    }
    return all;
  }

 private:
  std::optional<std::string> Digits(const Magnitudes& range) {
    const auto automaton = DigitsMaker(range).Make(budget_);
    if (!automaton) return std::nullopt;
    if (automaton->empty()) return "";
    const bool one = range.least && range.most && *range.least == *range.most;
    const bool whole =
        (range.modulus != 0 && range.places == 0) || (one && range.least->is_integer());
    return sheet_->Digits(*automaton, whole);
  }

  // A mantissa of one digit before the point, in bounds, with powers of ten.
  void AddScientific(const Magnitudes& mantissas, int least, int most,
                     std::vector<std::string>* all) {
    const std::string powers = Powers(least, most);
    if (powers.empty() || mantissas.none()) return;
    Magnitudes one = mantissas;
    one.one_digit = true;
    const bool free = !one.least && !one.most;
    if (whole_) {
      one.modulus = 1;
      one.places = kWholePower;
    }
    const std::string any =
        R"([1-9] (~"." [0-9]{1,)" + std::to_string(whole_ ? kWholePower : 40) + "})?";
    const auto digits = free ? std::optional<std::string>(any) : Digits(one);
    if (!digits) {
      failed_ = true;
      return;
    }
    if (!digits->empty()) all->push_back(*digits + " ~[eE] (" + powers + ")");
  }

  std::vector<std::string> WithExponents() {
    std::vector<std::string> all;
    const bool zero = (!range_.least || (range_.least->is_zero() && !range_.above_least)) &&
                      (!range_.most || !range_.most->is_zero() || !range_.below_most);
    if (zero && !whole_) all.emplace_back(R"("0" ("." "0"{1,40})? ~[eE] [+\-]? [0-9]{1,3})");
    const bool low = range_.least && !range_.least->is_zero() &&
                     (!whole_ || range_.least->Power() >= kWholePower);
    if (range_.most && range_.most->is_zero()) return all;
    const int lowest_power = whole_ ? kWholePower - 1 : kSmallestPower - 1;
    const int from = low ? range_.least->Power() : lowest_power;
    const int to = range_.most ? range_.most->Power() : kLargestPower + 1;
    if (from > to || (whole_ && to < kWholePower)) return all;
    Magnitudes lowest;
    if (low) {
      lowest.least = range_.least->Mantissa();
      lowest.above_least = range_.above_least;
    }
    Magnitudes highest;
    if (range_.most) {
      highest.most = range_.most->Mantissa();
      highest.below_most = range_.below_most;
    }
    if (from == to) {
      lowest.most = highest.most;
      lowest.below_most = highest.below_most;
      AddScientific(lowest, from, from, &all);
      return all;
    }
    if (low) AddScientific(lowest, from, from, &all);
    AddScientific({}, from + 1, to - 1, &all);
    if (range_.most) AddScientific(highest, to, to, &all);
    return all;
  }

  const Magnitudes range_;
  RuleSheet* const sheet_;
  WorkBudget* const budget_;
  bool whole_ = false;  // only whole numbers, of which large ones have exponents
  bool failed_ = false;
};

// The magnitudes of the range's numbers of one sign.
Magnitudes OfSign(const NumberRange& range, bool negative) {
  Magnitudes part;
  const auto& least = negative ? range.most : range.least;
  const auto& most = negative ? range.least : range.most;
  const Decimal zero;
  const auto facing = [&](const Decimal& bound) { return negative ? bound.Negated() : bound; };
  if (least && facing(*least) >= zero) {
    part.least = facing(*least);
    part.above_least = negative ? range.below_most : range.above_least;
  }
  if (most) {
    part.most = facing(*most);
    part.below_most = negative ? range.above_least : range.below_most;
  }
  return part;
}

// Returns the magnitudes of both signs, where any can fit. Nullopt if there is no automaton of the
// multiples.
std::optional<std::vector<Magnitudes>> PartsOf(const NumberRange& range) {
  uint32_t modulus = range.integer ? 1 : 0;
  int places = 0;
  if (range.multiple_of) {
    while (places < 9 && !range.multiple_of->Shifted(places).is_integer()) ++places;
    const auto small = range.multiple_of->Shifted(places).Small();
    if (!small || *small == 0 || *small > kModulusMax) return std::nullopt;
    modulus = *small;
    // A whole number that is a multiple of 0.5, for instance, is a multiple of 1.
    if (range.integer) {
      uint32_t tens = 1;
      for (; places > 0; --places) tens *= 10;
      modulus /= std::gcd(modulus, tens);
    }
  }
  std::vector<Magnitudes> parts;
  for (const bool negative : {false, true}) {
    Magnitudes part = OfSign(range, negative);
    const auto& limit = negative ? range.least : range.most;
    const bool other_sign =
        limit && (negative ? !limit->negative() && !limit->is_zero() : limit->negative());
    if (other_sign || part.none()) continue;
    part.modulus = modulus;
    part.places = places;
    part.negative = negative;
    parts.push_back(part);
  }
  return parts;
}

}  // namespace

void NumberRange::RaiseLeast(const Decimal& bound, bool exclusive) {
  if (least && (bound < *least || (bound == *least && (above_least || !exclusive)))) return;
  least = bound;
  above_least = exclusive;
}

void NumberRange::LowerMost(const Decimal& bound, bool exclusive) {
  if (most && (bound > *most || (bound == *most && (below_most || !exclusive)))) return;
  most = bound;
  below_most = exclusive;
}

bool NumberRange::empty() const {
  if (!least || !most) return false;
  if (*most < *least || (*most == *least && (above_least || below_most))) return true;
  return false;
}

bool NumberRange::Holds(const Json& number) const {
  const Decimal value(number);
  if (least && (value < *least || (value == *least && above_least))) return false;
  if (most && (value > *most || (value == *most && below_most))) return false;
  if (integer && !value.is_integer()) return false;
  if (!multiple_of) return true;
  // Both are made whole by the same power of ten.
  int places = 0;
  while (places < 20 && !multiple_of->Shifted(places).is_integer()) ++places;
  const auto whole = value.Shifted(places).Small();
  const auto step = multiple_of->Shifted(places).Small();
  if (!step || *step == 0) return true;
  if (!whole) return value.Shifted(places).is_integer();
  return *whole % *step == 0;
}

bool MultiplesFit(const NumberRange& range) {
  return PartsOf(range).has_value();
}

bool AnyNumber(const NumberRange& range, WorkBudget* budget) {
  if (range.empty()) return false;
  if (!range.least || !range.most || (!range.integer && !range.multiple_of)) return true;
  const auto parts = PartsOf(range);
  if (!parts) return true;
  return std::any_of(parts->begin(), parts->end(), [&](const Magnitudes& part) {
    const auto automaton = DigitsMaker(part).Make(budget);
    return !automaton || !automaton->empty();
  });
}

std::optional<std::string> RuleOfNumbers(const NumberRange& range, RuleSheet* sheet,
                                         WorkBudget* budget) {
  if (range.free()) return "number";
  if (!range.least && !range.most && !range.multiple_of) return "integer";
  const auto parts = PartsOf(range);
  if (!parts) return std::nullopt;
  std::string all;
  for (const Magnitudes& part : *parts) {
    const auto rule = MagnitudeWriter(part, sheet, budget).Write(range.integer);
    if (!rule) return std::nullopt;
    if (rule->empty()) continue;
    all += all.empty() ? "" : " | ";
    all += part.negative ? R"("-" ()" + *rule + ")" : *rule;
  }
  if (all.empty()) return std::nullopt;
  return sheet->Once(all);
}

}  // namespace cairn
