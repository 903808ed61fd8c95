#include "api/openai/response_items.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"

namespace cairn {
namespace {

bool HasTextField(const Json& item, const char* name) {
  const auto found = item.find(name);
  return found != item.end() && found->is_string() && !found->text().empty();
}

std::string IdPrefix(const std::string& type) {
  if (type == "message") return "msg_";
  if (type == "function_call") return "fc_";
  if (type == "function_call_output") return "fco_";
  return type == "reasoning" ? "rs_" : "item_";
}

// Returns the parts of a message whose content is only a text.
Json TextParts(const Json& item) {
  const bool answer = item.value("role", Json()) == "assistant";
  Json part = {{"type", answer ? "output_text" : "input_text"}, {"text", item["content"]}};
  if (answer) part["annotations"] = Json::array();
  return Json::array({std::move(part)});
}

void AppendItems(const Json& list, std::vector<Json>* items) {
  for (const Json& item : list) items->push_back(item);
}

// Returns the number of the response in an item's id: "msg_<number>-<index>".
std::string ResponseOfItem(const std::string& item_id) {
  const size_t begin = item_id.find('_');
  const size_t end = item_id.rfind('-');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return "";
  return "resp_" + item_id.substr(begin + 1, end - begin - 1);
}

// The items of one stored response, by id. A conversation may have thousands, and a request may
// refer to all of them.
class ItemsOfResponse {
 public:
  struct Item {
    const Json* json = nullptr;
    size_t bytes = 0;
  };

  // `turn` may be null: then there are none.
  explicit ItemsOfResponse(const ResponseTurn* turn) {
    if (turn == nullptr) return;
    input_ = Json::parse(turn->input);
    response_ = Json::parse(turn->response);
    for (const Json* list : {&std::as_const(input_), &std::as_const(response_)["output"]}) {
      for (const Json& item : *list) {
        if (HasTextField(item, "id")) items_.try_emplace(item["id"].text(), Item{&item});
      }
    }
  }
  ItemsOfResponse(const ItemsOfResponse&) = delete;
  ItemsOfResponse& operator=(const ItemsOfResponse&) = delete;

  // Null if there is none of that id.
  const Item* Find(std::string_view id) {
    const auto found = items_.find(id);
    if (found == items_.end()) return nullptr;
    Item& item = found->second;
    if (item.bytes == 0) item.bytes = ToText(*item.json).size();
    return &item;
  }

 private:
  Json input_ = Json::array();
  Json response_;
  std::map<std::string_view, Item> items_;  // of the two
};

ApiError NotStored(const std::string& field) {
  ApiError error =
      FieldError(field, "the id of a stored item; this one is not stored or has expired");
  error.status = 404;
  error.type = ErrorType(404);
  return error;
}

struct Page {
  size_t limit = 20;
  bool newest_first = true;
  std::string after;
};

ApiResult<Page> ReadPage(const std::multimap<std::string, std::string>& params) {
  constexpr uint64_t kLimitMax = 100;
  Page page;
  if (const auto found = params.find("limit"); found != params.end()) {
    const auto limit = ParseNumber(found->second);
    if (!limit || *limit == 0 || *limit > kLimitMax) {
      return tl::unexpected(FieldError("limit", "a number from 1 to 100"));
    }
    page.limit = *limit;
  }
  if (const auto found = params.find("order"); found != params.end()) {
    if (found->second != "asc" && found->second != "desc") {
      return tl::unexpected(FieldError("order", "'asc' or 'desc'"));
    }
    page.newest_first = found->second == "desc";
  }
  if (const auto found = params.find("after"); found != params.end()) page.after = found->second;
  return page;
}

}  // namespace

std::string ResponseNumber(const std::string& response_id) {
  return response_id.substr(response_id.find('_') + 1);
}

ApiResult<void> CheckInputItems(const Json& input) {
  if (!input.is_array() || input.size() <= kInputItemsMax) return {};
  return tl::unexpected(FieldError(
      "input", "a list of at most " + std::to_string(kInputItemsMax) + " items, not " +
                   std::to_string(input.size()) +
                   ": leave older ones out, or continue a response by 'previous_response_id'"));
}

ApiResult<void> ResolveReferences(Json* input, NamespaceId name_space, StoredResponses* stored) {
  if (auto fits = CheckInputItems(*input); !fits) return fits;
  if (stored == nullptr || !input->is_array()) return {};
  std::map<std::string, std::vector<size_t>> references;  // by response
  for (size_t i = 0; i < input->size(); ++i) {
    const Json& item = (*input)[i];
    const bool refers = item.is_object() && item.value("type", Json()) == "item_reference";
    if (refers && HasTextField(item, "id"))
      references[ResponseOfItem(item["id"].text())].push_back(i);
  }
  size_t bytes = 0;
  for (const auto& [response, places] : references) {
    const auto turn = stored->FindTurn(response, name_space);
    ItemsOfResponse items(turn.get());
    for (const size_t place : places) {
      const std::string field = "input[" + std::to_string(place) + "].id";
      const ItemsOfResponse::Item* const item = items.Find((*input)[place]["id"].text());
      if (item == nullptr) return tl::unexpected(NotStored(field));
      bytes += item->bytes;
      if (bytes > stored->key_bytes_max()) {
        return tl::unexpected(FieldError(
            field, "an item that fits: the items before it already use the key's storage limit"));
      }
      (*input)[place] = *item->json;
    }
  }
  return {};
}

Json ListedInput(const Json& input, const std::string& number) {
  if (input.is_string()) {
    const Json message = {{"role", "user"}, {"content", input}};
    return ListedInput(Json::array({message}), number);
  }
  Json items = Json::array();
  for (const Json& given : input) {
    const std::string type =
        HasTextField(given, "type") ? given["type"].get<std::string>() : "message";
    const Json id = IdPrefix(type) + number + "-in" + std::to_string(items.size());
    Json item = {{"id", id}, {"type", type}, {"status", "completed"}};
    item.update(given);
    if (!HasTextField(given, "id")) item["id"] = id;
    item["type"] = type;
    if (HasTextField(given, "content") && type == "message") item["content"] = TextParts(given);
    items.push_back(std::move(item));
  }
  return items;
}

ApiResult<std::string> InputItemsBody(const ResponseTurns& turns,
                                      const std::multimap<std::string, std::string>& params) {
  const auto page = ReadPage(params);
  if (!page) return tl::unexpected(page.error());
  std::vector<Json> items;
  for (const auto& turn : turns) {
    AppendItems(Json::parse(turn->input), &items);
    if (turn != turns.back()) AppendItems(Json::parse(turn->response)["output"], &items);
  }
  if (page->newest_first) std::reverse(items.begin(), items.end());
  auto begin = items.begin();
  if (!page->after.empty()) {
    const auto is_after = [&](const Json& item) { return item["id"] == page->after; };
    const auto found = std::find_if(items.begin(), items.end(), is_after);
    if (found == items.end()) {
      return tl::unexpected(FieldError("after", "the id of one of the listed items"));
    }
    begin = std::next(found);
  }
  const auto left = static_cast<size_t>(items.end() - begin);
  const auto end = begin + static_cast<std::ptrdiff_t>(std::min(left, page->limit));
  Json list = {{"object", "list"}, {"data", Json::array()}};
  for (auto item = begin; item != end; ++item) list["data"].push_back(std::move(*item));
  const bool any = !list["data"].empty();
  list["first_id"] = any ? list["data"][0]["id"] : Json();
  list["last_id"] = any ? list["data"].back()["id"] : Json();
  list["has_more"] = left > page->limit;
  return ToText(list);
}

}  // namespace cairn
