#include "api/response_items.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "base/number_text.h"

namespace cairn {
namespace {

bool HasText(const Json& item, const char* name) {
  const auto found = item.find(name);
  return found != item.end() && found->is_string() && !found->get_ref<const std::string&>().empty();
}

std::string IdPrefix(const std::string& type) {
  if (type == "message") return "msg_";
  if (type == "function_call") return "fc_";
  if (type == "function_call_output") return "fco_";
  return type == "reasoning" ? "rs_" : "item_";
}

// The parts of a message whose content is a text alone.
Json TextParts(const Json& item) {
  const bool answer = item.value("role", Json()) == "assistant";
  Json part = {{"type", answer ? "output_text" : "input_text"}, {"text", item["content"]}};
  if (answer) part["annotations"] = Json::array();
  return Json::array({std::move(part)});
}

void AppendItems(const Json& list, std::vector<Json>* items) {
  for (const Json& item : list) items->push_back(item);
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

Json ListedInput(const Json& input, const std::string& number) {
  if (input.is_string()) {
    const Json message = {{"role", "user"}, {"content", input}};
    return ListedInput(Json::array({message}), number);
  }
  Json items = Json::array();
  for (const Json& given : input) {
    const std::string type = HasText(given, "type") ? given["type"].get<std::string>() : "message";
    const Json id = IdPrefix(type) + number + "-in" + std::to_string(items.size());
    Json item = {{"id", id}, {"type", type}, {"status", "completed"}};
    item.update(given);
    if (!HasText(given, "id")) item["id"] = id;
    item["type"] = type;
    if (HasText(given, "content") && type == "message") item["content"] = TextParts(given);
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
  list["first_id"] = any ? list["data"].front()["id"] : Json();
  list["last_id"] = any ? list["data"].back()["id"] : Json();
  list["has_more"] = left > page->limit;
  return ToText(list);
}

}  // namespace cairn
