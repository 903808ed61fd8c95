// LearnedSyntax: a LearnedCalls prepared for matching text that arrives in parts. Any white space
// is accepted between the parts of a syntax, because models do not reproduce every line break. Nor
// do they reproduce every tag: one around calls is also accepted in the singular or the plural.

#ifndef CAIRN_CHAT_SYNTAX_LEARNED_SYNTAX_H_
#define CAIRN_CHAT_SYNTAX_LEARNED_SYNTAX_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "chat/syntax/learned_calls.h"
#include "chat/text/calls_scan.h"

namespace cairn {

// Some models write it before a function's name, as their namespace of functions.
inline constexpr std::string_view kFunctionsPrefix = "functions.";

using SyntaxPartList = std::vector<std::string>;

// Skips all parts, and white space before each.
Scan TakeParts(std::string_view text, const SyntaxPartList& parts, size_t* at);
// Skips all parts if they are at `*at`, without white space before the first.
Scan TakePartsHere(std::string_view text, const SyntaxPartList& parts, size_t* at);
// Searches for the parts within the next `bytes_max` bytes and skips them; sets `passed` to the
// text before them.
Scan TakeUntilParts(std::string_view text, const SyntaxPartList& parts, size_t bytes_max,
                    size_t* at, std::string* passed);
// Skips those of the parts that are present, in their order, and white space before each. Each is a
// list of spellings. Returns kMore or kFound.
Scan TakePresent(std::string_view text, const std::vector<SyntaxPartList>& parts, size_t* at);
// Whether any of the texts is at `at`, after optional white space.
Scan AnyOfStandsAt(std::string_view text, const SyntaxPartList& texts, size_t at);

// The text before or after a value: parts, and the white space between them and the value.
struct ValueEdge {
  SyntaxPartList parts;
  std::string space;
};

// Constant after construction.
struct LearnedSyntax {
  explicit LearnedSyntax(LearnedCalls learned);

  // A text that calls begin with, and the parts that must follow it.
  struct Start {
    std::string text;
    SyntaxPartList rest;
    bool respelled = false;  // the template writes the text in another way
  };

  LearnedCalls calls;
  // None of them is a prefix of another. The first is the template's own; the others are for models
  // that omit the block's opening or the tag around a call.
  std::vector<Start> starts;
  SyntaxPartList next;  // between two calls, up to the second's name or object
  SyntaxPartList id_delimiter;
  SyntaxPartList name_end;
  SyntaxPartList close;  // after the arguments
  SyntaxPartList block_close;
  SyntaxPartList respelled_block_close;  // empty: there is none
  // After the last of several objects, list brackets apart: what closes the call and the block.
  std::vector<SyntaxPartList> behind_objects;
  SyntaxPartList behind_name;  // alternatives: each of them may be the first part there
  // The arguments are pairs in braces, which are read like a JSON object with `calls.quote`.
  bool braces = false;
  // For pairs.
  SyntaxPartList pairs_end;  // alternatives: each of them ends the pairs
  SyntaxPartList key_open;
  SyntaxPartList pair_between;
  SyntaxPartList behind_value;  // alternatives: each of them may be the first part there
  ValueEdge string_open;
  ValueEdge string_close;
  ValueEdge other_open;
  SyntaxPartList other_type_end;
  ValueEdge other_close;

 private:
  void AddStart(const std::string& opening);
  void AddRespelledStart();
  void FindEnds(const std::string& call_close);
  void FindAlternatives();
};

}  // namespace cairn

#endif  // CAIRN_CHAT_SYNTAX_LEARNED_SYNTAX_H_
