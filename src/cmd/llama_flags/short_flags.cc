#include "cmd/llama_flags/short_flags.h"

#include <algorithm>
#include <cctype>

#include "cmd/llama_flags/llama_flag_table.h"

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

}  // namespace

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

}  // namespace cairn
