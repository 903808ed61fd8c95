#include "cmd/llama_flags/flag_notes.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.h"

namespace cairn {
namespace {

void AppendTexts(std::vector<std::string> more, std::vector<std::string>* texts) {
  std::move(more.begin(), more.end(), std::back_inserter(*texts));
}

}  // namespace

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
