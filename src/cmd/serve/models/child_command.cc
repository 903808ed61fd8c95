#include "cmd/serve/models/child_command.h"

#include <initializer_list>

#include "api/json.h"
#include "base/process/spawn.h"
#include "cmd/serve/base/routed_child.h"
#include "fleet/router/children/cache_shares.h"

namespace cairn {
namespace {

std::string JoinKeys(std::vector<std::string> keys, const Environment& environment,
                     std::initializer_list<const char*> variables) {
  for (const char* name : variables) {
    const auto found = environment.find(name);
    if (found != environment.end() && !found->second.empty()) keys.push_back(found->second);
  }
  std::string joined;
  for (const std::string& key : keys) joined += (joined.empty() ? "" : ",") + key;
  return joined;
}

bool IsPassedOn(const std::string& name) {
  return !name.starts_with("LLAMA_ARG_") && !name.starts_with("CAIRN_ROUTER_") &&
         !name.starts_with("AIP_") && name != "CAIRN_API_KEY" && name != "LLAMA_API_KEY" &&
         name != "CAIRN_API_KEY_ADMIN";
}

}  // namespace

ChildCommand CommandOf(const ModelEntry& model, size_t number, int64_t cache_ram_mib,
                       const ServeOptions& options, const Environment& environment) {
  ChildCommand command;
  command.argv = {OwnProgram()};
  command.argv.insert(command.argv.end(), model.arguments.begin(), model.arguments.end());
  if (!HasOwnBudget(model)) {
    command.argv.push_back("--cache-ram=" + std::to_string(cache_ram_mib));
  }
  command.argv.insert(command.argv.end(), {"--host=127.0.0.1", "--port=0"});
  if (!options.api_key_file.empty()) {
    command.argv.push_back("--api-key-file=" + options.api_key_file);
  }
  for (const auto& [name, value] : environment) {
    if (IsPassedOn(name)) command.environment.push_back(name + "=" + value);
  }
  const std::string keys =
      JoinKeys(options.api_keys, environment, {"CAIRN_API_KEY", "LLAMA_API_KEY"});
  if (!keys.empty()) command.environment.push_back("CAIRN_API_KEY=" + keys);
  const std::string admins = JoinKeys(options.admin_keys, environment, {"CAIRN_API_KEY_ADMIN"});
  if (!admins.empty()) command.environment.push_back("CAIRN_API_KEY_ADMIN=" + admins);
  for (std::string& variable : RoutedChildVariables(number)) {
    command.environment.push_back(std::move(variable));
  }
  return command;
}

std::string PrefixedLine(LogFormat format, const std::string& model, std::string_view line) {
  if (format != LogFormat::kJson || !line.starts_with('{') || line.size() < 3) {
    return "[" + model + "] " + std::string(line);
  }
  return "{\"model\":" + ToText(Json(model)) + "," + std::string(line.substr(1));
}

}  // namespace cairn
