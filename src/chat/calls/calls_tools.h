// The tools that a request offers, as far as the parsers of calls need them.

#ifndef CAIRN_CHAT_CALLS_CALLS_TOOLS_H_
#define CAIRN_CHAT_CALLS_CALLS_TOOLS_H_

#include <map>
#include <string>
#include <string_view>

#include "base/json.h"
#include "chat/text/tools.h"

namespace cairn {

struct OfferedTools {
  Tools tools;  // holds the schemas
  // Maps the tool's name to the JSON schema of its arguments; null if it has none.
  std::map<std::string, const Json*, std::less<>> schemas;

  bool Has(std::string_view name) const { return schemas.contains(name); }
};

// Entries that are not functions are ignored. Any thread.
OfferedTools ReadOfferedTools(const Tools& tools);

}  // namespace cairn

#endif  // CAIRN_CHAT_CALLS_CALLS_TOOLS_H_
