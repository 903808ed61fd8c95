// Deprecated metric names. /metrics has them beside the new ones for one version, so that
// dashboards and alerts can be changed in their own time. docs/metrics.md lists old and new names.
//
// To remove them: delete this file, metric_aliases.cc, metric_aliases_test.cc, the call in
// metrics.cc and the table of deprecated names in docs/metrics.md.

#ifndef CAIRN_API_ADMIN_METRIC_ALIASES_H_
#define CAIRN_API_ADMIN_METRIC_ALIASES_H_

#include "api/admin/metrics.h"
#include "api/admin/metrics_page.h"

namespace cairn {

// Writes every deprecated metric with the help text "Deprecated, use X.". Any thread.
void AddMetricAliases(const MetricsInput& input, MetricsPage* page);

}  // namespace cairn

#endif  // CAIRN_API_ADMIN_METRIC_ALIASES_H_
