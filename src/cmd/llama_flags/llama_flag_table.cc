#include "cmd/llama_flags/llama_flag_table.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace cairn {
namespace {

// The flag's name for the command-line library; empty if it is not one flag here.
std::string OwnNameOf(const LlamaFlag& flag) {
  if (flag.is_plain()) return flag.here;
  const std::string own = flag.option();
  const bool is_own = std::any_of(flag.spellings.begin(), flag.spellings.end(),
                                  [&](const auto& spelling) { return spelling.name == own; });
  return is_own ? own : "";
}

void AppendTexts(std::vector<std::string> more, std::vector<std::string>* texts) {
  std::move(more.begin(), more.end(), std::back_inserter(*texts));
}

}  // namespace

std::string_view LlamaFlagsText();  // llama_flags.tsv

namespace {

constexpr std::string_view kSectionMark = "# ";
constexpr std::string_view kNone = "-";
constexpr char kNegates = '!';

constexpr std::array<std::pair<std::string_view, LlamaFate>, 5> kFates = {{
    {"same", LlamaFate::kSame},
    {"differs", LlamaFate::kDiffers},
    {"always", LlamaFate::kAlways},
    {"tunes", LlamaFate::kTunes},
    {"refused", LlamaFate::kRefused},
}};

std::string OrEmpty(const std::string& cell) {
  return cell == kNone ? "" : cell;
}

// Returns false if the line is not a flag's.
bool ParseFlagLine(const std::string& line, LlamaFlag* flag) {
  constexpr size_t kCells = 6;
  const std::vector<std::string> cells = SplitWords(line, "\t");
  if (cells.size() != kCells) return false;
  for (const std::string& word : SplitWords(cells[0], " ")) {
    const bool negates = word.front() == kNegates;
    flag->spellings.push_back({word.substr(negates ? 1 : 0), negates});
    if (!flag->spellings.back().name.starts_with('-')) return false;
  }
  flag->values = SplitWords(OrEmpty(cells[1]), " ");
  flag->variable = OrEmpty(cells[2]);
  const auto* const fate = std::find_if(kFates.begin(), kFates.end(),
                                        [&](const auto& known) { return known.first == cells[3]; });
  if (fate == kFates.end()) return false;
  flag->fate = fate->second;
  flag->here = OrEmpty(cells[4]);
  flag->note = OrEmpty(cells[5]);
  return flag->works() != flag->here.empty();
}

}  // namespace

std::vector<std::string> SplitWords(std::string_view text, std::string_view ends) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t at = std::min(text.find_first_of(ends), text.size());
    if (at > 0) parts.emplace_back(text.substr(0, at));
    text.remove_prefix(std::min(at + 1, text.size()));
  }
  return parts;
}

bool LlamaFlag::is_plain() const {
  return here.starts_with("--") && here.find('=') == std::string::npos;
}

std::string LlamaFlag::option() const {
  if (is_plain()) return here;
  return here.starts_with('@') ? "--" + here.substr(1) : "";
}

std::string LlamaFlag::negation() const {
  for (const Spelling& spelling : spellings) {
    if (spelling.negates && spelling.name.starts_with("--")) return spelling.name;
  }
  return "";
}

Result<LlamaFlagTable> LlamaFlagTable::Parse(std::string_view text) {
  LlamaFlagTable table;
  std::set<std::string> seen;
  std::string section;
  for (const std::string& line : SplitWords(text, "\n")) {
    if (line.starts_with('#')) {
      section = line.starts_with(kSectionMark) ? line.substr(kSectionMark.size()) : "";
      continue;
    }
    LlamaFlag flag;
    flag.section = section;
    if (!ParseFlagLine(line, &flag)) {
      return Fail(ErrorCode::kCorrupt, "the table of llama-server's flags has the line " + line);
    }
    for (const LlamaFlag::Spelling& spelling : flag.spellings) {
      if (seen.insert(spelling.name).second) continue;
      return Fail(ErrorCode::kCorrupt,
                  "the table of llama-server's flags has " + spelling.name + " twice");
    }
    table.flags_.push_back(std::move(flag));
  }
  return table;
}

LlamaFlagTable::Found LlamaFlagTable::Find(std::string_view spelling) const {
  for (const LlamaFlag& flag : flags_) {
    for (const LlamaFlag::Spelling& known : flag.spellings) {
      if (known.name == spelling) return {&flag, known.negates};
    }
  }
  return {};
}

const LlamaFlag* LlamaFlagTable::FindVariable(std::string_view variable) const {
  const auto found = std::find_if(flags_.begin(), flags_.end(), [&](const LlamaFlag& flag) {
    return !flag.variable.empty() && flag.variable == variable;
  });
  return found == flags_.end() ? nullptr : &*found;
}

const LlamaFlagTable& OwnLlamaFlags() {
  static const LlamaFlagTable table = [] {
    auto parsed = LlamaFlagTable::Parse(LlamaFlagsText());
    CHECK(parsed.has_value());
    return *std::move(parsed);
  }();
  return table;
}

bool IsFlagWord(std::string_view word) {
  return word.size() > 1 && word[0] == '-' &&
         (word[1] == '-' || std::isalpha(static_cast<unsigned char>(word[1])) != 0);
}

std::vector<std::string> SpellOutShortFlags(std::vector<std::string> arguments) {
  constexpr size_t kLetterBytes = 2;  // "-c", which the library parses itself
  for (std::string& argument : arguments) {
    const std::string name = argument.substr(0, argument.find('='));
    const LlamaFlagTable::Found found = OwnLlamaFlags().Find(name);
    if (found.flag == nullptr || name.size() <= kLetterBytes) continue;
    const std::string here = found.negates ? found.flag->negation() : OwnNameOf(*found.flag);
    if (!here.empty()) argument.replace(0, name.size(), here);
  }
  return arguments;
}

void AppendNotes(FlagNotes more, FlagNotes* notes) {
  AppendTexts(std::move(more.always), &notes->always);
  AppendTexts(std::move(more.lines), &notes->lines);
  AppendTexts(std::move(more.unknown_variables), &notes->unknown_variables);
}

void LogFlagNotes(const FlagNotes& notes, const LogSink& log) {
  if (!notes.always.empty()) {
    log(LogLevel::kInfo, JoinNames(notes.always) +
                             (notes.always.size() == 1 ? ": that is" : ": all that is") +
                             " always so here, without the flag");
  }
  for (const std::string& line : notes.lines) log(LogLevel::kWarning, line);
  if (!notes.unknown_variables.empty()) {
    log(LogLevel::kWarning, "ignoring environment variables of llama-server without a flag here: " +
                                JoinNames(notes.unknown_variables));
  }
}

}  // namespace cairn
