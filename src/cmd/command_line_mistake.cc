#include "cmd/command_line_mistake.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string_view>
#include <utility>

#include "base/nearest_word.h"
#include "base/text.h"
#include "cmd/llama_flags/llama_flag_table.h"
#include "cmd/manual.h"
#include "cmd/serve/base/key_flags.h"

namespace cairn {
namespace {

constexpr const char* kServeAModel = "to serve a model: cairn serve -m ";

// A name that people know from another program, and ours.
struct OtherName {
  std::string_view typed;
  std::string_view here;
};
constexpr std::array kOtherCommands = {OtherName{"run", "serve"}, OtherName{"start", "serve"},
                                       OtherName{"help", "--help"},
                                       OtherName{"version", "--version"}};
constexpr std::array kOtherFlags = {
    OtherName{"--context", "--ctx-size"},        OtherName{"--context-size", "--ctx-size"},
    OtherName{"--context-length", "--ctx-size"}, OtherName{"--n-ctx", "--ctx-size"},
    OtherName{"--max-model-len", "--ctx-size"},  OtherName{"--max-tokens", "--predict"},
    OtherName{"--served-model-name", "--alias"},
};

std::string_view HereOf(std::string_view typed, std::span<const OtherName> names) {
  for (const OtherName& name : names) {
    if (name.typed == typed) return name.here;
  }
  return "";
}

// The deepest command that the arguments reach, and the arguments behind its name.
struct Reached {
  const CLI::App* app = nullptr;
  std::string way;
  std::vector<std::string> rest;

  bool needs_command() const { return app->get_require_subcommand_min() > 0; }
};

Reached Reach(const CLI::App& app, const std::vector<std::string>& arguments) {
  Reached reached{&app, app.get_name(), {}};
  size_t next = 0;
  for (; next < arguments.size(); ++next) {
    const CLI::App* const sub = reached.app->get_subcommand_no_throw(arguments[next]);
    if (sub == nullptr) break;
    reached.app = sub;
    reached.way += " " + arguments[next];
  }
  reached.rest.assign(arguments.begin() + static_cast<ptrdiff_t>(next), arguments.end());
  return reached;
}

bool IsModelFile(std::string_view word) {
  return word.ends_with(".gguf");
}

std::string FlagIn(const std::string& word) {
  return word.substr(0, word.find('='));
}

std::string WithoutDashes(std::string_view flag) {
  return std::string(flag.substr(std::min(flag.find_first_not_of('-'), flag.size())));
}

bool Knows(const CLI::App& app, const std::string& flag) {
  if (app.get_name() == kServeCommand && OwnLlamaFlags().Find(flag).flag != nullptr) return true;
  return app.get_option_no_throw(SpellOutShortFlags({flag}).front()) != nullptr;
}

// The long names of llama-server's flags, without dashes.
std::vector<std::string> NamesOfLlamaServer() {
  std::vector<std::string> names;
  for (const LlamaFlag& flag : OwnLlamaFlags().flags()) {
    for (const LlamaFlag::Spelling& spelling : flag.spellings) {
      if (spelling.name.starts_with("--")) names.push_back(WithoutDashes(spelling.name));
    }
  }
  return names;
}

// The flag of the command that is nearest to the mistyped one; empty if none is near.
std::string NearestFlag(const CLI::App& app, const std::string& flag) {
  std::vector<std::string> names;
  for (const CLI::Option* option : ShownOptions(app)) {
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  }
  if (app.get_name() == kServeCommand) {
    for (std::string& name : NamesOfLlamaServer()) names.push_back(std::move(name));
  }
  const std::string nearest = NearestWord(WithoutDashes(flag), names);
  return nearest.empty() ? "" : "--" + nearest;
}

// Returns the text behind the name of an unknown flag; it may be empty.
std::string HintOf(const CLI::App& app, const std::string& flag) {
  const bool serves = app.get_name() == kServeCommand;
  std::string meant(serves ? HereOf(flag, kOtherFlags) : "");
  // One dash before a long name would be a row of short flags.
  if (meant.empty() && Knows(app, "-" + flag)) meant = "-" + flag;
  if (meant.empty() && flag.starts_with("--") && Knows(app, flag.substr(1))) meant = flag.substr(1);
  if (meant.empty()) meant = NearestFlag(app, flag);
  return DidYouMean(meant);
}

std::string OfFlag(const CLI::App& app, const std::string& flag) {
  return "there is no flag " + flag + HintOf(app, flag);
}

std::vector<std::string> CommandsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : ShownSubcommands(app)) names.push_back(sub->get_name());
  return names;
}

// A flag where a command must be.
std::string OfFlagBeforeCommand(const Reached& reached, const std::string& flag) {
  for (const CLI::App* sub : ShownSubcommands(*reached.app)) {
    if (!Knows(*sub, flag)) continue;
    const std::string way = reached.way + " " + sub->get_name();
    return flag + " is a flag of " + way + DidYouMean(way + " " + flag + " …");
  }
  const CLI::App* const serve = reached.app->get_subcommand_no_throw(std::string(kServeCommand));
  return OfFlag(serve != nullptr ? *serve : *reached.app, flag);
}

std::string OfCommand(const Reached& reached) {
  const std::vector<std::string> commands = CommandsOf(*reached.app);
  const std::string list = "the commands are " + JoinNames(commands);
  // Other programs of ours, such as cairn-lab, serve no model.
  const bool serves = reached.app->get_subcommand_no_throw(std::string(kServeCommand)) != nullptr;
  if (reached.rest.empty()) {
    return "a command is missing: " + list +
           (serves ? "; " + std::string(kServeAModel) + "model.gguf" : "");
  }
  const std::string& word = reached.rest.front();
  if (IsFlagWord(word)) return OfFlagBeforeCommand(reached, FlagIn(word));
  if (serves && IsModelFile(word)) return kServeAModel + word;
  std::string meant(serves ? HereOf(word, kOtherCommands) : "");
  if (meant.empty()) meant = NearestWord(word, commands);
  return "there is no command '" + word + "'" +
         (meant.empty() ? "; " + list : DidYouMean(reached.way + " " + meant));
}

// Returns the mistake in the arguments of a command that was found; empty if it is not known.
std::string OfArguments(const Reached& reached) {
  for (const std::string& word : reached.rest) {
    const std::string flag = FlagIn(word);
    const bool has_one_dash = IsFlagWord(flag) && flag[1] != '-' && flag.size() > 2;
    if (has_one_dash && !Knows(*reached.app, flag) && Knows(*reached.app, "-" + flag)) {
      return OfFlag(*reached.app, flag);
    }
  }
  const std::vector<std::string> left = reached.app->remaining();
  for (const std::string& word : left) {
    if (IsFlagWord(word)) return OfFlag(*reached.app, FlagIn(word));
  }
  if (reached.app->get_name() != kServeCommand) return "";
  const auto model = std::find_if(left.begin(), left.end(), IsModelFile);
  if (model == left.end()) return "";
  return *model + " follows no flag" + DidYouMean(reached.way + " -m " + *model);
}

// A value that is none of those that its flag takes, as CLI::IsMember says it.
std::string HintOfValue(std::string_view complaint) {
  constexpr std::string_view kNotIn = " not in {";
  const size_t list = complaint.find(kNotIn);
  const size_t end = complaint.find('}', list);
  if (list == std::string_view::npos || end == std::string_view::npos) return "";
  const size_t space = complaint.rfind(' ', list - 1);
  const size_t begin = space == std::string_view::npos ? 0 : space + 1;
  const std::string_view value = complaint.substr(begin, list - begin);
  std::vector<std::string> known;
  for (size_t at = list + kNotIn.size(); at < end;) {
    const size_t comma = std::min(complaint.find(',', at), end);
    known.emplace_back(complaint.substr(at, comma - at));
    at = comma + 1;
  }
  return DidYouMean(value, known);
}

}  // namespace

std::string CommandLineMistake(const CLI::App& app, const std::vector<std::string>& arguments,
                               const CLI::Error& error) {
  const Reached reached = Reach(app, arguments);
  std::string why = reached.needs_command() ? OfCommand(reached) : OfArguments(reached);
  if (why.empty()) why = error.what() + HintOfValue(error.what());
  const std::string page = reached.app->get_name() == kServeCommand ? "docs/flags.md and " : "";
  return reached.way + ": " + HideKeys(std::move(why), arguments) + " (see " + page + reached.way +
         " --help)";
}

}  // namespace cairn
