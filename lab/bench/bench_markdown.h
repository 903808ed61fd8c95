// A benchmark's result as a page of Markdown with links to plots: what was promised and whether it
// held, figures by model and scenario. Pure.

#ifndef CAIRN_LAB_BENCH_BENCH_MARKDOWN_H_
#define CAIRN_LAB_BENCH_BENCH_MARKDOWN_H_

#include <string>
#include <utility>
#include <vector>

#include "lab/bench/bench_result.h"

namespace cairn {

// A plot: the name of its file, "hybrid-qwen35-read.svg", and its text, without what it would say
// when pointed at. The same result always has the same names.
struct NamedPlot {
  std::string file;
  std::string svg;
  std::string title;
};
std::vector<NamedPlot> NamedPlots(const BenchResult& result);

// `plots`: where the plots are, as links name it, "benchmarks/"; empty: leave them out. `facts`:
// Markdown on how the servers were run, for the end of the page; may be empty.
std::string BenchMarkdown(const std::vector<BenchResult>& results, const std::string& plots,
                          const std::string& facts);

}  // namespace cairn

#endif  // CAIRN_LAB_BENCH_BENCH_MARKDOWN_H_
