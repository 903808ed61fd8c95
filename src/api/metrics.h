// GET /metrics: the counters in Prometheus' text format, under llama-server's names, so that
// dashboards made for it go on, and what only Cairn counts under its own.

#ifndef CAIRN_API_METRICS_H_
#define CAIRN_API_METRICS_H_

#include <string>

#include "chat/span_cache.h"
#include "sched/scheduler.h"

namespace cairn {

// Any thread.
std::string MetricsText(const SchedulerStats& stats, const SpanStats& spans);

}  // namespace cairn

#endif  // CAIRN_API_METRICS_H_
