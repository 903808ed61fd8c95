#include "cmd/llama_command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/nearest_word.h"
#include "cmd/llama_flags/llama_flag_table.h"
#include "cmd/llama_flags/llama_translation.h"
#include "cmd/serve/base/serve_options.h"
#include "cmd/serve/serve.h"

namespace cairn {
namespace {

constexpr std::string_view kFlashAttention = "--flash-attn";
constexpr std::string_view kPerSlotContext = "--ctx-size*slots";

// Two flags that cannot both be meant, by their names here, or with their values.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kContradictions = {{
    {"--chat-template", "--chat-template-file"},
    {"--grammar", "--grammar-file"},
    {"--json-schema", "--json-schema-file"},
    {"--cpu-moe", "--n-cpu-moe"},
    {"--log-level=error", "--verbose"},
}};

std::string NameIn(const std::string& word) {
  return word.substr(0, word.find('='));
}

// llama-server reads --ctx_size as --ctx-size. A value behind = keeps its underscores.
std::string WithDashes(std::string word) {
  if (!word.starts_with("--")) return word;
  const auto end = word.begin() + static_cast<std::ptrdiff_t>(NameIn(word).size());
  std::replace(word.begin(), end, '_', '-');
  return word;
}

class LineReader {
 public:
  LineReader(const CLI::App& serve, const std::vector<std::string>& words)
      : serve_(serve), words_(words) {}

  Result<LlamaLine> Read() {
    line_.arguments.emplace_back(kServeCommand);
    for (next_ = 1; next_ < words_.size();) {
      const std::string word = WithDashes(words_[next_++]);
      const LlamaFlagTable::Found found = OwnLlamaFlags().Find(NameIn(word));
      Status read;
      if (found.flag != nullptr) {
        read = ReadLlamaFlag(word, found);
      } else {
        read = ReadOther(word);
      }
      if (!read) return tl::unexpected(read.error());
    }
    AddDefaults();
    if (Status checked = CheckContradictions(); !checked) return tl::unexpected(checked.error());
    return std::move(line_);
  }

 private:
  // A flag that is only ours, or something else. It keeps its values, which may look like flags.
  Status ReadOther(const std::string& word) {
    line_.arguments.push_back(word);
    if (!IsFlagWord(word)) return {};
    const std::string name = NameIn(word);
    const bool is_row = name[1] != '-' && name.size() > 2;
    const CLI::Option* const option = is_row ? nullptr : serve_.get_option_no_throw(name);
    if (is_row && IsKnown("-" + name)) {
      return Fail(ErrorCode::kInvalidArgument, "there is no flag " + name + DidYouMean("-" + name));
    }
    if (option == nullptr) return {};
    given_.emplace(name, word);
    if (name.size() < word.size()) return {};
    for (int taken = 0; taken < option->get_items_expected_min(); ++taken) {
      if (next_ < words_.size()) line_.arguments.push_back(words_[next_++]);
    }
    return {};
  }

  Status ReadLlamaFlag(const std::string& word, const LlamaFlagTable::Found& found) {
    LlamaUse use{found.flag, NameIn(word), found.negates, {}};
    if (Status taken = TakeValues(word, &use); !taken) return taken;
    const auto [before, is_new] =
        spelled_.emplace(found.flag, std::pair(use.spelling, use.negates));
    if (!is_new && before->second.second != use.negates) {
      return Contradiction(before->second.first, use.spelling);
    }
    auto meaning = TranslateLlamaFlag(use);
    if (!meaning) return tl::unexpected(meaning.error());
    for (const std::string& argument : meaning->arguments) {
      if (Status taken = TakeArgument(argument, use.spelling); !taken) return taken;
    }
    for (std::string& argument : meaning->defaults) {
      defaults_.emplace_back(std::move(argument), use.spelling);
    }
    if (!meaning->instead.empty()) line_.instead = meaning->instead;
    if (meaning->is_always_so) Note(use.spelling, &line_.notes.always);
    if (!meaning->note.empty()) Note(meaning->note, &line_.notes.lines);
    return {};
  }

  Status TakeArgument(const std::string& argument, const std::string& spelling) {
    const std::string name = NameIn(argument);
    const auto before = given_.emplace(name, spelling).first;
    const bool is_off = argument == name + "=false";
    if (is_off || argument == name) {
      const auto [was_off, is_first] = switched_off_.emplace(name, is_off);
      if (!is_first && was_off->second != is_off) return Contradiction(before->second, spelling);
      if (!is_first) return {};
    }
    given_.emplace(argument, spelling);  // with its value
    line_.arguments.push_back(argument);
    return {};
  }

  Status TakeValues(const std::string& word, LlamaUse* use) {
    const size_t wanted = use->flag->values.size();
    if (const size_t equals = word.find('='); equals != std::string::npos) {
      const std::string value = word.substr(equals + 1);
      if (wanted > 0) {
        use->values.push_back(value);
      } else if (const auto is = ParseSwitchWord(value)) {
        use->negates = use->negates != !*is;
      } else {
        return Fail(ErrorCode::kInvalidArgument,
                    use->spelling + " takes no value, or true or false, not '" + value + "'");
      }
    }
    while (use->values.size() < wanted) {
      // Without a value it turned flash attention on in older versions.
      const bool is_bare = use->flag->here == kFlashAttention &&
                           (next_ == words_.size() || IsFlagWord(words_[next_]));
      if (is_bare) {
        use->values.emplace_back("on");
      } else if (next_ < words_.size()) {
        use->values.push_back(words_[next_++]);
      } else {
        return Fail(ErrorCode::kInvalidArgument,
                    use->spelling + " needs " +
                        (wanted == 1 ? "a value" : std::to_string(wanted) + " values") +
                        " behind it");
      }
    }
    return {};
  }

  bool IsKnown(const std::string& name) const {
    return serve_.get_option_no_throw(name) != nullptr ||
           OwnLlamaFlags().Find(name).flag != nullptr;
  }

  static void Note(const std::string& text, std::vector<std::string>* texts) {
    if (std::find(texts->begin(), texts->end(), text) == texts->end()) texts->push_back(text);
  }

  // Adds the settings of flags such as --fim-qwen-7b-default that nothing else gave.
  void AddDefaults() {
    for (const auto& [argument, spelling] : defaults_) {
      const std::string name = NameIn(argument);
      if (name == kPerSlotContext) {
        AddContextOfSlots(argument.substr(name.size() + 1));
      } else if (given_.emplace(name, spelling).second) {
        given_.emplace(argument, spelling);
        line_.arguments.push_back(argument);
      }
    }
  }

  // The translation of --kv-unified-per-slot has found that `text` is a number.
  void AddContextOfSlots(const std::string& text) {
    int64_t tokens = 0;
    std::from_chars(text.data(), text.data() + text.size(), tokens);
    int64_t slots = -1;
    for (const std::string& argument : line_.arguments) {
      const std::string name = NameIn(argument);
      if (name != "--parallel" || name.size() == argument.size()) continue;
      std::from_chars(argument.data() + name.size() + 1, argument.data() + argument.size(), slots);
    }
    if (slots < 1) slots = static_cast<int64_t>(kUsualSlots);
    if (!given_.emplace("--ctx-size", "--kv-unified-per-slot").second) return;
    line_.arguments.push_back("--ctx-size=" + std::to_string(tokens * slots));
  }

  static tl::unexpected<Error> Contradiction(const std::string& one, const std::string& other) {
    return Fail(ErrorCode::kInvalidArgument,
                one + " and " + other + " contradict one another; give one of them");
  }

  Status CheckContradictions() const {
    for (const auto& [one, other] : kContradictions) {
      const auto first = given_.find(std::string(one));
      const auto second = given_.find(std::string(other));
      if (first == given_.end() || second == given_.end()) continue;
      return Contradiction(first->second, second->second);
    }
    const auto off = given_.find("--reasoning=off");
    const std::string effort = "--reasoning-effort=";
    const auto wish = given_.lower_bound(effort);
    if (off == given_.end() || wish == given_.end() || !wish->first.starts_with(effort)) return {};
    const std::string level = wish->first.substr(effort.size());
    if (level == "none" || level == "default") return {};
    return Contradiction(off->second + " off", wish->second + " " + level);
  }

  const CLI::App& serve_;
  const std::vector<std::string>& words_;
  size_t next_ = 0;
  LlamaLine line_;
  std::vector<std::pair<std::string, std::string>> defaults_;  // arguments, and who stands for them
  // Our flags, and our flags with their values -> what was typed.
  std::map<std::string, std::string> given_;
  // The switches of ours that were given, and whether they were turned off.
  std::map<std::string, bool> switched_off_;
  // A flag -> its first spelling, and whether that negates it.
  std::map<const LlamaFlag*, std::pair<std::string, bool>> spelled_;
};

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

Result<LlamaLine> ReadLlamaFlags(const CLI::App& serve, const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front() != kServeCommand) {
    LlamaLine line;
    line.arguments = SpellOutShortFlags(arguments);
    return line;
  }
  return LineReader(serve, arguments).Read();
}

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
