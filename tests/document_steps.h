// What a page of the documentation tells its reader to type, what it says that he will see, and
// the names of the program that it uses.

#ifndef CAIRN_TESTS_DOCUMENT_STEPS_H_
#define CAIRN_TESTS_DOCUMENT_STEPS_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cairn::documents {

// A block between fences, with no language or `sh`: a shell is to run it as it stands. Other
// languages are to look at.
struct Step {
  size_t line = 0;     // of its first fence, from 1
  size_t section = 0;  // the same for all below one heading of the second level
  std::string commands;
  bool serves = false;  // it starts a server, which stays, and has nothing else to say
  int port = 0;         // of that server
  std::string
      expected;  // a block of `text` that follows in the same section; empty: nothing is said
};

// kInvalidArgument, with the line: a fence that is not closed, a language that is not known, or a
// server among other commands.
Result<std::vector<Step>> ReadSteps(std::string_view page);

// The first line of `expected` that does not stand in `output`; empty: all do, in this order. A
// line is found anywhere within a line. "…" is any text, also none; alone in a line it is any
// lines. A number is any number, but for zero, which is zero only. White space is any white space.
std::string FirstMissing(std::string_view expected, std::string_view output);

// Takes lines that are `command` but for a comment behind it out of `commands`. How many there
// were.
size_t TakeOut(std::string_view command, std::string* commands);

// Complaints, "12: what is wrong", of what a page says in code of this program and of make: a
// command, flag or target that is not there. `flags_page` is docs/flags.md and docs/lab_flags.md.
std::vector<std::string> CheckNames(std::string_view page, std::string_view flags_page,
                                    std::string_view makefile);

}  // namespace cairn::documents

#endif  // CAIRN_TESTS_DOCUMENT_STEPS_H_
