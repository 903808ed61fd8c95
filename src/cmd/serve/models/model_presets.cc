#include "cmd/serve/models/model_presets.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "base/fs.h"
#include "base/nearest_word.h"
#include "base/text.h"
#include "cmd/llama_flags/llama_flag_table.h"
#include "cmd/llama_flags/llama_translation.h"
#include "cmd/serve/models/cached_models.h"
#include "cmd/serve/serve.h"
#include "cmd/serve/source/source_flags.h"
#include "fleet/router/presets/ini_file.h"

namespace cairn {
namespace {

constexpr std::string_view kAllModels = "*";

// Flags of the command line that are the router's own, and are not passed on.
constexpr std::array<std::string_view, 18> kRouterFlags = {
    "--host",          "--port",         "--api-key",       "--api-key-admin",
    "--api-key-file",  "--ssl-key-file", "--ssl-cert-file", "--insecure",
    "--cors-origin",   "--api-prefix",   "--max-streams",   "--models-dir",
    "--models-preset", "--models-max",   "--models-memory", "--models-autoload",
    "--models-ttl",    "--cache-ram"};
// Flags that only a section of one model may have.
constexpr std::array<std::string_view, 18> kFlagsOfOneModel = {"--control-vector",
                                                               "--control-vector-scaled",
                                                               "--control-vector-layer-range",
                                                               "--model",
                                                               "--hf-repo",
                                                               "--hf-file",
                                                               "--model-url",
                                                               "--alias",
                                                               "--tags",
                                                               "--mmproj",
                                                               "--mmproj-url",
                                                               "--spec-draft-hf",
                                                               "--lora",
                                                               "--lora-scaled",
                                                               "--trace-events",
                                                               "--trace-out",
                                                               "--kv-events-replay",
                                                               "--kv-events"};
// One of them says which model a section is about.
constexpr std::array<std::string_view, 3> kSources = {"--model", "--hf-repo", "--model-url"};

template <typename Names>
bool IsOneOf(std::string_view name, const Names& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string FlagName(const CLI::Option& option) {
  return option.get_lnames().empty() ? "" : "--" + option.get_lnames().front();
}

bool IsSwitch(const CLI::Option& option) {
  return option.get_items_expected_max() == 0 || !option.get_fnames().empty();
}

tl::unexpected<Error> WrongSection(const std::string& section, const std::string& what) {
  return Fail(ErrorCode::kInvalidArgument, "section [" + section + "]: " + what);
}

// The flags of one model while they are put together. A later value replaces an earlier one.
class Flags {
 public:
  void Set(const std::string& flag, std::vector<std::string> values) {
    values_[flag] = std::move(values);
  }
  bool Has(const std::string& flag) const { return values_.contains(flag); }
  std::vector<std::string> Arguments() const {
    std::vector<std::string> arguments = {"serve"};
    for (const auto& [flag, values] : values_) {
      for (const std::string& value : values) arguments.push_back(flag + "=" + value);
    }
    return arguments;
  }

 private:
  std::map<std::string, std::vector<std::string>> values_;
};

// Turns the keys of sections into flags and fields of entries.
class SectionReader {
 public:
  SectionReader() : serve_(AddServe(&app_, &options_)) {}

  Status Read(const IniSection& section, Flags* flags, ModelEntry* entry) {
    for (const auto& [key, value] : section.values) {
      if (Status read = ReadKey(section.name, key, value, flags, entry); !read) return read;
    }
    return {};
  }
  const std::set<std::string>& ignored() const { return ignored_; }

 private:
  Status ReadKey(const std::string& section, const std::string& key, const std::string& value,
                 Flags* flags, ModelEntry* entry) {
    const auto known = ReadRouterKey(section, key, value, entry);
    if (!known) return tl::unexpected(known.error());
    if (*known) return {};
    if (const LlamaFlagTable::Found found = FindLlamaFlag(key); found.flag != nullptr) {
      return ReadLlamaKey(section, {key, value}, found, flags);
    }
    const auto is = ParseSwitchWord(value);
    bool negated = false;
    const CLI::Option* const option = FindOption(key, &negated);
    if (option == nullptr) {
      return WrongSection(section, "there is no flag '" + key + "'" + DidYouMean(key, Names()));
    }
    const std::string flag = FlagName(*option);
    if (IsOneOf(flag, kRouterFlags) && flag != "--cache-ram") return OfRouter(section, key, flag);
    if (!IsSwitch(*option)) {
      flags->Set(flag, {value});
      return {};
    }
    if (!is)
      return WrongSection(section, "'" + key + "' must be true or false, not '" + value + "'");
    flags->Set(flag, {*is != negated ? "true" : "false"});
    return {};
  }

  // A key and its value.
  using Entry = std::pair<std::string, std::string>;

  // Finds the flag of "ctx-size", "c", "ngl", "no-mmap" or "LLAMA_ARG_CTX_SIZE" in llama-server.
  static LlamaFlagTable::Found FindLlamaFlag(const std::string& key) {
    const LlamaFlagTable& table = OwnLlamaFlags();
    if (const LlamaFlag* const flag = table.FindVariable(key)) return {flag, false};
    const LlamaFlagTable::Found found = table.Find("--" + key);
    return found.flag != nullptr ? found : table.Find("-" + key);
  }

  Status ReadLlamaKey(const std::string& section, const Entry& entry,
                      const LlamaFlagTable::Found& found, Flags* flags) {
    const auto& [key, value] = entry;
    LlamaUse use{found.flag, "'" + key + "'", found.negates, {}};
    const size_t wanted = found.flag->values.size();
    if (wanted == 0) {
      const auto is = ParseSwitchWord(value);
      if (!is)
        return WrongSection(section, "'" + key + "' must be true or false, not '" + value + "'");
      use.negates = found.negates == *is;
    } else if (value.empty()) {
      return WrongSection(section, "'" + key + "' needs a value");
    } else if (wanted == 1) {
      use.values = {value};
    } else {
      std::istringstream words(value);
      for (std::string word; words >> word;) use.values.push_back(word);
      if (use.values.size() != wanted) {
        return WrongSection(section, "'" + key + "' needs " + std::to_string(wanted) + " values");
      }
    }
    const auto meaning = TranslateLlamaFlag(use);
    if (!meaning) return WrongSection(section, meaning.error().message);
    const bool serves = meaning->instead.empty() && found.flag->here != "@help";
    if (!serves) return WrongSection(section, "'" + key + "' serves no model");
    if (meaning->is_always_so || !meaning->note.empty()) ignored_.insert(key);
    for (const std::string& argument : meaning->arguments) {
      if (Status set = SetArgument(section, {key, argument}, flags); !set) return set;
    }
    for (const std::string& argument : meaning->defaults) {
      const std::string name = argument.substr(0, argument.find('='));
      if (flags->Has(name) || IsOneOf(name, kRouterFlags)) continue;
      if (Status set = SetArgument(section, {key, argument}, flags); !set) return set;
    }
    return {};
  }

  // `entry` is the key and "--flag=value", or "--flag" for a switch that is on.
  Status SetArgument(const std::string& section, const Entry& entry, Flags* flags) {
    const auto& [key, argument] = entry;
    const size_t equals = argument.find('=');
    const CLI::Option* const option = serve_->get_option_no_throw(argument.substr(0, equals));
    if (option == nullptr) return WrongSection(section, "'" + key + "' has no effect in a preset");
    const std::string flag = FlagName(*option);
    if (IsOneOf(flag, kRouterFlags) && flag != "--cache-ram") return OfRouter(section, key, flag);
    flags->Set(flag, {equals == std::string::npos ? "true" : argument.substr(equals + 1)});
    return {};
  }

  static tl::unexpected<Error> OfRouter(const std::string& section, const std::string& key,
                                        const std::string& flag) {
    return WrongSection(section,
                        "'" + key + "' is the router's, not a model's; give it as " + flag);
  }

  // Returns whether the key is the router's.
  static Result<bool> ReadRouterKey(const std::string& section, const std::string& key,
                                    const std::string& value, ModelEntry* entry) {
    if (key == "alias" || key == "LLAMA_ARG_ALIAS" || key == "a") {
      entry->aliases = NamesIn(value);
    } else if (key == "tags" || key == "LLAMA_ARG_TAGS") {
      entry->tags = NamesIn(value);
    } else if (key == "load-on-startup" || key == "pin") {
      const auto is = ParseSwitchWord(value);
      if (!is)
        return WrongSection(section, "'" + key + "' must be true or false, not '" + value + "'");
      (key == "pin" ? entry->pinned : entry->load_on_startup) = *is;
    } else if (key == "dedup-cache-models") {
      // So it is: a model of the presets is listed under its section's name alone.
      if (!ParseSwitchWord(value)) {
        return WrongSection(section, "'" + key + "' must be true or false, not '" + value + "'");
      }
    } else if (key == "stop-timeout" || key == "ttl") {
      const auto seconds = ParseNumber(value);
      if (!seconds && !(key == "ttl" && value == "-1")) {
        return WrongSection(section,
                            "'" + key + "' must be a number of seconds, not '" + value + "'");
      }
      const double time_s = seconds ? static_cast<double>(*seconds) : -1;
      (key == "ttl" ? entry->idle_s_max : entry->stop_timeout_s) = time_s;
    } else {
      return false;
    }
    return true;
  }

  // Finds a flag that only we have.
  const CLI::Option* FindOption(const std::string& key, bool* negated) const {
    for (const char* dashes : {"--", "-"}) {
      const std::string name = dashes + key;
      const CLI::Option* const option = serve_->get_option_no_throw(name);
      if (option == nullptr || option == serve_->get_help_ptr()) continue;
      const auto& negations = option->get_fnames();
      *negated = name.starts_with("--") && IsOneOf(name.substr(2), negations);
      return option;
    }
    return nullptr;
  }

  // The long names of all flags, without dashes.
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const CLI::Option* option : serve_->get_options()) {
      if (option->get_group().empty()) continue;
      names.insert(names.end(), option->get_lnames().begin(), option->get_lnames().end());
    }
    return names;
  }

  CLI::App app_;
  ServeOptions options_;
  const CLI::App* const serve_;
  std::set<std::string> ignored_;
};

Status CheckArguments(const ModelEntry& entry) {
  CLI::App app;
  ServeOptions options;
  AddServe(&app, &options);
  std::vector<std::string> arguments = entry.arguments;
  std::reverse(arguments.begin(), arguments.end());  // in the order that CLI11 expects
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return Fail(ErrorCode::kInvalidArgument, "model '" + entry.name + "': " + error.what());
  }
  return {};
}

Status CheckNames(const std::vector<ModelEntry>& models) {
  std::map<std::string, std::string> owners;
  for (const ModelEntry& model : models) owners[model.name] = model.name;
  for (const ModelEntry& model : models) {
    for (const std::string& alias : model.aliases) {
      const auto [owner, is_new] = owners.emplace(alias, model.name);
      if (!is_new) {
        return WrongSection(model.name,
                            "the alias '" + alias + "' is taken by '" + owner->second + "'");
      }
    }
  }
  return {};
}

Status CheckGiven(const std::vector<GivenFlag>& given) {
  for (const GivenFlag& one : given) {
    if (IsOneOf(one.flag, kFlagsOfOneModel)) {
      return Fail(ErrorCode::kInvalidArgument,
                  one.flag +
                      " is for one model; with --models-dir or --models-preset it belongs into the "
                      "model's section of the presets");
    }
  }
  return {};
}

// A model and its sources.
struct Source {
  const FoundModel* found = nullptr;
  const IniSection* section = nullptr;
};

std::string TextOf(const IniSection& section) {
  std::string text = "[" + section.name + "]\n";
  for (const auto& [key, value] : section.values) text.append(key + " = " + value + "\n");
  return text;
}

class ModelMaker {
 public:
  ModelMaker(const std::vector<GivenFlag>& given, const ServeOptions& options)
      : given_(given), options_(options) {}

  void SetSectionForAll(const IniSection* section) { for_all_ = section; }
  std::vector<std::string> ignored() const {
    return {reader_.ignored().begin(), reader_.ignored().end()};
  }

  Result<ModelEntry> Make(const std::string& name, const Source& source) {
    ModelEntry entry;
    entry.name = name;
    entry.source = source.section != nullptr ? "preset" : "models_dir";
    entry.idle_s_max = static_cast<double>(options_.models.ttl_s);
    // Time to save the cache, and some for the rest.
    constexpr double kBesideSavingS = 10;
    entry.stop_timeout_s = static_cast<double>(options_.shutdown_timeout_s) + kBesideSavingS;
    Flags flags;
    flags.Set("--alias", {name});
    if (source.found != nullptr) {
      flags.Set("--model", {source.found->path});
      if (!source.found->projector.empty()) flags.Set("--mmproj", {source.found->projector});
    }
    for (const IniSection* section : {for_all_, source.section}) {
      if (section == nullptr) continue;
      if (Status read = reader_.Read(*section, &flags, &entry); !read) {
        return tl::unexpected(read.error());
      }
    }
    if (source.section != nullptr) entry.preset = TextOf(*source.section);
    if (std::none_of(kSources.begin(), kSources.end(),
                     [&flags](std::string_view flag) { return flags.Has(std::string(flag)); })) {
      return WrongSection(
          name, "it names no model; it needs 'model' (a GGUF file), 'hf-repo' or 'model-url'");
    }
    for (const GivenFlag& one : given_) {
      if (!IsOneOf(one.flag, kRouterFlags)) flags.Set(one.flag, one.values);
    }
    entry.arguments = flags.Arguments();
    if (Status checked = CheckArguments(entry); !checked) return tl::unexpected(checked.error());
    return entry;
  }

 private:
  const std::vector<GivenFlag>& given_;
  const ServeOptions& options_;
  const IniSection* for_all_ = nullptr;
  SectionReader reader_;
};

}  // namespace

std::vector<GivenFlag> GivenFlags(const CLI::App& serve) {
  std::vector<GivenFlag> given;
  for (const CLI::Option* option : serve.get_options()) {
    if (option->count() == 0 || FlagName(*option).empty()) continue;
    given.push_back({FlagName(*option), option->results()});
  }
  return given;
}

Result<PresetModels> MakeModels(const std::vector<FoundModel>& found, std::string_view preset,
                                const std::vector<GivenFlag>& given, const ServeOptions& options) {
  if (Status checked = CheckGiven(given); !checked) return tl::unexpected(checked.error());
  const auto sections = ParseIni(preset);
  if (!sections) return tl::unexpected(sections.error());
  std::map<std::string, Source> sources;
  for (const FoundModel& model : found) sources[model.name].found = &model;
  ModelMaker maker(given, options);
  for (const IniSection& section : *sections) {
    if (section.name.empty()) {
      for (const auto& [key, value] : section.values) {
        if (key != "version")
          return WrongSection(std::string(kAllModels), "'" + key + "' stands before it");
      }
    } else if (section.name == kAllModels) {
      maker.SetSectionForAll(&section);
    } else {
      sources[section.name].section = &section;
    }
  }
  PresetModels made;
  size_t at_start = 0;
  for (const auto& [name, source] : sources) {
    auto entry = maker.Make(name, source);
    if (!entry) return tl::unexpected(entry.error());
    at_start += entry->load_on_startup ? 1 : 0;
    made.models.push_back(std::move(*entry));
  }
  if (options.models.models_max > 0 && at_start > options.models.models_max) {
    return Fail(ErrorCode::kInvalidArgument,
                std::to_string(at_start) + " models have load-on-startup, more than --models-max " +
                    std::to_string(options.models.models_max));
  }
  if (Status checked = CheckNames(made.models); !checked) return tl::unexpected(checked.error());
  made.ignored = maker.ignored();
  return made;
}

Result<PresetModels> ReadModels(const std::vector<GivenFlag>& given, const ServeOptions& options) {
  std::vector<FoundModel> found;
  if (!options.models.folder.empty()) {
    auto listed = ListModels(options.models.folder);
    if (!listed) return Fail(listed.error().code, "--models-dir: " + listed.error().message);
    found = std::move(*listed);
  }
  if (!options.models.cached.empty()) found = options.models.cached;
  std::string preset;
  if (!options.models.preset_file.empty()) {
    auto text = ReadFile(options.models.preset_file);
    if (!text) return Fail(text.error().code, "--models-preset " + text.error().message);
    preset = std::move(*text);
  }
  auto made = MakeModels(found, preset, given, options);
  if (!made && !options.models.preset_file.empty()) {
    return Fail(made.error().code, options.models.preset_file + ": " + made.error().message);
  }
  if (made && made->models.empty()) {
    return Fail(ErrorCode::kNotFound, "there is no model in " + (options.models.folder.empty()
                                                                     ? options.models.preset_file
                                                                     : options.models.folder));
  }
  return made;
}

}  // namespace cairn
