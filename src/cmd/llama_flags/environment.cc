#include "cmd/llama_flags/environment.h"

#include <unistd.h>

#include <CLI/CLI.hpp>

#include "cmd/llama_flags/llama_flag_table.h"

namespace cairn {

Environment ProcessEnvironment() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text(*entry);
    const size_t equals = text.find('=');
    if (equals != std::string::npos)
      environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

void NameEnvironmentFlags(CLI::App* serve) {
  for (const LlamaFlag& flag : OwnLlamaFlags().flags()) {
    // Other variables are not read here: LLAMA_API_KEY is no flag's alone.
    if (!flag.variable.starts_with(kFlagVariablePrefix) || flag.option().empty()) continue;
    CLI::Option* const option = serve->get_option_no_throw(flag.option());
    if (option != nullptr && option->get_envname().empty()) option->envname(flag.variable);
  }
}

std::string EnvironmentNote(const CLI::Option& option) {
  return option.get_envname().empty() ? "" : ", env: " + option.get_envname();
}

}  // namespace cairn
