// MergedMetrics: one page of metrics of several servers, with the label `model` on each sample.
//
//   # TYPE cairn_requests_total counter               # TYPE cairn_requests_total counter
//   cairn_requests_total 3                     ──>    cairn_requests_total{model="qwen"} 3
//   (qwen's page, and gemma's)                        cairn_requests_total{model="gemma"} 5
//
// Prometheus wants all samples of a metric together, below one head.

#ifndef CAIRN_FLEET_ROUTER_MERGED_METRICS_H_
#define CAIRN_FLEET_ROUTER_MERGED_METRICS_H_

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

// Used by one thread.
class MergedMetrics {
 public:
  // Adds a page. A sample that has a label `model` already keeps it.
  void Add(std::string_view model, std::string_view page);
  std::string Text() const;

 private:
  struct Metric {
    std::string head;  // its # lines
    std::string samples;
  };
  Metric& Of(std::string_view name);

  std::vector<std::string> names_;  // in the order in which they came
  std::map<std::string, Metric, std::less<>> metrics_;
};

}  // namespace cairn

#endif  // CAIRN_FLEET_ROUTER_MERGED_METRICS_H_
