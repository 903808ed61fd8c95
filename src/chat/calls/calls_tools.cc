#include "chat/calls/calls_tools.h"

#include "base/json.h"
#include "chat/parse/limited_json.h"

namespace cairn {

OfferedTools ReadOfferedTools(std::string_view tools_json) {
  OfferedTools tools;
  if (tools_json.empty()) return tools;
  const auto list = ParseLimitedJson(tools_json, "tools");
  if (!list || !list->is_array()) return tools;
  for (const auto& tool : *list) {
    if (!tool.is_object() || !tool.contains("function")) continue;
    const auto& function = tool["function"];
    if (!function.is_object() || !function.contains("name")) continue;
    if (!function["name"].is_string()) continue;
    const bool has_schema = function.contains("parameters") && function["parameters"].is_object();
    tools.schemas[function["name"].get<std::string>()] =
        has_schema ? function["parameters"].dump() : "";
  }
  return tools;
}

}  // namespace cairn
