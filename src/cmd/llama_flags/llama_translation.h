// TranslateLlamaFlag: a flag of llama-server with its values -> the flags of ours that do the same.
//
//   -ngl 99               --gpu-layers=99
//   --no-mmap             --mmap=false
//   -lm mlock             --mmap=false --mlock
//   --fim-qwen-7b-default defaults: --hf-repo=… --port=8012 …
//
// Pure.

#ifndef CAIRN_CMD_LLAMA_FLAGS_LLAMA_TRANSLATION_H_
#define CAIRN_CMD_LLAMA_FLAGS_LLAMA_TRANSLATION_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cmd/llama_flags/llama_flag_table.h"

namespace cairn {

// A flag as somebody gave it.
struct LlamaUse {
  const LlamaFlag* flag = nullptr;
  std::string spelling;  // or the name of a variable or of a preset's key: for messages
  bool negates = false;
  std::vector<std::string> values;  // as many as the flag has
};

struct LlamaMeaning {
  // Our flags, each with its value in one word ("--ctx-size=4096"), or in two where it is empty.
  std::vector<std::string> arguments;
  // Likewise; they hold only where nothing else sets the flag.
  std::vector<std::string> defaults;
  // The command line asks for this instead of serving: "version", "cache-list", "completion-bash"
  // or "list-devices"; empty for nothing.
  std::string instead;
  bool is_always_so = false;
  // A line for the log, of a flag without effect; empty if there is nothing to say.
  std::string note;
};

// kInvalidArgument: the value is wrong, or the flag is refused; the message names the spelling.
Result<LlamaMeaning> TranslateLlamaFlag(const LlamaUse& given);

// Returns what a word says that stands for yes or no: on, true, enabled, 1, …; nullopt for others.
std::optional<bool> ParseSwitchWord(std::string_view word);

}  // namespace cairn

#endif  // CAIRN_CMD_LLAMA_FLAGS_LLAMA_TRANSLATION_H_
