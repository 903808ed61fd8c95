// A load benchmark's result for people: a page of Markdown with a table for each workload, and
// plots. Pure.

#ifndef CAIRN_LAB_LOAD_LOAD_REPORT_H_
#define CAIRN_LAB_LOAD_LOAD_REPORT_H_

#include <string>
#include <vector>

#include "lab/bench/bench_markdown.h"
#include "lab/load/load_result.h"

namespace cairn {

// Those that there is something to show in; the same result always has the same names.
std::vector<NamedPlot> LoadPlots(const LoadResult& result);

// `plots`: where the plots are, as links name it, "serve/"; empty: leave them out. `facts`:
// Markdown on how the servers were run, for the end of the page; may be empty.
std::string LoadMarkdown(const LoadResult& result, const std::string& plots,
                         const std::string& facts);

// The figures alone, as lines of text with the same tables.
std::string LoadText(const LoadResult& result);

}  // namespace cairn

#endif  // CAIRN_LAB_LOAD_LOAD_REPORT_H_
