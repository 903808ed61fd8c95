// Deprecated JSON fields, enum values and headers of answers. They stand beside the new ones for
// one version, so that clients can be changed in their own time; docs/openapi.yaml marks them as
// deprecated. Each function takes an object with the new fields and adds the old ones.
//
// To remove them: delete this file, json_aliases.cc, metric_aliases.* and their callers.

#ifndef CAIRN_API_RECORD_JSON_ALIASES_H_
#define CAIRN_API_RECORD_JSON_ALIASES_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/json.h"
#include "api/record/explanation.h"
#include "sched/answer/reuse_report.h"

namespace cairn {

// The old spelling of `why`, as WhyName gives the new one.
std::string_view DeprecatedWhyName(Explanation::Why why);

// In the `cairn` object: way, read_tokens and warmed_tokens; why in its explanation.
void AddReuseAliases(const ReuseReport& report, const Explanation& explanation, Json* reuse);
// The x-cairn-… headers.
void AddHeaderAliases(const ReuseReport& report, const Explanation& explanation,
                      std::vector<std::pair<std::string, std::string>>* headers);
// In POST /cairn/cache/prefetch: read_tokens.
void AddPrefetchAliases(Json* prefetched);
// In GET /cairn/cache: wholes.
void AddCacheAliases(Json* cache);
// The cache's counters in GET /props.
void AddCounterAliases(Json* counters);

}  // namespace cairn

#endif  // CAIRN_API_RECORD_JSON_ALIASES_H_
