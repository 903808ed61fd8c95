// Source files as the tidy rules see them.

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
  // "base" of src/base/hash.cc, "lab" of lab/sim/trace.h, "testing" of what lies there; else empty.
  std::string Folder() const;
};

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

// The text with everything in comments, in literals and on preprocessor lines made spaces, so that
// what is left is code; lines stay where they are. Raw strings are understood.
std::string CodeOnly(std::string_view text);

// The same, but comments and preprocessor lines stay.
std::string WithoutLiterals(std::string_view text);

std::vector<Include> Includes(std::string_view text);

// The functions of a file: free ones, members, TESTs. Lambdas and local classes count to the
// function around them. Relies on a body's brace standing after a space, as clang-format puts it,
// and a brace that initialises a member not.
std::vector<FunctionSpan> Functions(std::string_view text);

// Where `word` stands in `code` and is no part of a longer name; npos when nowhere.
size_t FindWord(std::string_view code, std::string_view word, size_t from = 0);

// The line, from 1, of the byte at `offset`.
size_t LineOf(std::string_view text, size_t offset);

}  // namespace cairn::tidy

#endif  // CAIRN_TESTS_TIDY_SOURCE_H_
