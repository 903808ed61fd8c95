#include "chat/calls/calls_tools.h"

namespace cairn {

OfferedTools ReadOfferedTools(const Tools& tools) {
  OfferedTools offered{.tools = tools, .schemas = {}};
  for (const Json& tool : offered.tools.list()) {
    const Json* const function = NamedFunction(tool);
    if (function == nullptr) continue;
    const auto schema = function->find("parameters");
    const bool has_schema = schema != function->end() && schema->is_object();
    offered.schemas[(*function)["name"].text()] = has_schema ? &*schema : nullptr;
  }
  return offered;
}

}  // namespace cairn
