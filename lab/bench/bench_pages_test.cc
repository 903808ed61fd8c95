// The pages and pictures made of a benchmark. That a browser shows them is tested in
// tests/bench_page_test.cc.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lab/bench/bench_html.h"
#include "lab/bench/bench_markdown.h"
#include "lab/bench/bench_plot.h"
#include "lab/bench/bench_sample.h"
#include "lab/bench/bench_svg.h"
#include "testing/base/golden_file.h"

namespace cairn {
namespace {

using test::SampleBench;

size_t Count(std::string_view text, std::string_view word) {
  size_t count = 0;
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    ++count;
  }
  return count;
}

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

BenchResult Unknown() {
  BenchResult result = SampleBench();
  for (ServerFigures& server : result.servers) {
    for (ScenarioRun& run : server.runs) {
      for (RequestFigures& request : run.requests) request.lower_bound_tokens = 0;
    }
  }
  return result;
}

TEST(BenchSvg, DrawsTokensPrefilledOverTheLowerBound) {
  ExpectGolden("bench_read.svg", ReadPlot(SampleBench()));
}

TEST(BenchSvg, DrawsADotForEachRequestThatWasAnswered) {
  const std::string plot = FirstTokenPlot(SampleBench());
  // Four runs of four requests on each server; one cancelled on both, one run failed on the other.
  EXPECT_EQ(Count(plot, "<circle"), 15U + 11U);
  EXPECT_TRUE(Has(plot, "llama-server, turn 2, run 1: 600 ms, read 2,400 of 5,200 tokens"));
}

TEST(BenchSvg, DrawsADotForEachPair) {
  const std::string plot = RatioPlot(SampleBench());
  EXPECT_EQ(Count(plot, "<circle"), 8U + 3U);
  EXPECT_EQ(Count(plot, "class=\"mean s1\""), 2U);
}

TEST(BenchSvg, IsEmptyWhenThereIsNothingToDraw) {
  for (const BenchResult& nothing : {BenchResult(), BenchResult{1, 0, {ServerFigures()}}}) {
    EXPECT_EQ(ReadPlot(nothing), "");
    EXPECT_EQ(FirstTokenPlot(nothing), "");
    EXPECT_EQ(RatioPlot(nothing), "");
  }
  EXPECT_EQ(ReadPlot(Unknown()), "");
  BenchResult alone = SampleBench();
  alone.servers.resize(1);
  EXPECT_EQ(RatioPlot(alone), "");
  EXPECT_NE(FirstTokenPlot(alone), "");
}

TEST(BenchPlot, KeepsMarksInsideWhateverTheValues) {
  for (const double most : {1e-3, 1.0, 1.0001, 7.0, 1e9}) {
    Plot plot;
    plot.title = "t";
    plot.groups = {{"g", {{0, 1, "1", "", {{most, ""}}}}}};
    const std::string svg = DrawPlot(plot);
    EXPECT_FALSE(Has(svg, "nan") || Has(svg, "inf")) << svg;
    const size_t at = svg.find("cx=\"") + 4;
    const double x = std::stod(svg.substr(at));
    EXPECT_GE(x, 190);
    EXPECT_LE(x, 820);
    EXPECT_GE(Count(svg, "class=\"grid\""), 2U) << most;
    EXPECT_LE(Count(svg, "class=\"grid\""), 13U) << most;
  }
}

TEST(BenchPlot, EscapesNames) {
  BenchResult result = SampleBench();
  result.servers[0].name = "<b>&\"";
  for (const std::string& page : {ReadPlot(result), BenchHtml(result)}) {
    EXPECT_FALSE(Has(page, "<b>&"));
    EXPECT_TRUE(Has(page, "&lt;b&gt;&amp;&quot;"));
  }
}

TEST(BenchHtml, AsksNobodyForAnything) {
  const std::string page = BenchHtml(SampleBench());
  for (const char* outside : {"src=", "<link rel=\"stylesheet", "@import", "url(", "fetch("}) {
    EXPECT_FALSE(Has(page, outside)) << outside;
  }
}

TEST(BenchHtml, HasPlotsATableAndWhatWentWrong) {
  const std::string page = BenchHtml(SampleBench());
  EXPECT_EQ(Count(page, "<svg"), 3U);
  EXPECT_EQ(Count(page, "<tr"), 5U);
  EXPECT_TRUE(Has(page, "edit-early, run 2: turn 2: the server answered 500: &lt;out of memory"));
  EXPECT_TRUE(Has(page, "llama-server -m models/qwen35.gguf -c 16384"));
}

TEST(BenchHtml, HoldsOnlyOurOwnServerToWhatItPromises) {
  BenchResult result = SampleBench();
  EXPECT_TRUE(Has(BenchHtml(result), "What Cairn promises"));
  std::swap(result.servers[0], result.servers[1]);
  EXPECT_FALSE(Has(BenchHtml(result), "What Cairn promises"));
}

TEST(BenchHtml, ShowsEachModelAlone) {
  BenchResult other = SampleBench();
  for (ServerFigures& server : other.servers) server.model = "mamba2.gguf";
  const std::string page = BenchHtml({SampleBench(), other});
  EXPECT_EQ(Count(page, "<svg"), 6U);
  EXPECT_TRUE(Has(page, "<h2>hybrid: qwen35</h2>"));
  EXPECT_TRUE(Has(page, "<h2>hybrid: mamba2</h2>") || Has(page, "<h2>mamba2</h2>"));
}

TEST(BenchHtml, IsAPageEvenOfNothing) {
  for (const std::string& page :
       {BenchHtml(BenchResult()), BenchHtml(std::vector<BenchResult>())}) {
    EXPECT_TRUE(Has(page, "Nothing was played."));
    EXPECT_TRUE(page.ends_with("</html>\n"));
  }
  EXPECT_EQ(Count(BenchHtml(Unknown()), "<svg"), 2U);
}

TEST(BenchMarkdown, SaysWhatHoldsAndWhatDoesNot) {
  BenchResult other = SampleBench();
  for (ServerFigures& server : other.servers) server.model = "mamba2.gguf";
  other.servers[0].memory = "recurrent";
  other.servers[0].grid_tokens = 1;
  ExpectGolden("bench_page.md", BenchMarkdown({SampleBench(), other}, "benchmarks/",
                                              "The machine has two cores.\n"));
}

TEST(BenchMarkdown, LeavesOutLinksToPlotsThatNobodyWrote) {
  EXPECT_FALSE(Has(BenchMarkdown({SampleBench()}, "", ""), "!["));
}

TEST(BenchMarkdown, OfNothingSaysSo) {
  EXPECT_EQ(BenchMarkdown({}, "", ""), "# Benchmarks\n\nNothing was played.\n");
}

TEST(BenchMarkdown, NamesPlotsByModel) {
  std::set<std::string> names;
  for (const NamedPlot& plot : NamedPlots(SampleBench())) names.insert(plot.file);
  EXPECT_EQ(names, (std::set<std::string>{"hybrid-qwen35-first-token.svg",
                                          "hybrid-qwen35-ratio.svg", "hybrid-qwen35-read.svg"}));
  EXPECT_EQ(NamedPlots(Unknown()).size(), 2U);
}

TEST(BenchMarkdown, SparesPlotsWhatOnlyAPointerWouldShow) {
  for (const NamedPlot& plot : NamedPlots(SampleBench())) {
    EXPECT_FALSE(Has(plot.svg, "title>"));
    EXPECT_TRUE(Has(plot.svg, "<circle")) << plot.svg;
    EXPECT_TRUE(plot.svg.ends_with("</svg>\n"));
  }
}

}  // namespace
}  // namespace cairn
