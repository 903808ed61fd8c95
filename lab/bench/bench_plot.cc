#include "lab/bench/bench_plot.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "lab/bench/bench_text.h"

namespace cairn {
namespace {

constexpr double kWidth = 900;
constexpr double kLeft = 190;   // where the axis begins; labels are left of it
constexpr double kRight = 820;  // where it ends; figures are right of it
constexpr double kTop = 88;     // title and legend are above
constexpr double kRow = 17;
constexpr double kBar = 12;
constexpr double kGroupGap = 13;
constexpr double kBelow = 52;  // ticks and the axis' name
constexpr size_t kColours = 5;
constexpr double kLogFrom = 5;  // largest over smallest value from which the axis is logarithmic

// Light and dark colours; a series has the same class in every plot.
constexpr const char* kStyle =
    "<style>"
    ".cairn-plot{font:13px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}"
    ".cairn-plot text{fill:#1f2933}.cairn-plot .back{fill:#ffffff}"
    ".cairn-plot .head{font-size:16px;font-weight:600}.cairn-plot "
    ".soft{fill:#5b6773;font-size:12px}"
    ".cairn-plot .name{font-weight:600}.cairn-plot .grid{stroke:#e3e8ed}"
    ".cairn-plot .mark{stroke:#5b6773;stroke-dasharray:4 3}"
    ".cairn-plot .dot{stroke:#ffffff;stroke-width:.8;fill-opacity:.75}"
    ".cairn-plot .bar{fill-opacity:.55}.cairn-plot .mean{stroke:#1f2933;stroke-width:1}"
    ".cairn-plot .s0{fill:#0f766e}.cairn-plot .s1{fill:#d9730d}.cairn-plot .s2{fill:#7c4dcc}"
    ".cairn-plot .s3{fill:#c2255c}.cairn-plot .s4{fill:#64748b}"
    "@media(prefers-color-scheme:dark){"
    ".cairn-plot text{fill:#e6edf3}.cairn-plot .back{fill:#12181f}.cairn-plot .soft{fill:#9aa7b4}"
    ".cairn-plot .grid{stroke:#27313b}.cairn-plot .mark{stroke:#9aa7b4}"
    ".cairn-plot .dot{stroke:#12181f}.cairn-plot .mean{stroke:#e6edf3}"
    ".cairn-plot .s0{fill:#2dd4bf}.cairn-plot .s1{fill:#fb9f4b}.cairn-plot .s2{fill:#b794f6}"
    ".cairn-plot .s3{fill:#f783ac}.cairn-plot .s4{fill:#94a3b8}}"
    "</style>\n";

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f", value);
  std::string number = text;
  if (number.ends_with(".0")) number.resize(number.size() - 2);
  return number;
}

std::string Text(double x, double y, const std::string& text_class, const std::string& anchor,
                 const std::string& text) {
  return "<text x=\"" + Number(x) + "\" y=\"" + Number(y) + "\" class=\"" + text_class +
         "\" text-anchor=\"" + anchor + "\">" + EscapeMarkup(text) + "</text>\n";
}

std::string Title(const std::string& title) {
  return title.empty() ? "" : "<title>" + EscapeMarkup(title) + "</title>";
}

std::string SeriesClass(size_t series) {
  return "s" + std::to_string(series % kColours);
}

// 1, 2 and 5 times the powers of ten: the largest of them up to `value`, and the one after `tick`.
double TickUpTo(double value) {
  const double ten = std::pow(10, std::floor(std::log10(value)));
  const double times = value / ten * (1 + 1e-9);
  return ten * (times >= 5 ? 5 : times >= 2 ? 2 : 1);
}

double TickAfter(double tick) {
  const double down = TickUpTo(tick);
  const double ten = std::pow(10, std::floor(std::log10(down) + 1e-9));
  const double times = std::round(down / ten);
  return ten * (times < 2 ? 2 : times < 5 ? 5 : 10);
}

// Where values lie.
class Axis {
 public:
  Axis(double least, double most) : log_(most / least >= kLogFrom) {
    if (log_) {
      from_ = TickUpTo(least * 0.75);
      to_ = most * 1.05;
      for (double tick = from_; tick <= to_; tick = TickAfter(tick)) ticks_.push_back(tick);
      // Of many decades, only the powers of ten.
      if (ticks_.size() > 10) {
        std::erase_if(ticks_, [](double tick) {
          const double power = std::log10(tick);
          return std::abs(power - std::round(power)) > 1e-6;
        });
      }
    } else {
      to_ = most * 1.05;
      const double step = TickUpTo(to_ / 4);
      for (int i = 0; i * step <= to_; ++i) ticks_.push_back(i * step);
    }
  }

  double X(double value) const {
    const double share =
        log_ ? std::log(std::max(value, from_) / from_) / std::log(to_ / from_) : value / to_;
    return kLeft + ((kRight - kLeft) * std::clamp(share, 0.0, 1.0));
  }
  const std::vector<double>& ticks() const { return ticks_; }
  bool log() const { return log_; }

 private:
  bool log_;
  double from_ = 0;
  double to_ = 1;
  std::vector<double> ticks_;
};

std::string TickText(double value, bool milliseconds) {
  char text[32];
  const bool seconds = milliseconds && value >= 1000;
  std::snprintf(text, sizeof(text), "%.3g", seconds ? value / 1000 : value);
  if (!milliseconds) return text;
  return std::string(text) + (seconds ? " s" : " ms");
}

std::string DrawGrid(const Plot& plot, const Axis& axis, double bottom) {
  std::string svg;
  for (const double tick : axis.ticks()) {
    const std::string x = Number(axis.X(tick));
    svg += "<line x1=\"" + x + "\" x2=\"" + x + "\" y1=\"" + Number(kTop - 4) + "\" y2=\"" +
           Number(bottom) + "\" class=\"grid\"/>\n";
    svg += Text(axis.X(tick), bottom + 16, "soft", "middle", TickText(tick, plot.milliseconds));
  }
  const std::string scale = axis.log() ? " (logarithmic)" : "";
  svg += Text((kLeft + kRight) / 2, bottom + 37, "soft", "middle", plot.axis + scale);
  if (plot.mark <= 0) return svg;
  const std::string x = Number(axis.X(plot.mark));
  svg += "<line x1=\"" + x + "\" x2=\"" + x + "\" y1=\"" + Number(kTop - 8) + "\" y2=\"" +
         Number(bottom) + "\" class=\"mark\"/>\n";
  return svg + Text(axis.X(plot.mark), kTop - 13, "soft", "middle", plot.mark_label);
}

std::string DrawLegend(const Plot& plot) {
  std::string svg;
  double x = 20;
  for (size_t i = 0; i < plot.series.size(); ++i) {
    if (plot.series[i].empty()) continue;
    svg += "<rect x=\"" + Number(x) + "\" y=\"43\" width=\"12\" height=\"12\" rx=\"3\" class=\"" +
           SeriesClass(i) + "\"/>\n";
    svg += Text(x + 18, 54, "", "start", plot.series[i]);
    x += 42 + (7.2 * static_cast<double>(plot.series[i].size()));
  }
  return svg;
}

// Dots of nearly the same value lie beside each other, not on top.
double DotShift(size_t index) {
  constexpr double kShifts[] = {0, -2.5, 2.5};
  return kShifts[index % std::size(kShifts)];
}

std::string DrawRow(const Plot& plot, const PlotRow& row, const Axis& axis, double y) {
  const double middle = y + (kBar / 2);
  const std::string series = SeriesClass(row.series);
  std::string svg;
  if (row.value > 0 && plot.bars) {
    svg += "<rect x=\"" + Number(kLeft) + "\" y=\"" + Number(y) + "\" width=\"" +
           Number(std::max(axis.X(row.value) - kLeft, 1.0)) + "\" height=\"" + Number(kBar) +
           "\" rx=\"2\" class=\"bar " + series + "\">" + Title(row.title) + "</rect>\n";
  }
  for (size_t i = 0; i < row.dots.size(); ++i) {
    svg += "<circle cx=\"" + Number(axis.X(row.dots[i].value)) + "\" cy=\"" +
           Number(middle + DotShift(i)) + "\" r=\"3\" class=\"dot " + series + "\">" +
           Title(row.dots[i].title) + "</circle>\n";
  }
  if (row.value > 0 && !plot.bars) {
    const double x = axis.X(row.value);
    svg += "<path d=\"M" + Number(x) + " " + Number(middle - 7) +
           "l6 7l-6 7l-6 -7z\" class=\"mean " + series + "\">" + Title(row.title) + "</path>\n";
  }
  return svg + Text(kRight + 10, middle + 4.5, "", "start", row.figure);
}

// The values that have to fit: {smallest, largest}; {0, 0} when there are none.
std::pair<double, double> Range(const Plot& plot) {
  double least = 0;
  double most = 0;
  const auto add = [&](double value) {
    if (value <= 0) return;
    least = least > 0 ? std::min(least, value) : value;
    most = std::max(most, value);
  };
  for (const PlotGroup& group : plot.groups) {
    for (const PlotRow& row : group.rows) {
      add(row.value);
      for (const PlotDot& dot : row.dots) add(dot.value);
    }
  }
  if (most > 0) add(plot.mark);
  return {least, most};
}

std::string Shortened(const std::string& label) {
  constexpr size_t kCharacters = 23;
  return label.size() <= kCharacters ? label : label.substr(0, kCharacters - 1) + "…";
}

std::string Frame(const Plot& plot, double height) {
  const std::string size = Number(kWidth) + " " + Number(height);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"cairn-plot\" role=\"img\" viewBox=\"0 "
         "0 " +
         size + "\" width=\"" + Number(kWidth) + "\" height=\"" + Number(height) +
         "\" aria-label=\"" + EscapeMarkup(plot.title) + "\">\n" + kStyle +
         "<rect width=\"100%\" height=\"100%\" rx=\"10\" class=\"back\"/>\n" +
         Text(20, 28, "head", "start", plot.title);
}

}  // namespace

std::string DrawPlot(const Plot& plot) {
  const auto [least, most] = Range(plot);
  if (most <= 0) return "";
  const Axis axis(least, most);
  std::string rows;
  double y = kTop + 4;
  for (const PlotGroup& group : plot.groups) {
    if (group.rows.empty()) continue;
    const double height = kRow * static_cast<double>(group.rows.size());
    rows += Text(kLeft - 12, y + (height / 2) + 2, "name", "end", Shortened(group.label));
    for (const PlotRow& row : group.rows) {
      rows += DrawRow(plot, row, axis, y);
      y += kRow;
    }
    y += kGroupGap;
  }
  const double bottom = y - kGroupGap + 4;
  return Frame(plot, bottom + kBelow) + DrawLegend(plot) + DrawGrid(plot, axis, bottom) + rows +
         "</svg>\n";
}

}  // namespace cairn
