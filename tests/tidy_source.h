// SourceFile: a source file as the tidy rules see it.

#ifndef CAIRN_TESTS_TIDY_SOURCE_H_
#define CAIRN_TESTS_TIDY_SOURCE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::tidy {

// A file and its path in the repository ("src/base/hash.cc").
struct SourceFile {
  std::string path;
  std::string text;

  bool IsHeader() const { return path.ends_with(".h"); }
  bool IsTest() const { return path.ends_with("_test.cc"); }
  // Returns "base" for src/base/hash.cc, "router" for fleet/router/proxy.cc, "lab" for
  // lab/sim/oracle.h, "testing" likewise; else empty.
  std::string Folder() const;
};

// Returns what follows src/ or fleet/: "sched/slots/slot.h"; of another path nothing.
std::string_view InHouse(std::string_view path);

struct Include {
  size_t line = 0;  // from 1
  std::string path;
};

// A function's lines, from its signature to its closing brace.
struct FunctionSpan {
  size_t first_line = 0;  // from 1
  size_t last_line = 0;
};

std::vector<std::string_view> Lines(std::string_view text);

// Returns the text with comments, literals and preprocessor lines replaced by spaces, so that only
// code is left; lines stay in place. Raw strings are understood.
std::string CodeOnly(std::string_view text);

// As CodeOnly(), but keeps comments and preprocessor lines.
std::string WithoutLiterals(std::string_view text);

std::vector<Include> Includes(std::string_view text);

// Returns the functions of a file: free ones, members, TESTs. Lambdas and local classes belong to
// the function around them. Relies on clang-format: a space before the brace of a body, and none
// before a brace that initialises a member.
std::vector<FunctionSpan> Functions(std::string_view text);

// Whether the character can be part of an identifier.
bool IsNameChar(char c);

// Returns where `word` occurs in `code` outside longer names; npos if nowhere.
size_t FindWord(std::string_view code, std::string_view word, size_t from = 0);

// Returns the line, from 1, of the byte at `offset`.
size_t LineOf(std::string_view text, size_t offset);

}  // namespace cairn::tidy

#endif  // CAIRN_TESTS_TIDY_SOURCE_H_
