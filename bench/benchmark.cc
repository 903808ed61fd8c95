#include "benchmark.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/check.h"
#include "base/clock.h"
#include "base/text.h"

namespace cairn::bench {
namespace {

std::string Line(std::string_view benchmark, const Row& row) {
  std::array<char, 128> line{};
  std::snprintf(line.data(), line.size(), "%-7s  %-30s %9.3f %9.3f  ",
                std::string(benchmark).c_str(), row.what.c_str(), Median(row.ms), Least(row.ms));
  return line.data() + row.note + "\n";
}

}  // namespace

BenchSizes SmallSizes() {
  BenchSizes sizes;
  sizes.header_tokens = 200;
  sizes.conversations = 3;
  sizes.conversation_tokens = 800;
  sizes.conversation_checkpoints = 20;
  sizes.prompt_tokens = 900;
  sizes.runs = 16;
  sizes.large_models = false;
  sizes.restore_runs = 2;
  sizes.prefill_tokens = 320;
  sizes.prefill_runs = 2;
  return sizes;
}

const std::vector<Benchmark>& Benchmarks() {
  static const std::vector<Benchmark> benchmarks = {
      {"match", BenchMatch},   {"insert", BenchInsert},   {"evict", BenchEvict},
      {"events", BenchEvents}, {"restore", BenchRestore}, {"prefill", BenchPrefill},
  };
  return benchmarks;
}

double TimeMs(const std::function<void()>& work) {
  const SteadyClock clock;
  const double begin_ms = clock.NowMs();
  work();
  return clock.NowMs() - begin_ms;
}

double Median(std::vector<double> values) {
  CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  if (values.size() % 2 == 1) return values[middle];
  return (values[middle - 1] + values[middle]) / 2;
}

double Least(const std::vector<double>& values) {
  CHECK(!values.empty());
  return *std::min_element(values.begin(), values.end());
}

std::string TableHead() {
  return "what is measured                       median ms  least ms  note";
}

Result<std::string> TableOf(std::string_view name, const BenchSizes& sizes) {
  std::vector<std::string_view> names;
  for (const Benchmark& benchmark : Benchmarks()) {
    names.push_back(benchmark.name);
    if (benchmark.name != name) continue;
    const auto rows = benchmark.run(sizes);
    if (!rows) return tl::unexpected(rows.error());
    std::string table;
    for (const Row& row : *rows) table += Line(name, row);
    return table;
  }
  return Fail(ErrorCode::kInvalidArgument, "there is no benchmark named '" + std::string(name) +
                                               "'; there are: " + JoinNames(names));
}

}  // namespace cairn::bench
