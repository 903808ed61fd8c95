// MetricsPage: writes metrics in Prometheus' text format (version 0.0.4): a head for each metric,
// then its samples.
//
//   # HELP cairn_cache_evictions_total Checkpoints, segments and full states removed …
//   # TYPE cairn_cache_evictions_total counter
//   cairn_cache_evictions_total{reason="capacity"} 3
//
// Threads: one at a time.

#ifndef CAIRN_API_ADMIN_METRICS_PAGE_H_
#define CAIRN_API_ADMIN_METRICS_PAGE_H_

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "base/histogram.h"

namespace cairn {

// Returns a count as the value of a sample.
template <typename Count>
double SampleOf(Count count) {
  return static_cast<double>(count);
}

class MetricsPage {
 public:
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  // Adds a metric without labels.
  void Counter(std::string_view name, std::string_view help, double value);
  void Gauge(std::string_view name, std::string_view help, double value);

  // Begins a metric with labels; its samples follow.
  void BeginCounter(std::string_view name, std::string_view help) { Begin(name, help, "counter"); }
  void BeginGauge(std::string_view name, std::string_view help) { Begin(name, help, "gauge"); }
  void BeginHistogram(std::string_view name, std::string_view help) {
    Begin(name, help, "histogram");
  }
  void Sample(Labels labels, double value) { Line("", labels, {}, value); }
  void Sample(Labels labels, const SecondsHistogram& histogram);

  std::string text() && { return std::move(text_); }

 private:
  void Begin(std::string_view name, std::string_view help, std::string_view type);
  // `bound` is that of a histogram's bucket; empty for all other samples.
  void Line(std::string_view suffix, Labels labels, std::string_view bound, double value);

  std::string name_;  // of the current metric
  std::string text_;
};

}  // namespace cairn

#endif  // CAIRN_API_ADMIN_METRICS_PAGE_H_
