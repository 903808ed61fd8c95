// GET /metrics: counters and gauges of the server in Prometheus' text format. docs/metrics.md
// explains each metric. llama-server's names are included, so that its dashboards keep working.

#ifndef CAIRN_API_ADMIN_METRICS_H_
#define CAIRN_API_ADMIN_METRICS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "api/admin/refusals.h"
#include "api/record/explanation.h"
#include "chat/spans/spans.h"
#include "engine/embed/embedder.h"
#include "sched/context/scheduler_stats.h"
#include "tree/prefix_change.h"

namespace cairn {

struct MetricsInput {
  std::string version;
  std::string model;
  SchedulerStats stats;
  SpanStats spans;
  // Number of requests by explanation.
  std::map<Explanation::Why, uint64_t> whys;
  bool draining = false;                        // see Drain
  std::optional<KvEventsStats> kv_events = {};  // if they are published
  RefusalCounts refusals = {};
  TextCounts texts = {};  // of embeddings and reranking
};

// Any thread.
std::string MetricsText(const MetricsInput& input);

}  // namespace cairn

#endif  // CAIRN_API_ADMIN_METRICS_H_
