// llama-server's /lora-adapters, and the adapters of a request.

#ifndef CAIRN_API_REQUEST_ADAPTERS_H_
#define CAIRN_API_REQUEST_ADAPTERS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/api_error.h"
#include "api/request/answer_options.h"
#include "engine/adapters/adapter_sets.h"

namespace cairn {

// Returns the set of the scales, or where there are none that of the server. `sets` is null if the
// server has no adapters. Errors name the field "lora".
// A new set is one of `owner`, the namespace of the request's key.
ApiResult<AdapterSets::Number> FindAdapterSet(
    const std::optional<std::vector<AdapterScale>>& scales, AdapterSets* sets,
    AdapterSets::Owner owner = 0);

// Returns the body of GET /lora-adapters.
std::string AdaptersBody(const AdapterSets* sets);

// POST /lora-adapters: sets the scales of all requests that name none.
ApiResult<std::string> SetAdaptersBody(std::string_view body, AdapterSets* sets,
                                       AdapterSets::Owner owner = 0);

}  // namespace cairn

#endif  // CAIRN_API_REQUEST_ADAPTERS_H_
