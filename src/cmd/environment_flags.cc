#include "cmd/environment_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "cmd/llama_flags/llama_flag_table.h"
#include "cmd/llama_flags/llama_translation.h"
#include "cmd/serve/serve.h"

namespace cairn {
namespace {

constexpr std::string_view kNegatedPrefix = "LLAMA_ARG_NO_";

// Returns the options of `serve` that the command line names, as far as its words show.
std::set<const CLI::Option*> NamedOptions(const CLI::App& serve,
                                          const std::vector<std::string>& arguments) {
  std::set<const CLI::Option*> named;
  for (const std::string& argument : arguments) {
    if (!argument.starts_with('-') || argument.size() < 2) continue;
    const bool is_long = argument.starts_with("--");
    const std::string name =
        is_long ? argument.substr(0, argument.find('=')) : argument.substr(0, 2);
    const CLI::Option* option = serve.get_option_no_throw(name);
    if (option != nullptr) named.insert(option);
  }
  return named;
}

// A variable as found, and its flag.
struct Given {
  std::string name;
  std::string value;
  const LlamaFlag* flag = nullptr;  // null: no flag of llama-server has this variable
  bool negates = false;             // it is LLAMA_ARG_NO_X for the flag of LLAMA_ARG_X
};

Given FindFlag(const std::string& name, const std::string& value) {
  Given given{name, value, OwnLlamaFlags().FindVariable(name)};
  if (given.flag != nullptr || !name.starts_with(kNegatedPrefix)) return given;
  given.flag = OwnLlamaFlags().FindVariable(std::string(kFlagVariablePrefix) +
                                            name.substr(kNegatedPrefix.size()));
  if (given.flag != nullptr && !given.flag->values.empty()) given.flag = nullptr;
  given.negates = given.flag != nullptr;
  return given;
}

Result<LlamaMeaning> MeaningOf(const Given& given) {
  LlamaUse use{given.flag, "environment variable " + given.name, given.negates, {}};
  use.values.assign(given.flag->values.size(), given.value);
  if (use.values.empty() && !given.negates) {
    const auto is = ParseSwitchWord(given.value);
    if (!is) {
      return Fail(ErrorCode::kInvalidArgument,
                  "environment variable " + given.name + " has the value '" + given.value +
                      "'; expected 1, true, on or enabled, or 0, false, off or disabled");
    }
    use.negates = !*is;
  }
  return TranslateLlamaFlag(use);
}

// Parses the arguments of one variable separately, so that an error can name it.
Status Try(const Given& given, std::vector<std::string> arguments) {
  const std::string flag = given.flag->option();
  const std::string which = flag.empty() ? "" : ", which is " + flag;
  CLI::App app;
  ServeOptions options;
  AddServe(&app, &options);
  arguments.insert(arguments.begin(), "serve");
  std::reverse(arguments.begin(), arguments.end());
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return Fail(ErrorCode::kInvalidArgument,
                "environment variable " + given.name + which + ": " + error.what());
  }
  return {};
}

}  // namespace

Result<EnvironmentArguments> ReadEnvironmentFlags(const Environment& environment,
                                                  const std::vector<std::string>& arguments) {
  EnvironmentArguments read;
  const auto is_help = [](const std::string& one) { return one == "--help" || one == "-h"; };
  const bool serves = !arguments.empty() && arguments.front() == "serve" &&
                      std::none_of(arguments.begin(), arguments.end(), is_help);
  if (!serves) return read;
  CLI::App app;
  ServeOptions options;
  const CLI::App* serve = AddServe(&app, &options);
  std::set<const CLI::Option*> named = NamedOptions(*serve, arguments);
  for (auto at = environment.lower_bound(std::string(kFlagVariablePrefix)); at != environment.end();
       ++at) {
    if (!at->first.starts_with(kFlagVariablePrefix)) break;
    const Given given = FindFlag(at->first, at->second);
    if (given.flag == nullptr || given.flag->fate == LlamaFate::kRefused) {
      read.notes.unknown_variables.push_back(given.name);
      continue;
    }
    if (given.value.empty()) continue;
    const auto option_of = [serve](const std::string& argument) {
      return serve->get_option_no_throw(argument.substr(0, argument.find('=')));
    };
    const auto is_named = [&](const std::string& argument) {
      return named.contains(option_of(argument));
    };
    if (is_named(given.flag->option())) continue;
    auto meaning = MeaningOf(given);
    if (!meaning) return tl::unexpected(meaning.error());
    const std::vector<std::string>& means = meaning->arguments;
    if (std::any_of(means.begin(), means.end(), is_named)) continue;
    if (!meaning->note.empty()) read.notes.lines.push_back(meaning->note);
    if (means.empty()) continue;
    if (Status tried = Try(given, means); !tried) return tl::unexpected(tried.error());
    for (const std::string& argument : means) named.insert(option_of(argument));
    read.arguments.insert(read.arguments.end(), means.begin(), means.end());
  }
  return read;
}

}  // namespace cairn
