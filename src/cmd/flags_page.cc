#include "cmd/flags_page.h"

#include <CLI/CLI.hpp>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "cmd/llama_flags/environment.h"
#include "cmd/manual.h"

namespace cairn {
namespace {

// Escapes a text for a table cell.
std::string Cell(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '|':
        safe += "\\|";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '*':
        safe += "\\*";
        break;
      case '\n':
        safe += "<br>";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string FlagNames(const CLI::Option& option) {
  if (!option.nonpositional()) return "`" + option.get_name() + "`";
  std::string names;
  for (const std::string& flag : FlagsOf(option))
    names += (names.empty() ? "`" : ", `") + flag + "`";
  return names;
}

std::string OptionRow(const CLI::Option& option) {
  std::string row = "| " + FlagNames(option) + " | " + Cell(option.get_description());
  if (option.get_required()) row += " (required)";
  row += EnvironmentNote(option) + " | ";
  if (!option.get_default_str().empty()) row += "`" + option.get_default_str() + "`";
  return row + " |\n";
}

std::string Section(const ManualCommand& command) {
  std::string text = "\n## " + command.way + "\n\n" + command.app->get_description() + "\n";
  for (const OptionsUnder& under : OptionsByHeading(*command.app)) {
    text +=
        "\n### " + under.heading + "\n\n| flag | what it does | default |\n| --- | --- | --- |\n";
    for (const CLI::Option* option : under.options) text += OptionRow(*option);
  }
  if (const std::string footer = command.app->get_footer(); !footer.empty()) {
    text += "\n```\n" + footer.substr(footer.find_first_not_of('\n'));
    if (footer.back() != '\n') text += "\n";
    text += "```\n";
  }
  return text;
}

}  // namespace

std::string FlagsPage(const CLI::App& app, const std::string& heading) {
  std::string text = heading;
  for (const ManualCommand& command : ManualCommands(app)) text += Section(command);
  return text;
}

std::string_view LlamaDifferencesText();  // llama_differences.md

namespace {

constexpr const char* kHeading =
    "# From llama-server\n"
    "\n"
    "A command line of llama-server 0.7.0 starts `cairn serve` as it is: `llama-server -m "
    "model.gguf\n"
    "--jinja -ngl 99` becomes `cairn serve -m model.gguf --jinja -ngl 99`. `cairn manual FOLDER` "
    "makes\n"
    "this page of the table that the program reads its flags by, and tests compare both. The same\n"
    "table is asked for the variables of the environment (`LLAMA_ARG_CTX_SIZE=4096`) and for the "
    "keys\n"
    "of presets ([models.md](models.md)). All flags of ours are in [flags.md](flags.md). What "
    "else\n"
    "differs is [below](#other-differences).\n"
    "\n"
    "What becomes of a flag:\n"
    "\n"
    "- **same**: it does what it does there.\n"
    "- **differs**: it works; the last column says what differs.\n"
    "- **always**: what it asks for is always so. The log says it once.\n"
    "- **no effect**: it changes speed, memory or the log, not answers. It is accepted, and one "
    "line\n"
    "  of the log says that it has no effect.\n"
    "- **refused**: the start ends with one line that says why.\n"
    "\n"
    "Two flags that contradict one another (`--mmap --no-mmap`) end the start with a line that "
    "names\n"
    "both; llama-server takes the last one. A flag of one value that is given twice does so too.\n";

std::string TableCell(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '|') safe += '\\';
    safe += c;
  }
  return safe;
}

std::string Spellings(const LlamaFlag& flag) {
  std::string text;
  for (const LlamaFlag::Spelling& spelling : flag.spellings) {
    text += (text.empty() ? "`" : ", `") + spelling.name + "`";
  }
  return text;
}

std::string FateOf(const LlamaFlag& flag) {
  constexpr std::array<std::pair<LlamaFate, const char*>, 5> kNames = {{
      {LlamaFate::kSame, "same"},
      {LlamaFate::kDiffers, "differs"},
      {LlamaFate::kAlways, "always"},
      {LlamaFate::kTunes, "no effect"},
      {LlamaFate::kRefused, "refused"},
  }};
  for (const auto& [fate, name] : kNames) {
    if (fate == flag.fate) return name;
  }
  return "";
}

// Returns the flag's name here, and the table's note.
std::string Remarks(const LlamaFlag& flag) {
  std::string text;
  const auto add = [&text](const std::string& more) { text += (text.empty() ? "" : "; ") + more; };
  bool has_own_name = false;
  for (const LlamaFlag::Spelling& spelling : flag.spellings) {
    has_own_name = has_own_name || spelling.name == flag.here;
  }
  if (flag.works() && !flag.here.starts_with('@') && !has_own_name) add("`" + flag.here + "`");
  if (!flag.note.empty()) add(flag.note);
  if (flag.fate == LlamaFate::kAlways && flag.spellings.back().negates) {
    add("`" + flag.negation() + "` has no effect");
  }
  if (flag.fate == LlamaFate::kRefused && flag.spellings.back().negates) {
    add("`" + flag.negation() + "` is always so");
  }
  return text;
}

std::string FlagRow(const LlamaFlag& flag) {
  std::string row = "| " + Spellings(flag) + " | ";
  row += flag.variable.empty() ? "" : "`" + flag.variable + "`";
  return row + " | " + FateOf(flag) + " | " + TableCell(Remarks(flag)) + " |\n";
}

}  // namespace

std::string LlamaFlagsPage(const LlamaFlagTable& table) {
  std::string text = kHeading;
  std::string section;
  for (const LlamaFlag& flag : table.flags()) {
    if (flag.section != section) {
      section = flag.section;
      text += "\n## " + section +
              "\n\n| flag | variable | what becomes of it | remarks |\n| --- | --- | --- | --- |\n";
    }
    text += FlagRow(flag);
  }
  text += LlamaDifferencesText();
  return text;
}

}  // namespace cairn
