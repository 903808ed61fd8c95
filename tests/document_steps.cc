#include "document_steps.h"

#include <algorithm>
#include <array>
#include <optional>
#include <regex>
#include <sstream>

namespace cairn::documents {
namespace {

constexpr std::array<std::string_view, 7> kShown = {"text", "json", "toml", "yaml",
                                                    "ini",  "lisp", "jsonc"};
constexpr int kUsualPort = 8080;

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

std::vector<std::string_view> Lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

std::string_view WithoutComment(std::string_view line) {
  return Trimmed(line.substr(0, line.find(" #")));
}

Error At(size_t line, const std::string& what) {
  return {ErrorCode::kInvalidArgument, "line " + std::to_string(line) + ": " + what};
}

bool Serves(std::string_view line) {
  static const std::regex server(R"(^\s*([A-Z_]+=\S* )*(build/cairn serve|make serve)\b.*)");
  return std::regex_match(std::string(line), server) && line.find("--help") == line.npos;
}

int PortOf(const std::string& commands) {
  static const std::regex port(R"((?:--port |PORT=)([0-9]+))");
  std::smatch found;
  return std::regex_search(commands, found, port) ? std::stoi(found[1]) : kUsualPort;
}

// Sets `serves` and `port`. Returns false if the step has commands besides its server.
bool FindServer(Step* step) {
  size_t commands = 0;
  bool goes_on = false;
  for (const std::string_view line : Lines(step->commands)) {
    const std::string_view words = Trimmed(line);
    if (words.empty() || words.front() == '#') continue;
    if (!goes_on) ++commands;
    if (!goes_on && Serves(line)) step->serves = true;
    goes_on = words.back() == '\\';
  }
  if (step->serves) step->port = PortOf(step->commands);
  return !step->serves || commands == 1;
}

bool IsFence(std::string_view line) {
  return Trimmed(line).substr(0, 3) == "```";
}

// Reads a page line by line.
class Reader {
 public:
  Status Add(std::string_view line, size_t number) {
    if (IsFence(line)) return open_ ? Close() : Open(line, number);
    if (open_) {
      const size_t indent = std::min(indent_, line.size());
      text_.append(line.substr(Trimmed(line.substr(0, indent)).empty() ? indent : 0)) += '\n';
    } else if (line.substr(0, 3) == "## ") {
      ++section_;
    }
    return {};
  }

  Result<std::vector<Step>> Take() {
    if (open_) return tl::unexpected(At(begin_, "the block is not closed"));
    return std::move(steps_);
  }

 private:
  Status Open(std::string_view line, size_t number) {
    open_ = true;
    begin_ = number;
    indent_ = line.find('`');
    language_ = Trimmed(Trimmed(line).substr(3));
    text_.clear();
    const bool known = language_.empty() || language_ == "sh" ||
                       std::find(kShown.begin(), kShown.end(), language_) != kShown.end();
    if (!known) return tl::unexpected(At(number, "what is the language " + language_ + "?"));
    return {};
  }

  Status Close() {
    open_ = false;
    if (language_.empty() || language_ == "sh") {
      Step step{begin_, section_, text_, false, 0, ""};
      if (!FindServer(&step)) {
        return tl::unexpected(At(begin_, "a server needs a block of its own, as it does not end"));
      }
      steps_.push_back(std::move(step));
      follows_step_ = true;
    } else {
      const bool is_seen =
          language_ == "text" && follows_step_ && steps_.back().section == section_;
      if (is_seen) steps_.back().expected = text_;
      follows_step_ = false;
    }
    return {};
  }

  std::vector<Step> steps_;
  bool open_ = false, follows_step_ = false;
  size_t begin_ = 0, indent_ = 0, section_ = 0;
  std::string language_, text_;
};

bool IsDigit(char letter) {
  return letter >= '0' && letter <= '9';
}
bool IsSpace(char letter) {
  return letter == ' ' || letter == '\t' || letter == '\r';
}

// Returns the length of the number at the front of `text`: 12, 1,024, 0.5.
size_t NumberLength(std::string_view text) {
  size_t length = 0;
  while (length < text.size() && IsDigit(text[length])) ++length;
  while (length > 0 && length + 1 < text.size() && (text[length] == '.' || text[length] == ',') &&
         IsDigit(text[length + 1])) {
    for (++length; length < text.size() && IsDigit(text[length]);) ++length;
  }
  return length;
}

bool IsZero(std::string_view number) {
  return number.find_first_of("123456789") == std::string_view::npos;
}

size_t SpaceLength(std::string_view text) {
  return std::find_if_not(text.begin(), text.end(), IsSpace) - text.begin();
}

constexpr std::string_view kAnything = "…";

bool BeginsWith(std::string_view text, std::string_view wanted) {
  while (!wanted.empty()) {
    if (wanted.substr(0, kAnything.size()) == kAnything) {
      wanted.remove_prefix(kAnything.size());
      for (size_t skip = 0; skip <= text.size(); ++skip) {
        if (BeginsWith(text.substr(skip), wanted)) return true;
      }
      return false;
    }
    size_t here = 1, there = 1;
    if (const size_t digits = NumberLength(wanted); digits > 0) {
      there = digits;
      here = NumberLength(text);
      if (here == 0 || IsZero(text.substr(0, here)) != IsZero(wanted.substr(0, there)))
        return false;
    } else if (IsSpace(wanted.front())) {
      there = SpaceLength(wanted);
      here = SpaceLength(text);
      if (here == 0) return false;
    } else if (text.empty() || text.front() != wanted.front()) {
      return false;
    }
    text.remove_prefix(here);
    wanted.remove_prefix(there);
  }
  return true;
}

bool StandsIn(std::string_view line, std::string_view wanted) {
  for (size_t begin = 0; begin <= line.size(); ++begin) {
    // A number begins only at its first digit.
    if (begin > 0 && begin < line.size() && IsDigit(line[begin - 1]) && IsDigit(line[begin]))
      continue;
    if (BeginsWith(line.substr(begin), wanted)) return true;
  }
  return false;
}

std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin < text.size();) {
    begin += SpaceLength(text.substr(begin));
    const size_t end = std::min(text.find_first_of(" \t", begin), text.size());
    if (end > begin) words.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

// Returns the section of the flags pages on a command, "cairn cache ls"; nullopt: no such command.
std::optional<std::string_view> PartOf(const std::string& command, std::string_view flags_page) {
  const std::string heading = "\n## " + command + "\n";
  const size_t begin = flags_page.find(heading);
  if (begin == std::string_view::npos) return std::nullopt;
  const size_t end = flags_page.find("\n## ", begin + heading.size());
  return flags_page.substr(begin, end == std::string_view::npos ? end : end - begin);
}

// Finds `--flag` or (-f) in a table of flags, but not as the beginning of a longer flag.
bool HasFlag(std::string_view part, const std::string& flag) {
  for (size_t at = part.find(flag); at != part.npos; at = part.find(flag, at + 1)) {
    const char before = part[at - 1];
    const char after = at + flag.size() < part.size() ? part[at + flag.size()] : '\n';
    const bool begins = before == '`' || before == '(' || before == ' ';
    if (begins && std::string_view("`);:, \n").find(after) != std::string_view::npos) return true;
  }
  return false;
}

bool IsFlag(const std::string& word) {
  static const std::regex flag("--?[a-zA-Z][a-zA-Z0-9-]*(=.*)?");
  return std::regex_match(word, flag);
}

// Checks the names of this program and of make in a piece of code, and collects unknown ones.
class NameCheck {
 public:
  NameCheck(std::string_view flags_page, std::string_view makefile)
      : flags_page_(flags_page), makefile_("\n" + std::string(makefile)) {}

  void Look(std::string_view code, size_t line) {
    line_ = line;
    std::vector<std::string> words = Words(code);
    const auto first = std::find_if(words.begin(), words.end(), [](const std::string& word) {
      return word.find('=') == std::string::npos || word.front() == '-';
    });
    words.erase(words.begin(), first);
    if (words.empty()) return;
    if (words[0].starts_with("build/")) words[0].erase(0, 6);
    if (words[0] == "cairn" || words[0] == "cairn-lab") LookAtProgram(words);
    if (words[0] == "make") LookAtMake(words);
    if (!IsFlag(words[0])) return;
    for (const std::string& word : words) LookAtFlag(word, flags_page_, "cairn");
  }

  // Checks the code spans of a paragraph that begins at `line`.
  void LookAtSpans(std::string_view text, size_t line) {
    for (size_t begin = text.find('`'); begin != text.npos; begin = text.find('`')) {
      const size_t end = text.find('`', begin + 1);
      if (end == text.npos) return;
      line += std::count(text.begin(), text.begin() + begin, '\n');
      std::string code(text.substr(begin + 1, end - begin - 1));
      const size_t more = std::count(code.begin(), code.end(), '\n');
      std::replace(code.begin(), code.end(), '\n', ' ');
      Look(code, line);
      line += more;
      text.remove_prefix(end + 1);
    }
  }

  std::vector<std::string> Take() { return std::move(complaints_); }

 private:
  void LookAtProgram(const std::vector<std::string>& words) {
    std::string command = words[0];
    size_t next = 1;
    for (; next < words.size() && PartOf(command + " " + words[next], flags_page_); ++next) {
      command += " " + words[next];
    }
    // A command that has subcommands takes no other plain word.
    const bool has_own = flags_page_.find("\n## " + command + " ") != std::string_view::npos;
    if (has_own && next < words.size() && std::islower(words[next].front()) != 0) {
      Complain(command + " has no command " + words[next]);
      return;
    }
    for (; next < words.size(); ++next) {
      if (words[next].find_first_of("|;&>") != std::string::npos) return;
      LookAtFlag(words[next], *PartOf(command, flags_page_), command);
    }
  }

  void LookAtFlag(const std::string& word, std::string_view part, const std::string& command) {
    if (!IsFlag(word)) return;
    const std::string flag = word.substr(0, word.find('='));
    if (!HasFlag(part, flag)) Complain(command + " has no flag " + flag);
  }

  void LookAtMake(const std::vector<std::string>& words) {
    for (size_t i = 1; i < words.size(); ++i) {
      if (words[i].find_first_of("|;&>#\"") != std::string::npos) return;
      if (std::islower(words[i].front()) == 0) continue;
      if (!HasTarget(words[i])) Complain("make has no target " + words[i]);
    }
  }

  // A rule names one target or several, or a pattern, such as bench-%.
  bool HasTarget(const std::string& name) const {
    std::istringstream lines(makefile_);
    for (std::string line; std::getline(lines, line);) {
      const size_t end = line.find(':');
      if (end == line.npos || line.front() == '\t' || line.front() == '#') continue;
      std::istringstream targets(line.substr(0, end));
      for (std::string target; targets >> target;) {
        const bool is_pattern = target.back() == '%' && target.size() > 1;
        if (is_pattern) target.pop_back();
        if (is_pattern ? name.starts_with(target) : name == target) return true;
      }
    }
    return false;
  }

  void Complain(const std::string& what) {
    complaints_.push_back(std::to_string(line_) + ": " + what);
  }

  const std::string_view flags_page_;
  const std::string makefile_;
  size_t line_ = 0;
  std::vector<std::string> complaints_;
};

}  // namespace

Result<std::vector<Step>> ReadSteps(std::string_view page) {
  Reader reader;
  size_t number = 0;
  for (const std::string_view line : Lines(page)) {
    if (auto added = reader.Add(line, ++number); !added) return tl::unexpected(added.error());
  }
  return reader.Take();
}

std::string FirstMissing(std::string_view expected, std::string_view output) {
  const std::vector<std::string_view> lines = Lines(output);
  auto from = lines.begin();
  for (const std::string_view line : Lines(expected)) {
    const std::string_view wanted = Trimmed(line);
    if (wanted.empty() || wanted == kAnything) continue;
    from = std::find_if(from, lines.end(),
                        [&](std::string_view there) { return StandsIn(there, wanted); });
    if (from == lines.end()) return std::string(wanted);
    ++from;
  }
  return "";
}

size_t TakeOut(std::string_view command, std::string* commands) {
  std::string kept;
  size_t taken = 0;
  for (const std::string_view line : Lines(*commands)) {
    if (WithoutComment(line) == command) {
      ++taken;
    } else {
      kept.append(line) += '\n';
    }
  }
  *commands = kept;
  return taken;
}

std::vector<std::string> CheckNames(std::string_view page, std::string_view flags_page,
                                    std::string_view makefile) {
  NameCheck check(flags_page, makefile);
  bool in_block = false, in_commands = false;
  size_t number = 0, begin = 0;
  std::string text;  // a paragraph, or a command over several lines
  for (const std::string_view line : Lines(page)) {
    ++number;
    if (text.empty()) begin = number;
    if (IsFence(line)) {
      check.LookAtSpans(text, begin);
      text.clear();
      in_block = !in_block;
      in_commands = in_block && (Trimmed(line) == "```" || Trimmed(line) == "```sh");
    } else if (in_commands) {
      text.append(line) += ' ';
      if (!line.empty() && line.back() == '\\') continue;
      check.Look(text, begin);
      text.clear();
    } else if (!in_block) {
      text.append(line) += '\n';
      if (!Trimmed(line).empty()) continue;
      check.LookAtSpans(text, begin);
      text.clear();
    }
  }
  check.LookAtSpans(text, begin);
  return check.Take();
}

}  // namespace cairn::documents
