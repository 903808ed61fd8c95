#include "cmd/flags_page.h"

#include <CLI/CLI.hpp>

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

}  // namespace cairn
