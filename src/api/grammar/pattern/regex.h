// Reads regular expressions as JSON Schema means them: those of ECMAScript, and a text fits if it
// has a part that does.

#ifndef CAIRN_API_GRAMMAR_PATTERN_REGEX_H_
#define CAIRN_API_GRAMMAR_PATTERN_REGEX_H_

#include <optional>
#include <string_view>

#include "api/grammar/pattern/dfa.h"

namespace cairn {

// Returns the texts that `pattern` is found in. Nullopt for what is not read (references back,
// look-behind, word boundaries), for a flag or a class that is not known, for a mistake, and for an
// automaton beyond Dfa::kStatesMax or the budget. Any thread.
std::optional<Dfa> DfaOfPattern(std::string_view pattern, WorkBudget* budget);

}  // namespace cairn

#endif  // CAIRN_API_GRAMMAR_PATTERN_REGEX_H_
