// LearnedSyntax: a LearnedCalls made ready for matching text that comes in parts. Between the parts
// of a syntax any white space is taken: models do not keep to every line break.

#ifndef CAIRN_CHAT_LEARN_LEARNED_SYNTAX_H_
#define CAIRN_CHAT_LEARN_LEARNED_SYNTAX_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "chat/calls/calls_scan.h"
#include "chat/learn/learned_calls.h"

namespace cairn {

using SyntaxPartList = std::vector<std::string>;

// Steps over all parts and the white space before each.
Scan TakeParts(std::string_view text, const SyntaxPartList& parts, size_t* at);
// Whether the parts stand at `*at` without white space before the first.
Scan TakePartsHere(std::string_view text, const SyntaxPartList& parts, size_t* at);
// Steps to where the parts stand, `bytes_max` bytes on at most, and over them; what was passed is
// `passed`.
Scan TakeUntilParts(std::string_view text, const SyntaxPartList& parts, size_t bytes_max,
                    size_t* at, std::string* passed);
// Whether any of the texts stands at `at`, white space aside.
Scan AnyOfStandsAt(std::string_view text, const SyntaxPartList& texts, size_t at);

// What stands before or behind a value: parts, and the white space between them and the value.
struct ValueEdge {
  SyntaxPartList parts;
  std::string space;
};

// Constant after construction.
struct LearnedSyntax {
  explicit LearnedSyntax(LearnedCalls learned);

  // A text that calls begin with, and what must follow it.
  struct Start {
    std::string text;
    SyntaxPartList rest;
  };

  LearnedCalls calls;
  // None is the beginning of another. The first is the template's own; models that leave out what
  // opens the block, or the tag around a call, begin with one of the others.
  std::vector<Start> starts;
  SyntaxPartList next;  // between two calls, up to the second's name or object
  SyntaxPartList id_delimiter;
  SyntaxPartList name_end;
  SyntaxPartList close;  // behind the arguments, or the object
  SyntaxPartList block_close;
  SyntaxPartList behind_name;  // each of them may be the first part there
  // Of pairs.
  SyntaxPartList key_open;
  SyntaxPartList pair_between;
  SyntaxPartList behind_value;  // each of them may be the first part there
  ValueEdge string_open;
  ValueEdge string_close;
  ValueEdge other_open;
  SyntaxPartList other_type_end;
  ValueEdge other_close;

 private:
  void AddStart(const std::string& text);
};

}  // namespace cairn

#endif  // CAIRN_CHAT_LEARN_LEARNED_SYNTAX_H_
