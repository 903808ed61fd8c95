#include "chat/learn/rendering_cuts.h"

#include <algorithm>
#include <cctype>

namespace cairn {
namespace {

bool IsWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Whether `cut` is between a bracket and its closing bracket.
bool InBrackets(std::string_view text, size_t cut) {
  const size_t last = text.find_last_of("<>", cut - 1);
  const size_t next = text.find_first_of("<>", cut);
  const bool opened = last != std::string_view::npos && text[last] == '<';
  // A text may begin or end inside a tag.
  if (next == std::string_view::npos) return opened;
  return text[next] == '>' && (opened || last == std::string_view::npos);
}

// Whether `cut` is inside [WORD].
bool InBracketedWord(std::string_view text, size_t cut) {
  constexpr std::string_view kCapitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  const size_t end = text.find_first_not_of(kCapitals, cut);
  if (end == std::string_view::npos || text[end] != ']' || cut == 0) return false;
  const size_t begin = text.find_last_not_of(kCapitals, cut - 1);
  return begin != std::string_view::npos && text[begin] == '[' && end > begin + 1;
}

}  // namespace

bool CutsThrough(std::string_view text, size_t cut) {
  if (cut == 0 || cut >= text.size()) return false;
  if ((static_cast<unsigned char>(text[cut]) & 0xC0U) == 0x80U) return true;
  if (IsWord(text[cut - 1]) && IsWord(text[cut])) return true;
  return InBrackets(text, cut) || InBracketedWord(text, cut);
}

size_t CommonBegin(std::string_view a, std::string_view b) {
  const auto end = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  auto size = static_cast<size_t>(end - a.begin());
  while (size > 0 && (CutsThrough(a, size) || CutsThrough(b, size))) --size;
  return size;
}

size_t CommonEnd(std::string_view a, std::string_view b) {
  const auto begin = std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend()).first;
  auto size = static_cast<size_t>(begin - a.rbegin());
  while (size > 0 && (CutsThrough(a, a.size() - size) || CutsThrough(b, b.size() - size))) --size;
  return size;
}

}  // namespace cairn
