// Items of stored responses: listed by GET /v1/responses/{id}/input_items, and referred to by later
// requests.
//
// Any thread.

#ifndef CAIRN_API_OPENAI_RESPONSE_ITEMS_H_
#define CAIRN_API_OPENAI_RESPONSE_ITEMS_H_

#include <cstddef>
#include <map>
#include <string>

#include "api/api_error.h"
#include "api/json.h"
#include "api/openai/stored_responses.h"

namespace cairn {

// Returns the part of a response's id after "resp_", from which its items' ids are made.
std::string ResponseNumber(const std::string& response_id);

// The most items of a request's `input`, of every type, those that the server ignores too: as many
// as a conversation may have messages.
inline constexpr size_t kInputItemsMax = 4096;
// Returns a 400 if `input` is a list of more items.
ApiResult<void> CheckInputItems(const Json& input);

// Replaces the references in `input` ({"type": "item_reference", "id": …}) by the namespace's
// stored items. 404 if one is not stored; 400 if there are too many items, or if those referred to
// together exceed the namespace's limit of bytes. If `stored` is null, nothing is replaced. The
// work is linear in the sizes of `input` and of the responses that it refers to.
ApiResult<void> ResolveReferences(Json* input, NamespaceId name_space, StoredResponses* stored);

// Returns a request's `input` as a list of items, each with an id, a type and a status. `number` is
// that of its response, from which missing ids are made.
Json ListedInput(const Json& input, const std::string& number);

// Returns {"object": "list", "data": […]}: all items that the last of `turns` was made from,
// including those of earlier turns. `params` are those of the URL: `limit` (1 to 100; 20), `order`
// ("desc", "asc") and `after`, an item's id. 400 if one of them is invalid.
ApiResult<std::string> InputItemsBody(const ResponseTurns& turns,
                                      const std::multimap<std::string, std::string>& params);

}  // namespace cairn

#endif  // CAIRN_API_OPENAI_RESPONSE_ITEMS_H_
