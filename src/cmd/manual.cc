#include "cmd/manual.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <vector>

#include "cmd/flags_page.h"
#include "cmd/llama_flags/environment.h"

namespace cairn {
namespace {

constexpr const char* kFlagsHeading =
    "# Flags\n\n"
    "All commands and their flags. `cairn manual FOLDER` generates this page, and a test\n"
    "compares it with the program. All flags and environment variables of llama-server are taken\n"
    "too; [from_llama_server.md](from_llama_server.md) says what becomes of each. The command\n"
    "line overrides the environment.\n";

// Escapes a text for troff, so that no character is a command.
std::string Troff(const std::string& text) {
  std::string safe;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) safe += "\\&";
    line_begins = c == '\n';
    if (c == '\\') {
      safe += "\\e";
    } else if (c == '-') {
      safe += "\\-";
    } else {
      safe += c;
    }
  }
  return safe;
}

// "cairn model make" -> "cairn-model-make".
std::string PageName(std::string way) {
  std::replace(way.begin(), way.end(), ' ', '-');
  return way;
}

std::string TroffNames(const CLI::Option& option) {
  if (!option.nonpositional()) return "\\fI" + Troff(option.get_name()) + "\\fR";
  std::string names;
  for (const std::string& flag : FlagsOf(option)) {
    names += (names.empty() ? "\\fB" : ", \\fB") + Troff(flag) + "\\fR";
  }
  return names;
}

std::string OptionEntry(const CLI::Option& option) {
  std::string entry = ".TP\n" + TroffNames(option);
  if (option.nonpositional() && option.get_items_expected_max() > 0) {
    entry += " \\fI" + Troff(option.get_type_name()) + "\\fR";
  }
  entry += "\n" + Troff(option.get_description());
  if (option.get_required()) entry += " (required)";
  entry += Troff(EnvironmentNote(option));
  if (!option.get_default_str().empty()) {
    entry += " (default: " + Troff(option.get_default_str()) + ")";
  }
  return entry + "\n";
}

std::string Synopsis(const ManualCommand& command) {
  std::string text = ".SH SYNOPSIS\n.B " + Troff(command.way) + "\n[\\fIoptions\\fR]";
  for (const CLI::Option* option : ShownOptions(*command.app)) {
    if (!option->nonpositional()) text += " " + TroffNames(*option);
  }
  if (!ShownSubcommands(*command.app).empty()) text += " \\fIcommand\\fR ...";
  return text + "\n";
}

std::string Commands(const ManualCommand& command) {
  std::string text;
  for (const CLI::App* sub : ShownSubcommands(*command.app)) {
    if (text.empty()) text = ".SH COMMANDS\n";
    text += ".TP\n\\fB" + Troff(sub->get_name()) + "\\fR\n" + Troff(sub->get_description()) +
            ", see \\fB" + Troff(PageName(command.way + " " + sub->get_name())) + "\\fR(1)\n";
  }
  return text;
}

std::string Options(const CLI::App& app) {
  std::string text;
  for (const OptionsUnder& under : OptionsByHeading(app)) {
    text += text.empty() ? ".SH OPTIONS\n" : "";
    text += ".SS " + Troff(under.heading) + "\n";
    for (const CLI::Option* option : under.options) text += OptionEntry(*option);
  }
  return text;
}

std::string ManPage(const ManualCommand& command, const std::string& date) {
  const std::string name = PageName(command.way);
  // whatis(1) indexes one line without a full stop.
  std::string summary = command.app->get_description();
  while (!summary.empty() && summary.back() == '.') summary.pop_back();
  if (name == "cairn") summary = "an LLM server that never prefills the same prefix twice";
  std::string text = ".\\\" Made by the program from its own flags.\n.TH " + Troff(name) + " 1 \"" +
                     date + "\" \"cairn " CAIRN_VERSION "\" \"User Commands\"\n.SH NAME\n" +
                     Troff(name) + " \\- " + Troff(summary) + "\n" + Synopsis(command) +
                     ".SH DESCRIPTION\n" + Troff(command.app->get_description()) + "\n" +
                     Commands(command) + Options(*command.app);
  if (name != "cairn") text += ".SH SEE ALSO\n.BR cairn (1)\n";
  return text;
}

void Collect(const std::string& way, const CLI::App& app, std::vector<ManualCommand>* commands) {
  commands->push_back({way, &app});
  for (const CLI::App* sub : ShownSubcommands(app)) {
    Collect(way + " " + sub->get_name(), *sub, commands);
  }
}

bool WriteFile(const std::filesystem::path& path, const std::string& text) {
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (out.good()) return true;
  std::fprintf(stderr, "cairn manual: %s cannot be written\n", path.c_str());
  return false;
}

// The words that may follow a command.
struct Offer {
  std::string word;
  std::string description;
  bool takes_value = false;
  bool is_flag = false;
};

std::vector<Offer> Offers(const CLI::App& app) {
  std::vector<Offer> offers;
  for (const CLI::App* sub : ShownSubcommands(app)) {
    offers.push_back({sub->get_name(), sub->get_description()});
  }
  for (const CLI::Option* option : ShownOptions(app)) {
    const bool takes_value = option->get_items_expected_max() > 0;
    for (const std::string& flag : FlagsOf(*option)) {
      offers.push_back({flag, option->get_description(), takes_value, true});
    }
  }
  return offers;
}

// The words after the program's name: " model make"; empty for the program itself.
std::string WayBehind(const ManualCommand& command, const CLI::App& app) {
  return command.way.substr(app.get_name().size());
}

// Quotes a text with single quotes; `quote` is the shell's escape of one.
std::string ShellQuoted(const std::string& text, const std::string& quote) {
  std::string safe = "'";
  for (const char c : text) {
    if (c == '\'') {
      safe += quote;
    } else {
      safe += c == '\n' ? ' ' : c;
    }
  }
  return safe + "'";
}

// Returns the `offers` for which `wanted` is true, each after a space.
template <typename Wanted>
std::string OfferWords(const std::vector<Offer>& offers, Wanted wanted) {
  std::string words;
  for (const Offer& offer : offers) {
    if (wanted(offer)) words += " " + offer.word;
  }
  return words;
}

bool TakesValue(const Offer& offer) {
  return offer.takes_value;
}
bool IsAny(const Offer&) {
  return true;
}

// Returns the words of all commands but the program itself, each in double quotes.
std::string Ways(const CLI::App& app, const std::string& separator) {
  std::string ways;
  for (const ManualCommand& command : ManualCommands(app)) {
    const std::string way = WayBehind(command, app);
    if (way.empty()) continue;
    ways += (ways.empty() ? "\"" : separator + "\"") + way + "\"";
  }
  return ways.empty() ? "\" \"" : ways;
}

// An entry of zsh's _describe: a colon ends the word.
std::string Described(const Offer& offer) {
  std::string word;
  for (const char c : offer.word) word += (c == ':' ? "\\:" : std::string(1, c));
  return ShellQuoted(word + ":" + offer.description, "'\\''");
}

}  // namespace

std::vector<const CLI::App*> ShownSubcommands(const CLI::App& app) {
  return app.get_subcommands(
      [](const CLI::App* sub) { return !sub->get_name().empty() && !sub->get_group().empty(); });
}

std::vector<const CLI::Option*> ShownOptions(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return !option->get_group().empty(); });
}

std::vector<OptionsUnder> OptionsByHeading(const CLI::App& app) {
  std::vector<OptionsUnder> all;
  for (const CLI::Option* option : ShownOptions(app)) {
    const auto has = [&](const OptionsUnder& under) {
      return under.heading == option->get_group();
    };
    auto under = std::find_if(all.begin(), all.end(), has);
    if (under == all.end()) under = all.insert(all.end(), {option->get_group(), {}});
    under->options.push_back(option);
  }
  return all;
}

std::vector<std::string> FlagsOf(const CLI::Option& option) {
  std::vector<std::string> flags;
  for (const std::string& name : option.get_snames()) flags.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) flags.push_back("--" + name);
  return flags;
}

std::vector<ManualCommand> ManualCommands(const CLI::App& app) {
  std::vector<ManualCommand> commands;
  Collect(app.get_name(), app, &commands);
  return commands;
}

std::map<std::string, std::string> ManPages(const CLI::App& app, const std::string& date) {
  std::map<std::string, std::string> pages;
  for (const ManualCommand& command : ManualCommands(app)) {
    pages[PageName(command.way) + ".1"] = ManPage(command, date);
  }
  return pages;
}

CLI::App* AddManual(CLI::App* app, ManualOptions* options) {
  CLI::App* manual = app->add_subcommand("manual", "Write man pages and completions");
  manual->group("");
  manual->add_option("folder", options->folder, "Folder to write to")->required();
  manual->add_option("--date", options->date, "Date of the man pages, as 2026-08-01");
  return manual;
}

int RunManual(const CLI::App& app, const ManualOptions& options) {
  const std::filesystem::path folder(options.folder);
  for (const auto& [name, text] : ManPages(app, options.date)) {
    if (!WriteFile(folder / "man" / name, text)) return 1;
  }
  if (!WriteFile(folder / "flags.md", FlagsPage(app, kFlagsHeading))) return 1;
  if (!WriteFile(folder / "from_llama_server.md", LlamaFlagsPage(OwnLlamaFlags()))) return 1;
  const std::filesystem::path completions = folder / "completions";
  const bool written = WriteFile(completions / "cairn.bash", BashCompletion(app)) &&
                       WriteFile(completions / "_cairn", ZshCompletion(app)) &&
                       WriteFile(completions / "cairn.fish", FishCompletion(app));
  return written ? 0 : 1;
}

std::string BashCompletion(const CLI::App& app) {
  std::string text =
      "# bash completion for cairn; made by the program from its own flags.\n"
      "_cairn() {\n"
      "  local word=\"${COMP_WORDS[COMP_CWORD]}\" before=\"${COMP_WORDS[COMP_CWORD - 1]}\"\n"
      "  local way=\"\" offered=\"\" valued=\"\" i\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    case \"$way ${COMP_WORDS[i]}\" in\n"
      "      " +
      Ways(app, " | ") +
      ") way=\"$way ${COMP_WORDS[i]}\" ;;\n"
      "    esac\n"
      "  done\n"
      "  case \"$way\" in\n";
  for (const ManualCommand& command : ManualCommands(app)) {
    const std::vector<Offer> offers = Offers(*command.app);
    text += "    \"" + WayBehind(command, app) + "\") offered=\"" + OfferWords(offers, IsAny) +
            "\" valued=\"" + OfferWords(offers, TakesValue) + "\" ;;\n";
  }
  return text +
         "  esac\n"
         "  # A flag's value: a file, if anything.\n"
         "  [[ \"$valued \" == *\" $before \"* ]] && return\n"
         "  mapfile -t COMPREPLY < <(compgen -W \"$offered\" -- \"$word\")\n"
         "}\n"
         "complete -o default -F _cairn cairn\n";
}

std::string ZshCompletion(const CLI::App& app) {
  std::string text =
      "#compdef cairn\n"
      "# Made by the program from its own flags.\n"
      "local way=\"\" word found=1\n"
      "local -a commands flags valued\n"
      "for word in \"${(@)words[2,CURRENT-1]}\"; do\n"
      "  case \"$way $word\" in\n"
      "    (" +
      Ways(app, "|") +
      ") way=\"$way $word\" ;;\n"
      "  esac\n"
      "done\n"
      "case \"$way\" in\n";
  for (const ManualCommand& command : ManualCommands(app)) {
    const std::vector<Offer> offers = Offers(*command.app);
    std::string commands;
    std::string flags;
    for (const Offer& offer : offers) {
      (offer.is_flag ? flags : commands) += "    " + Described(offer) + "\n";
    }
    text += "  (\"" + WayBehind(command, app) + "\")\n  commands=(\n" + commands +
            "  )\n  flags=(\n" + flags + "  )\n  valued=(" + OfferWords(offers, TakesValue) +
            " ) ;;\n";
  }
  // _describe offers entries marked as flags only after a dash.
  return text +
         "esac\n"
         "if (( ! ${valued[(Ie)${words[CURRENT-1]}]} )); then\n"
         "  _describe command commands && found=0\n"
         "  _describe -o flag flags && found=0\n"
         "fi\n"
         "(( found )) && _files\n";
}

std::string FishCompletion(const CLI::App& app) {
  std::string text =
      "# fish completion for cairn; made by the program from its own flags.\n"
      "function __cairn_at\n"
      "  set -l way \"\"\n"
      "  set -l words (commandline -opc)\n"
      "  for word in $words[2..-1]\n"
      "    if contains -- \"$way $word\" " +
      Ways(app, " ") +
      "\n"
      "      set way \"$way $word\"\n"
      "    end\n"
      "  end\n"
      "  test \"$way\" = \"$argv[1]\"\n"
      "end\n";
  for (const ManualCommand& command : ManualCommands(app)) {
    const std::string head =
        "complete -c cairn -n '__cairn_at \"" + WayBehind(command, app) + "\"' ";
    for (const Offer& offer : Offers(*command.app)) {
      text += head;
      if (!offer.is_flag) {
        text += "-f -a " + offer.word;
      } else if (offer.word.starts_with("--")) {
        text += "-l " + offer.word.substr(2);
      } else {
        text += "-s " + offer.word.substr(1);
      }
      text += (offer.takes_value ? " -r" : "");
      text += " -d " + ShellQuoted(offer.description, "\\'") + "\n";
    }
  }
  return text;
}

}  // namespace cairn
