// The marked calls that learn_calls.cc renders to find out how a template writes calls.

#ifndef CAIRN_CHAT_LEARN_CALL_PROBES_H_
#define CAIRN_CHAT_LEARN_CALL_PROBES_H_

#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "chat/text/tools.h"

namespace cairn::probe {

// Words that no template writes on its own. Ids have nine characters, because some templates
// require that.
inline constexpr std::string_view kUser = "Zquser";
inline constexpr std::string_view kNext = "Zqnext";
inline constexpr std::string_view kText = "Zqtext";
inline constexpr std::string_view kReasoning = "Zqreason";
inline constexpr std::string_view kKeyA = "zqkeya";
inline constexpr std::string_view kKeyB = "zqkeyb";
inline constexpr std::string_view kValueA = "zqvala";
inline constexpr std::string_view kValueB = "zqvalb";
inline constexpr std::string_view kOddRaw = R"(zq"w\v)";
inline constexpr std::string_view kOddJson = R"(zq\"w\\v)";

struct ProbeCall {
  std::string name;
  std::string id;
  Json arguments = Json::object();
};

inline const ProbeCall& CallA() {
  static const auto* const call = new ProbeCall{"zqnamea", "zqidaaaa1", {{kKeyA, kValueA}}};
  return *call;
}
inline const ProbeCall& CallB() {
  static const auto* const call = new ProbeCall{"zqnameb", "zqidbbbb2", {{kKeyB, kValueB}}};
  return *call;
}

inline Tools ProbeTools() {
  Json tools = Json::array();
  for (const ProbeCall* call : {&CallA(), &CallB()}) {
    const Json text = {{"type", "string"}};
    const Json parameters = {{"type", "object"}, {"properties", {{kKeyA, text}, {kKeyB, text}}}};
    const Json function = {
        {"name", call->name}, {"description", "A tool."}, {"parameters", parameters}};
    tools.push_back({{"type", "function"}, {"function", function}});
  }
  return Tools(std::move(tools));
}

}  // namespace cairn::probe

#endif  // CAIRN_CHAT_LEARN_CALL_PROBES_H_
