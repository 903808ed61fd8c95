// NearestWord: which of some known words a mistyped one was probably meant to be.

#ifndef CAIRN_BASE_NEAREST_WORD_H_
#define CAIRN_BASE_NEAREST_WORD_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace cairn {

// Returns how many edits turn one word into the other. An edit inserts, removes or replaces a byte,
// or swaps two neighbours. Takes time in proportion to the product of both lengths.
size_t EditsBetween(std::string_view a, std::string_view b);

// Returns the known word with the fewest edits, the first of several; an empty string if that needs
// more than one edit for each three bytes of the shorter word, or if `word` is longer than any
// word of a person. `known` may be in any order, and without duplicates.
std::string NearestWord(std::string_view word, std::span<const std::string> known);

// Returns "; did you mean WORD?", the end of a message; an empty string if `meant` is empty. Every
// hint has this wording.
std::string DidYouMean(std::string_view meant);
// The same with the known word that is nearest to `word`.
std::string DidYouMean(std::string_view word, std::span<const std::string> known);

}  // namespace cairn

#endif  // CAIRN_BASE_NEAREST_WORD_H_
