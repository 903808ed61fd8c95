// LlamaFlagTable: the flags of llama-server, and what becomes of each here. It is stored in
// llama_flags.tsv. The command line, the environment's variables, the presets of several models and
// docs/from_llama_server.md are read by it.

#ifndef CAIRN_CMD_LLAMA_FLAGS_LLAMA_FLAG_TABLE_H_
#define CAIRN_CMD_LLAMA_FLAGS_LLAMA_FLAG_TABLE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/result.h"

namespace cairn {

enum class LlamaFate : uint8_t {
  kSame,     // it does here what it does there
  kDiffers,  // it works; LlamaFlag::note says what differs
  kAlways,   // what it asks for is always so
  kTunes,    // it changes no answer, is accepted and has no effect
  kRefused,  // it ends the start
};

struct LlamaFlag {
  struct Spelling {
    std::string name;      // with its dashes
    bool negates = false;  // it turns the flag off
  };
  std::string section;
  std::vector<Spelling> spellings;
  // One rule for each value: "N" for a whole number, "F" for a number, "S" for any text, or the
  // allowed words with "|" between them.
  std::vector<std::string> values;
  std::string variable;  // of the environment; empty if there is none
  LlamaFate fate = LlamaFate::kSame;
  // The flag here, "--ctx-size"; or "@name", which llama_translation.cc translates; or the flags
  // with values that it stands for, separated by spaces. Empty if it has no effect.
  std::string here;
  std::string note;  // Markdown without a full stop; may be empty

  bool works() const { return fate == LlamaFate::kSame || fate == LlamaFate::kDiffers; }
  // Whether `here` is one flag of ours.
  bool is_plain() const;
  // The long name here of which this is another spelling, or that a translation sets; empty if
  // there is no such flag.
  std::string option() const;
  // The first spelling that turns the flag off; empty if there is none.
  std::string negation() const;
};

// Returns the parts of the text that lie between any of the characters `ends`, without empty ones.
std::vector<std::string> SplitWords(std::string_view text, std::string_view ends);

class LlamaFlagTable {
 public:
  // kCorrupt: a line is not as it should be, or a spelling has two flags. The message names it.
  static Result<LlamaFlagTable> Parse(std::string_view text);

  const std::vector<LlamaFlag>& flags() const { return flags_; }
  struct Found {
    const LlamaFlag* flag = nullptr;  // null: the table has no such spelling
    bool negates = false;
  };
  Found Find(std::string_view spelling) const;
  const LlamaFlag* FindVariable(std::string_view variable) const;

 private:
  std::vector<LlamaFlag> flags_;
};

// The table of this program. Any thread.
const LlamaFlagTable& OwnLlamaFlags();

// Replaces llama-server's other spellings of our flags: its short ones of several letters (-ngl
// 99), which the command-line library would parse as -n -g -l, and its other long names. For
// commands other than `serve`, whose line cmd/llama_command_line.h reads.

// The subcommand of the server.
inline constexpr std::string_view kServeCommand = "serve";

// Whether a word of a command line is a flag: "-c", "--ctx-size"; not "-" or "-1".
bool IsFlagWord(std::string_view word);

// Returns `arguments` with every such spelling replaced by the name here. What has no flag here, or
// is translated, stays.
std::vector<std::string> SpellOutShortFlags(std::vector<std::string> arguments);

// FlagNotes: what a start says about flags and variables of llama-server that have no effect here.
struct FlagNotes {
  std::vector<std::string> always;             // flags for what is always so here
  std::vector<std::string> lines;              // a line for each flag without effect
  std::vector<std::string> unknown_variables;  // variables without a flag here
};

void AppendNotes(FlagNotes more, FlagNotes* notes);

// Writes them to the log: those of `always` in one line, and one line each for the others.
void LogFlagNotes(const FlagNotes& notes, const LogSink& log);

}  // namespace cairn

#endif  // CAIRN_CMD_LLAMA_FLAGS_LLAMA_FLAG_TABLE_H_
