#include "chat/text/tools.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "base/json.h"
#include "chat/text/limited_json.h"

namespace cairn {
namespace {

constexpr std::string_view kField = "tools";

tl::unexpected<Error> NotAnArray() {
  return Fail(ErrorCode::kInvalidArgument, "tools must be an array of tool definitions.");
}

void RemoveMembers(std::span<const std::string_view> names, Json* object) {
  for (const std::string_view name : names) object->erase(name);
}

}  // namespace

struct Tools::Parsed {
  Json list;
  std::string text;
  uint64_t hash = 0;
};

Tools::Tools(Json list) {
  CHECK(list.is_array());
  if (list.empty()) return;
  auto parsed = std::make_shared<Parsed>();
  parsed->text = ToText(list);
  parsed->hash = Hash64(parsed->text);
  parsed->list = std::move(list);
  parsed_ = std::move(parsed);
}

Result<Tools> Tools::Make(Json list) {
  if (!list.is_array()) return NotAnArray();
  if (const Status fits = CheckJsonLimits(list, kField); !fits) {
    return tl::unexpected(fits.error());
  }
  return Tools(std::move(list));
}

Result<Tools> Tools::Parse(std::string_view text) {
  Result<Json> list = ParseLimitedJson(text, kField);
  if (!list) return tl::unexpected(list.error());
  if (!list->is_array()) return NotAnArray();
  return Tools(*std::move(list));
}

size_t Tools::size() const {
  return list().size();
}

const Json& Tools::list() const {
  static const auto* const none = new Json(Json::array());
  return parsed_ ? parsed_->list : *none;
}

const std::string& Tools::text() const {
  static const auto* const none = new std::string();
  return parsed_ ? parsed_->text : *none;
}

uint64_t Tools::hash() const {
  return parsed_ ? parsed_->hash : Hash64("");
}

const Json* Tools::FindFunction(std::string_view name) const {
  for (const Json& tool : list()) {
    const Json* const function = NamedFunction(tool);
    if (function != nullptr && (*function)["name"].text() == name) return function;
  }
  return nullptr;
}

Tools Tools::WithoutMembers(std::span<const std::string_view> names) const {
  const bool none = std::all_of(names.begin(), names.end(), [&](std::string_view name) {
    return text().find(name) == std::string::npos;
  });
  // An escape may hide a name from the search.
  if (none && text().find("\\u") == std::string::npos) return *this;
  return Changed([&](Json* list) {
    for (Json& tool : *list) {
      if (!tool.is_object()) continue;
      RemoveMembers(names, &tool);
      const auto function = tool.find("function");
      if (function != tool.end() && function->is_object()) RemoveMembers(names, &*function);
    }
  });
}

Tools Tools::Reordered(const std::vector<size_t>& order) const {
  CHECK(order.size() == size());
  Json ordered = Json::array();
  for (const size_t index : order) ordered.push_back(list()[index]);
  return Tools(std::move(ordered));
}

Tools Tools::Named(const std::vector<std::string>& names) const {
  const std::unordered_set<std::string_view> wanted(names.begin(), names.end());
  Json kept = Json::array();
  for (const Json& tool : list()) {
    const Json* const function = NamedFunction(tool);
    if (function == nullptr) continue;
    const std::string& name = (*function)["name"].text();
    if (wanted.contains(name)) kept.push_back(tool);
  }
  return Tools(std::move(kept));
}

Tools Tools::Changed(const std::function<void(Json* list)>& change) const {
  Json changed = list();
  change(&changed);
  return Tools(std::move(changed));
}

const Json* NamedFunction(const Json& tool) {
  const auto function = tool.find("function");
  if (function == tool.end() || !function->is_object()) return nullptr;
  const auto name = function->find("name");
  return name != function->end() && name->is_string() ? &*function : nullptr;
}

}  // namespace cairn
