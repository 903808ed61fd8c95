#include "api/record/json_aliases.h"

#include <array>

namespace cairn {
namespace {

struct Renamed {
  const char* old_name;
  const char* name;
};

constexpr std::array<Renamed, 2> kReuseFields = {
    {{"read_tokens", "computed_tokens"}, {"warmed_tokens", "prefetched_tokens"}}};
constexpr std::array<Renamed, 1> kPrefetchFields = {{{"read_tokens", "computed_tokens"}}};
constexpr std::array<Renamed, 1> kCacheFields = {{{"wholes", "full_states"}}};
constexpr std::array<Renamed, 8> kCounters = {{{"wholes", "full_states"},
                                               {"kept", "pinned"},
                                               {"keeps_refused", "pins_refused"},
                                               {"joined", "assembled"},
                                               {"wholes_set", "full_states_set"},
                                               {"slots_given_up", "requests_preempted"},
                                               {"waited_for_reader", "waited_for_prefill"},
                                               {"parked", "slots_offloaded"}}};
constexpr std::array<Renamed, 2> kHeaders = {
    {{"x-cairn-warmed-tokens", "x-cairn-prefetched-tokens"},
     {"x-cairn-parted-at", "x-cairn-diverged-at"}}};

template <size_t kCount>
void AddRenamed(const std::array<Renamed, kCount>& fields, Json* json) {
  for (const Renamed& field : fields) (*json)[field.old_name] = Json(json->at(field.name));
}

}  // namespace

std::string_view DeprecatedWhyName(Explanation::Why why) {
  switch (why) {
    case Explanation::Why::kDiverged:
      return "parted";
    case Explanation::Why::kNoCheckpoint:
      return "no_way_back";
    default:
      return WhyName(why);
  }
}

void AddReuseAliases(const ReuseReport& report, const Explanation& explanation, Json* reuse) {
  AddRenamed(kReuseFields, reuse);
  (*reuse)["way"] = DeprecatedPathName(report.path);
  (*reuse)["explanation"]["why"] = DeprecatedWhyName(explanation.why);
}

void AddHeaderAliases(const ReuseReport& report, const Explanation& explanation,
                      std::vector<std::pair<std::string, std::string>>* headers) {
  const auto named = *headers;
  for (const Renamed& header : kHeaders) {
    for (const auto& [name, value] : named) {
      if (name == header.name) headers->emplace_back(header.old_name, value);
    }
  }
  headers->emplace_back("x-cairn-way", DeprecatedPathName(report.path));
  headers->emplace_back("x-cairn-why", DeprecatedWhyName(explanation.why));
}

void AddPrefetchAliases(Json* prefetched) {
  AddRenamed(kPrefetchFields, prefetched);
}

void AddCacheAliases(Json* cache) {
  AddRenamed(kCacheFields, cache);
}

void AddCounterAliases(Json* counters) {
  AddRenamed(kCounters, counters);
}

}  // namespace cairn
