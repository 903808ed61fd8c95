// GET /metrics: what the server did and holds, in Prometheus' text format. docs/metrics.md says
// what each metric means; llama-server's names stand beside ours, so that dashboards made for it go
// on.

#ifndef CAIRN_API_ADMIN_METRICS_H_
#define CAIRN_API_ADMIN_METRICS_H_

#include <cstdint>
#include <map>
#include <string>

#include "api/admin/explanation.h"
#include "chat/spans/span_cache.h"
#include "sched/scheduler.h"

namespace cairn {

struct MetricsInput {
  std::string version;
  std::string model;
  SchedulerStats stats;
  SpanStats spans;
  // Requests by what was found of their prompts.
  std::map<Explanation::Why, uint64_t> whys;
};

// Any thread.
std::string MetricsText(const MetricsInput& input);

}  // namespace cairn

#endif  // CAIRN_API_ADMIN_METRICS_H_
