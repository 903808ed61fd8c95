#include "api/request/adapters.h"

#include <utility>

#include "api/json.h"
#include "chat/text/limited_json.h"

namespace cairn {

ApiResult<AdapterSets::Number> FindAdapterSet(
    const std::optional<std::vector<AdapterScale>>& scales, AdapterSets* sets,
    AdapterSets::Owner owner) {
  if (!scales) return sets == nullptr ? 0 : sets->standing();
  const size_t count = sets == nullptr ? 0 : sets->adapters().size();
  AdapterScales all(count, 0.0F);
  for (size_t i = 0; i < scales->size(); ++i) {
    const AdapterScale& one = (*scales)[i];
    if (one.adapter >= count) {
      const std::string range = count == 0
                                    ? "no adapter, because this server was started without --lora"
                                    : "the number of an adapter, 0 to " + std::to_string(count - 1);
      return tl::unexpected(FieldError("lora[" + std::to_string(i) + "].id", range));
    }
    all[one.adapter] = one.scale;
  }
  if (count == 0) return 0;
  auto set = sets->SetOf(std::move(all), owner);
  if (!set) return tl::unexpected(ToApiError(set.error()));
  return *set;
}

std::string AdaptersBody(const AdapterSets* sets) {
  Json list = Json::array();
  if (sets == nullptr) return ToText(list);
  // Another request may set others meanwhile, and the set be freed.
  const AdapterScales scales = sets->ScalesOf(sets->standing()).value_or(AdapterScales{});
  for (size_t i = 0; i < scales.size(); ++i) {
    const Adapter& adapter = sets->adapters()[i];
    list.push_back({{"id", i},
                    {"path", adapter.path},
                    {"scale", scales[i]},
                    {"task_name", adapter.task_name},
                    {"prompt_prefix", adapter.prompt_prefix}});
  }
  return ToText(list);
}

ApiResult<std::string> SetAdaptersBody(std::string_view body, AdapterSets* sets,
                                       AdapterSets::Owner owner) {
  const auto json = ParseLimitedJson(body, "the request body", JsonLimits{});
  if (!json) return tl::unexpected(ToApiError(json.error()));
  const auto scales = ParseAdapterScales(*json, "the body");
  if (!scales) return tl::unexpected(scales.error());
  const auto set = FindAdapterSet(*scales, sets, owner);
  if (!set) return tl::unexpected(set.error());
  if (sets != nullptr) {
    if (Status stands = sets->SetStanding(*set); !stands) {
      return tl::unexpected(ToApiError(stands.error()));
    }
  }
  return ToText({{"success", true}});
}

}  // namespace cairn
