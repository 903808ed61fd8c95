// The tools that a request offers, as far as the parsers of calls need them.

#ifndef CAIRN_CHAT_CALLS_CALLS_TOOLS_H_
#define CAIRN_CHAT_CALLS_CALLS_TOOLS_H_

#include <map>
#include <string>
#include <string_view>

namespace cairn {

struct OfferedTools {
  // Maps the tool's name to the JSON schema of its arguments, as text; empty if it has none.
  std::map<std::string, std::string, std::less<>> schemas;

  bool Has(std::string_view name) const { return schemas.contains(name); }
};

// `tools_json` is the OpenAI `tools` array or empty. Entries that are not tools are ignored. Any
// thread.
OfferedTools ReadOfferedTools(std::string_view tools_json);

}  // namespace cairn

#endif  // CAIRN_CHAT_CALLS_CALLS_TOOLS_H_
