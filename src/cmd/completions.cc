#include "cmd/completions.h"

#include <CLI/CLI.hpp>
#include <vector>

#include "cmd/manual.h"

namespace cairn {
namespace {

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
