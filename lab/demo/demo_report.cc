#include "lab/demo/demo_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/number_text.h"

namespace cairn {
namespace {

constexpr size_t kWhatColumns = 36;
constexpr double kSameRatio = 1.05;  // less than that is no difference worth a word

std::string Right(std::string_view text, size_t columns) {
  std::string padded(columns > text.size() ? columns - text.size() : 0, ' ');
  return padded += text;
}

std::string Left(std::string_view text, size_t columns) {
  std::string padded(text.substr(0, columns));
  padded.resize(columns, ' ');
  return padded;
}

std::string Styled(std::string_view text, const char* code, bool colour) {
  if (!colour) return std::string(text);
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

// "0.35 s", "12.3 s", "1,234 s".
std::string ShortSeconds(double ms) {
  const double seconds = std::max(ms, 0.0) / 1000;
  if (seconds >= 99.95) return WithCommas(static_cast<size_t>(std::round(seconds))) + " s";
  char text[32];
  std::snprintf(text, sizeof(text), seconds < 9.995 ? "%.2f s" : "%.1f s", seconds);
  return text;
}

std::string Cells(const TurnFigures& turn) {
  return Right(WithCommas(turn.prompt_tokens), 9) + Right(WithCommas(turn.read_tokens), 9) +
         Right(ShortSeconds(turn.first_token_ms), 11);
}

std::string Row(const std::string& number, std::string_view what, const TurnFigures& without,
                const TurnFigures& with_default) {
  return Right(number, 3) + "  " + Left(what, kWhatColumns) + Cells(without) + Cells(with_default) +
         "\n";
}

std::string Heading() {
  const size_t left = 5 + kWhatColumns;
  return std::string(left, ' ') + Right("--placement none", 29) + Right("default", 29) + "\n" +
         Left("     turn", left) + Right("prompt", 9) + Right("read", 9) + Right("waited", 11) +
         Right("prompt", 9) + Right("read", 9) + Right("waited", 11) + "\n";
}

// "read 5.1 times fewer tokens", and so for the other direction.
std::string Comparison(double without, double with_default, const std::string& verb,
                       const std::string& less, const std::string& more, const std::string& same) {
  if (without <= 0 || with_default <= 0) return verb + same;
  const double ratio = without / with_default;
  char times[32];
  std::snprintf(times, sizeof(times), "%.1f times ", std::max(ratio, 1 / ratio));
  if (ratio >= kSameRatio) return verb + times + less;
  if (ratio <= 1 / kSameRatio) return verb + times + more;
  return verb + same;
}

std::string Summary(const TurnFigures& without, const TurnFigures& with_default, bool colour) {
  const std::string read = Comparison(static_cast<double>(without.read_tokens),
                                      static_cast<double>(with_default.read_tokens), "read ",
                                      "fewer tokens", "as many tokens", "as many tokens");
  const std::string waited = Comparison(without.first_token_ms, with_default.first_token_ms,
                                        "waited ", "less", "longer", "as long");
  return "With checkpoints the server " + Styled(read, "1;32", colour) + " (" +
         WithCommas(with_default.read_tokens) + " instead of " + WithCommas(without.read_tokens) +
         "),\nand the user " + Styled(waited, "1;32", colour) + " for first words (" +
         Seconds(with_default.first_token_ms) + " instead of " + Seconds(without.first_token_ms) +
         ").\n";
}

nlohmann::ordered_json Json(const TurnFigures& turn) {
  return {{"prompt_tokens", turn.prompt_tokens},
          {"read_tokens", turn.read_tokens},
          {"first_token_ms", std::round(turn.first_token_ms * 10) / 10}};
}

double RoundedRatio(double without, double with_default) {
  return with_default > 0 ? std::round(without / with_default * 100) / 100 : 0;
}

}  // namespace

TurnFigures Total(const std::vector<TurnFigures>& turns) {
  TurnFigures total;
  for (const TurnFigures& turn : turns) {
    total.prompt_tokens += turn.prompt_tokens;
    total.read_tokens += turn.read_tokens;
    total.first_token_ms += turn.first_token_ms;
  }
  return total;
}

std::string Seconds(double ms) {
  const auto whole = static_cast<long long>(std::round(std::max(ms, 0.0) / 1000));
  if (whole < 100) return ShortSeconds(ms);
  return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
}

std::string FormatDemo(const DemoFigures& figures, bool colour) {
  CHECK(figures.without.size() == figures.what.size());
  CHECK(figures.with_default.size() == figures.what.size());
  const TurnFigures without = Total(figures.without);
  const TurnFigures with_default = Total(figures.with_default);
  std::string text = Heading();
  for (size_t i = 0; i < figures.what.size(); ++i) {
    text +=
        Row(std::to_string(i + 1), figures.what[i], figures.without[i], figures.with_default[i]);
  }
  std::string total = Row("", "all turns", without, with_default);
  total.pop_back();
  text += Styled(total, "1", colour) + "\n\n";
  text +=
      "Tokens in the prompt, tokens of it that had to be read, and the wait for the first "
      "word.\n\n";
  text += Summary(without, with_default, colour);
  text += "Model: " + figures.model;
  if (!figures.memory.empty()) text += " (" + figures.memory + " memory)";
  return text + "\nThe demo took " + Seconds(figures.total_ms) + ".\n";
}

std::string DemoJson(const DemoFigures& figures) {
  CHECK(figures.without.size() == figures.what.size());
  CHECK(figures.with_default.size() == figures.what.size());
  const TurnFigures without = Total(figures.without);
  const TurnFigures with_default = Total(figures.with_default);
  nlohmann::ordered_json json;
  json["model"] = figures.model;
  json["memory"] = figures.memory;
  json["turns"] = nlohmann::ordered_json::array();
  for (size_t i = 0; i < figures.what.size(); ++i) {
    json["turns"].push_back({{"what", figures.what[i]},
                             {"none", Json(figures.without[i])},
                             {"default", Json(figures.with_default[i])}});
  }
  json["total"] = {{"none", Json(without)}, {"default", Json(with_default)}};
  json["read_ratio"] = RoundedRatio(static_cast<double>(without.read_tokens),
                                    static_cast<double>(with_default.read_tokens));
  json["first_token_ratio"] = RoundedRatio(without.first_token_ms, with_default.first_token_ms);
  json["total_ms"] = std::round(figures.total_ms);
  using Handler = nlohmann::ordered_json::error_handler_t;
  return json.dump(2, ' ', false, Handler::replace) + "\n";
}

}  // namespace cairn
