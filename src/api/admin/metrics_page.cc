#include "api/admin/metrics_page.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace cairn {
namespace {

// Escapes backslashes and newlines, and quotes in label values.
std::string EscapedLabel(std::string_view text, bool quotes) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\n') {
      escaped += "\\n";
    } else {
      if (c == '\\' || (quotes && c == '"')) escaped += '\\';
      escaped += c;
    }
  }
  return escaped;
}

// Writes integers without a fraction, other numbers with the fewest digits that identify them.
std::string SampleText(double value) {
  constexpr double kExactMax = 1e15;
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  std::array<char, 32> text{};
  if (value == std::floor(value) && std::abs(value) < kExactMax) {
    std::snprintf(text.data(), text.size(), "%.0f", value);
    return text.data();
  }
  const auto written = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), written.ptr};
}

}  // namespace

void MetricsPage::Counter(std::string_view name, std::string_view help, double value) {
  BeginCounter(name, help);
  Sample({}, value);
}

void MetricsPage::Gauge(std::string_view name, std::string_view help, double value) {
  BeginGauge(name, help);
  Sample({}, value);
}

void MetricsPage::Begin(std::string_view name, std::string_view help, std::string_view type) {
  name_ = name;
  text_ += "# HELP " + name_ + " " + EscapedLabel(help, false) + "\n";
  text_ += "# TYPE " + name_ + " " + std::string(type) + "\n";
}

void MetricsPage::Sample(Labels labels, const SecondsHistogram& histogram) {
  const auto& bounds = histogram.bounds();
  for (size_t i = 0; i < bounds.size(); ++i) {
    Line("_bucket", labels, SampleText(bounds[i]), static_cast<double>(histogram.CountTo(i)));
  }
  const auto count = static_cast<double>(histogram.count());
  Line("_bucket", labels, "+Inf", count);
  Line("_sum", labels, {}, histogram.sum());
  Line("_count", labels, {}, count);
}

void MetricsPage::Line(std::string_view suffix, Labels labels, std::string_view bound,
                       double value) {
  text_ += name_;
  text_ += suffix;
  std::string inner;
  const auto add = [&inner](std::string_view name, std::string_view label_value) {
    if (!inner.empty()) inner += ',';
    inner += std::string(name) + "=\"" + EscapedLabel(label_value, true) + "\"";
  };
  for (const auto& [name, label_value] : labels) add(name, label_value);
  if (!bound.empty()) add("le", bound);
  if (!inner.empty()) text_ += "{" + inner + "}";
  text_ += " " + SampleText(value) + "\n";
}

}  // namespace cairn
