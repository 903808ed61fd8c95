#include "cmd/flags_page.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "cmd/manual.h"

namespace cairn {
namespace {

// As a cell of a table has it.
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

std::string Names(const CLI::Option& option) {
  if (!option.nonpositional()) return "`" + option.get_name() + "`";
  std::string names;
  const auto add = [&](const std::string& name) {
    names += (names.empty() ? "`" : ", `") + name + "`";
  };
  for (const std::string& name : option.get_snames()) add("-" + name);
  for (const std::string& name : option.get_lnames()) add("--" + name);
  return names;
}

std::string Row(const CLI::Option& option) {
  std::string row = "| " + Names(option) + " | " + Cell(option.get_description());
  if (option.get_required()) row += " (required)";
  row += " | ";
  if (!option.get_default_str().empty()) row += "`" + option.get_default_str() + "`";
  return row + " |\n";
}

std::vector<std::string> Headings(const CLI::App& app) {
  std::vector<std::string> headings;
  for (const CLI::Option* option : ShownOptions(app)) {
    const std::string& heading = option->get_group();
    if (std::find(headings.begin(), headings.end(), heading) == headings.end()) {
      headings.push_back(heading);
    }
  }
  return headings;
}

std::string Section(const ManualCommand& command) {
  std::string text = "\n## " + command.way + "\n\n" + command.app->get_description() + "\n";
  for (const std::string& heading : Headings(*command.app)) {
    text += "\n### " + heading + "\n\n| flag | what it does | default |\n| --- | --- | --- |\n";
    for (const CLI::Option* option : ShownOptions(*command.app)) {
      if (option->get_group() == heading) text += Row(*option);
    }
  }
  if (const std::string footer = command.app->get_footer(); !footer.empty()) {
    text += "\n```\n" + footer.substr(footer.find_first_not_of('\n'));
    if (footer.back() != '\n') text += "\n";
    text += "```\n";
  }
  return text;
}

}  // namespace

std::string FlagsPage(const CLI::App& app) {
  std::string text =
      "# Flags\n\nEvery command and what it takes, written by the program from its own flags\n"
      "(`cairn manual FOLDER`); a test holds this page to them. Flags that llama-server has too\n"
      "keep its names.\n";
  for (const ManualCommand& command : ManualCommands(app)) text += Section(command);
  return text;
}

}  // namespace cairn
