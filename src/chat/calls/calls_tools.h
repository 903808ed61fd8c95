// The tools that a request offers, as far as reading calls of them needs to know.

#ifndef CAIRN_CHAT_CALLS_CALLS_TOOLS_H_
#define CAIRN_CHAT_CALLS_CALLS_TOOLS_H_

#include <map>
#include <string>
#include <string_view>

namespace cairn {

struct OfferedTools {
  // By the tool's name: the JSON schema of its arguments, as text; empty when it has none.
  std::map<std::string, std::string, std::less<>> schemas;

  bool Has(std::string_view name) const { return schemas.contains(name); }
};

// `tools_json`: the OpenAI `tools` array, or nothing. What is no tool in it is left out. Any
// thread.
OfferedTools ReadOfferedTools(std::string_view tools_json);

}  // namespace cairn

#endif  // CAIRN_CHAT_CALLS_CALLS_TOOLS_H_
