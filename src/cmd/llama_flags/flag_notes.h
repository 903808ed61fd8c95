// FlagNotes: what a start says about flags and variables of llama-server that have no effect here.

#ifndef CAIRN_CMD_LLAMA_FLAGS_FLAG_NOTES_H_
#define CAIRN_CMD_LLAMA_FLAGS_FLAG_NOTES_H_

#include <string>
#include <vector>

#include "base/log.h"

namespace cairn {

struct FlagNotes {
  std::vector<std::string> always;             // flags for what is always so here
  std::vector<std::string> lines;              // a line for each flag without effect
  std::vector<std::string> unknown_variables;  // variables without a flag here
};

void AppendNotes(FlagNotes more, FlagNotes* notes);

// Writes them to the log: those of `always` in one line, and one line each for the others.
void LogFlagNotes(const FlagNotes& notes, const LogSink& log);

}  // namespace cairn

#endif  // CAIRN_CMD_LLAMA_FLAGS_FLAG_NOTES_H_
