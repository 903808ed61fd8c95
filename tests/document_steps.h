// The steps of a page of the documentation: the commands that its reader types, the output that the
// page promises, and the names of the program that it uses.

#ifndef CAIRN_TESTS_DOCUMENT_STEPS_H_
#define CAIRN_TESTS_DOCUMENT_STEPS_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cairn::documents {

// A fenced block without a language or with `sh`, which a shell runs unchanged. Blocks in other
// languages are not run.
struct Step {
  size_t line = 0;     // of its first fence, from 1
  size_t section = 0;  // the same for all steps below one heading of the second level
  std::string commands;
  bool serves = false;   // it starts a server, which keeps running, and has no other output
  int port = 0;          // of that server
  std::string expected;  // a block of `text` that follows in the same section; empty: none
};

// Returns the steps of a page. kInvalidArgument, with the line: an unclosed fence, an unknown
// language, or a server among other commands.
Result<std::vector<Step>> ReadSteps(std::string_view page);

// Returns the first line of `expected` that `output` lacks; empty: it has all, in this order. It
// may be anywhere within a line. "…" is any text, or none; alone on a line it is any lines.
// A number matches any number, but zero only zero. White space matches any white space.
std::string FirstMissing(std::string_view expected, std::string_view output);

// Removes from `commands` the lines that equal `command`, except for a comment after it. Returns
// their number.
size_t TakeOut(std::string_view command, std::string* commands);

// Returns complaints, "12: what is wrong", about code on a page: commands, flags and make targets
// that do not exist. `flags_page` is docs/flags.md and docs/lab_flags.md.
std::vector<std::string> CheckNames(std::string_view page, std::string_view flags_page,
                                    std::string_view makefile);

}  // namespace cairn::documents

#endif  // CAIRN_TESTS_DOCUMENT_STEPS_H_
