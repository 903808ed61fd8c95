#include "api/prompt/order/key_order.h"

#include <map>
#include <string>
#include <utility>

#include "api/json.h"

namespace cairn {

void KeyOrder::Apply(NamespaceId name_space, Conversation* conversation) {
  ApplyToTools(name_space, &conversation->tools);
  for (Message& message : conversation->messages) {
    for (ToolCall& call : message.tool_calls) {
      auto known = calls_.Respell(name_space, call.name, call.arguments);
      if (known) call.arguments = *std::move(known);
    }
  }
}

void KeyOrder::ApplyToTools(NamespaceId name_space, Tools* tools) {
  std::map<size_t, Json> known;
  const Json& list = tools->list();
  for (size_t i = 0; i < list.size(); ++i) {
    const auto text = tools_.Respell(name_space, "", ToText(list[i]));
    if (text) known.emplace(i, Json::parse(*text));
  }
  if (known.empty()) return;
  *tools = tools->Changed([&known](Json* changed) {
    for (auto& [i, tool] : known) (*changed)[i] = std::move(tool);
  });
}

}  // namespace cairn
