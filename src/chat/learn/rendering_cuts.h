// Common prefixes and suffixes of two renderings that do not cut a tag, word or character in two.
// "<a><b>" and "<c><b>" have the common suffix "<b>", not "><b>".

#ifndef CAIRN_CHAT_LEARN_RENDERING_CUTS_H_
#define CAIRN_CHAT_LEARN_RENDERING_CUTS_H_

#include <cstddef>
#include <string_view>

namespace cairn {

// Whether a tag, a word or a character extends across the position `cut` of the text.
bool CutsThrough(std::string_view text, size_t cut);

// Return sizes in bytes.
size_t CommonBegin(std::string_view a, std::string_view b);
size_t CommonEnd(std::string_view a, std::string_view b);

}  // namespace cairn

#endif  // CAIRN_CHAT_LEARN_RENDERING_CUTS_H_
