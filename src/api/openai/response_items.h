// The items of stored responses: as GET /v1/responses/{id}/input_items lists them, and as later
// requests refer to them.
//
// Any thread.

#ifndef CAIRN_API_OPENAI_RESPONSE_ITEMS_H_
#define CAIRN_API_OPENAI_RESPONSE_ITEMS_H_

#include <map>
#include <string>

#include "api/api_error.h"
#include "api/json.h"
#include "api/openai/stored_responses.h"

namespace cairn {

// What follows "resp_" in a response's id: the ids of its items are made of it.
std::string ResponseNumber(const std::string& response_id);

// Puts stored items of this namespace in the place of `input`'s references to them
// ({"type": "item_reference", "id": …}). 404: one is not stored. 400: together they are larger than
// what a namespace may store. `stored` may be null: then nothing is replaced.
ApiResult<void> ResolveReferences(Json* input, NamespaceId name_space, StoredResponses* stored);

// A request's `input` as a list of items, each with an id, a type and a status. `number` is
// that of its response; it makes ids for items that came without.
Json ListedInput(const Json& input, const std::string& number);

// {"object": "list", "data": […]}: all items that the last of `turns` was made from, those of
// earlier turns among them. `params` are those of the URL: `limit` (1 to 100; 20), `order` ("desc",
// "asc") and `after`, an item's id. 400: one of them is not what it must be.
ApiResult<std::string> InputItemsBody(const ResponseTurns& turns,
                                      const std::multimap<std::string, std::string>& params);

}  // namespace cairn

#endif  // CAIRN_API_OPENAI_RESPONSE_ITEMS_H_
