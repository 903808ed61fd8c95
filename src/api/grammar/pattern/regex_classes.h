// Classes of characters in regular expressions: \d, \w, \s, '.', and \p{…} by general category.

#ifndef CAIRN_API_GRAMMAR_PATTERN_REGEX_CLASSES_H_
#define CAIRN_API_GRAMMAR_PATTERN_REGEX_CLASSES_H_

#include <optional>
#include <string_view>

#include "api/grammar/pattern/code_points.h"

namespace cairn {

// Returns the class that "\d", "\D", "\w", "\W", "\s" or "\S" stands for, by its letter.
std::optional<CodePoints> ClassOfLetter(char letter);
// Returns what '.' stands for: all characters but ends of lines.
CodePoints AnyButLineEnds();
// Returns the characters of a general category of Unicode 15, by its short name ("L", "Lu", "Nd").
// Nullopt for other properties.
std::optional<CodePoints> ClassOfCategory(std::string_view name);

}  // namespace cairn

#endif  // CAIRN_API_GRAMMAR_PATTERN_REGEX_CLASSES_H_
