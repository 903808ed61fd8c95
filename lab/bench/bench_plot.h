// Draws rows of bars and dots over a horizontal axis as SVG. Pure; knows nothing of benchmarks.
//
//   scenario   ████████████▌   ·  ·        1.52      a row: a bar, dots, its figure
//              ███▌· ·                     1.02
//   another    …                                     a group: a label and its rows
//              └────────┴────────┴──────
//              0.5      1        2                   ticks; a line where `mark` is

#ifndef CAIRN_LAB_BENCH_BENCH_PLOT_H_
#define CAIRN_LAB_BENCH_BENCH_PLOT_H_

#include <cstddef>
#include <string>
#include <vector>

namespace cairn {

struct PlotDot {
  double value = 0;   // positive
  std::string title;  // shown when pointed at
};

struct PlotRow {
  size_t series = 0;   // which colour, and which of Plot::series
  double value = 0;    // of the bar or the mark; 0: none
  std::string figure;  // written at the end of the row
  std::string title;
  std::vector<PlotDot> dots;
};

struct PlotGroup {
  std::string label;
  std::vector<PlotRow> rows;
};

struct Plot {
  std::string title;
  std::string axis;                 // what the axis shows
  std::vector<std::string> series;  // named in the legend; empty names are left out
  std::vector<PlotGroup> groups;
  bool bars = true;           // false: a row's value is a mark on its own, not the end of a bar
  bool milliseconds = false;  // how ticks are written; else they are ratios
  double mark = 0;            // a value with a line of its own; 0: none
  std::string mark_label;
};

// Values that differ much lie on a logarithmic axis, else on one that begins at 0. Empty when no
// row has a value or dot.
std::string DrawPlot(const Plot& plot);

}  // namespace cairn

#endif  // CAIRN_LAB_BENCH_BENCH_PLOT_H_
