#include "api/anthropic/anthropic_tools.h"

#include <algorithm>
#include <array>
#include <utility>

#include "api/grammar/tool_choice.h"
#include "chat/text/message.h"

namespace cairn {
namespace {

// The service answers their calls itself, so a client goes on without them.
constexpr std::array<std::string_view, 5> kOfTheService = {
    "web_search", "web_fetch", "code_execution", "mcp_toolset", "advisor"};

bool IsOfTheService(std::string_view type) {
  return std::any_of(kOfTheService.begin(), kOfTheService.end(),
                     [type](std::string_view one) { return type.starts_with(one); });
}

// Returns the tool that `tool_choice` forces; empty if it forces none.
std::string ForcedTool(const Json& body) {
  const Json* const choice = FieldReader(body, "").Find("tool_choice");
  if (choice == nullptr || !choice->is_object() || choice->value("type", Json()) != Json("tool")) {
    return "";
  }
  const Json name = choice->value("name", Json());
  return name.is_string() ? name.text() : "";
}

// Returns a tool with a schema in OpenAI's form.
ApiResult<Json> FunctionOf(const Json& tool, const Json& schema, const std::string& place) {
  FieldReader fields(tool, place + ".");
  if (!schema.is_object()) fields.Fail("input_schema", "an object");
  const auto name = NeededString(tool, place, "name");
  if (!name) return tl::unexpected(name.error());
  Json function = {{"name", *name}};
  std::string description;
  fields.String("description", &description);
  if (fields.error()) return tl::unexpected(*fields.error());
  if (!description.empty()) function["description"] = description;
  function["parameters"] = schema;
  return function;
}

Json ToolOf(Json function) {
  return {{"type", "function"}, {"function", std::move(function)}};
}

}  // namespace

ApiResult<AnthropicTools> AnthropicTools::Parse(const Json& body) {
  AnthropicTools parsed;
  const Json* const tools = FieldReader(body, "").Find("tools");
  if (tools == nullptr) return parsed;
  if (!tools->is_array()) return tl::unexpected(FieldError("tools", "a list"));
  for (size_t i = 0; i < tools->size(); ++i) {
    auto added = parsed.Add((*tools)[i], ItemPlace("tools", i));
    if (!added) return tl::unexpected(added.error());
  }
  if (parsed.searches_ || parsed.deferred_.contains(ForcedTool(body))) parsed.ShowDeferred();
  if (!parsed.deferred_.empty() && parsed.shown_.empty()) {
    return tl::unexpected(FieldError(
        "tools", "with one at least without 'defer_loading', by which the others are found"));
  }
  return parsed;
}

ApiResult<void> AnthropicTools::Add(const Json& tool, const std::string& place) {
  if (!tool.is_object()) return tl::unexpected(FieldError(place, "an object"));
  FieldReader fields(tool, place + ".");
  const Json* const schema = fields.Find("input_schema");
  std::string type;
  fields.String("type", &type);
  bool defers = false;
  fields.Bool("defer_loading", &defers);
  if (fields.error()) return tl::unexpected(*fields.error());
  if (schema == nullptr) {
    if (type.starts_with("tool_search_tool")) {
      searches_ = true;
    } else if (IsOfTheService(type)) {
      NoteLeftOut(type, &left_out_);
    } else if (type.empty() || type == "custom") {
      return tl::unexpected(FieldError(place + ".input_schema", "an object"));
    } else {
      return tl::unexpected(FieldError(place + ".type",
                                       "'custom' with an 'input_schema': models other than "
                                       "Anthropic's do not know the tool '" +
                                           ShownErrorText(type) + "' without one"));
    }
    return {};
  }
  auto function = FunctionOf(tool, *schema, place);
  if (!function) return tl::unexpected(function.error());
  if (!defers) {
    shown_.push_back(ToolOf(*std::move(function)));
    return {};
  }
  const std::string name = (*function)["name"].text();
  if (deferred_.emplace(name, *std::move(function)).second) order_.push_back(name);
  return {};
}

void AnthropicTools::ShowDeferred() {
  for (const std::string& name : order_) shown_.push_back(ToolOf(std::move(deferred_[name])));
  deferred_.clear();
  order_.clear();
}

std::string AnthropicTools::Reference(std::string_view name) {
  const auto found = deferred_.find(name);
  if (found == deferred_.end()) return std::string(name);
  const Json tool = ToolOf(found->second);
  if (std::find(loaded_.begin(), loaded_.end(), tool) == loaded_.end()) loaded_.push_back(tool);
  return ToText(found->second);
}

ApiResult<Tools> AnthropicTools::MadeOf(const Json& list) {
  auto made = Tools::Make(list);
  if (!made) return tl::unexpected(ToApiError(made.error()));
  return *std::move(made);
}

}  // namespace cairn
