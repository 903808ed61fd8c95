// HTML in texts.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "jinja/run/builtins.h"
#include "jinja/value/text.h"
#include "jinja/value/unicode.h"

namespace cairn::jinja {
namespace {

std::string Without(std::string_view text, std::string_view open, std::string_view close) {
  std::string kept;
  size_t at = 0;
  while (true) {
    const size_t begin = text.find(open, at);
    const size_t end = begin == std::string_view::npos ? begin : text.find(close, begin);
    if (end == std::string_view::npos) return kept.append(text.substr(at));
    kept.append(text.substr(at, begin - at));
    at = end + close.size();
  }
}

std::string SingleSpaced(std::string_view text) {
  std::string spaced;
  bool pending = false;
  for (size_t at = 0; at < text.size();) {
    const Character character = CharacterAt(text, at);
    if (IsSpace(character.code)) {
      pending = !spaced.empty();
    } else {
      if (pending) spaced += ' ';
      pending = false;
      spaced += text.substr(at, character.bytes);
    }
    at += character.bytes;
  }
  return spaced;
}

// The character of "#60" or "lt"; 0 if it is not known.
uint32_t EntityOf(std::string_view name) {
  constexpr std::pair<std::string_view, uint32_t> kNames[] = {
      {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}, {"nbsp", 0xA0}};
  for (const auto& [known, code] : kNames) {
    if (known == name) return code;
  }
  if (name.size() < 2 || name[0] != '#') return 0;
  const bool hex = name[1] == 'x' || name[1] == 'X';
  uint32_t code = 0;
  for (const char c : name.substr(hex ? 2 : 1)) {
    const char lower = static_cast<char>(c | 0x20);
    const bool letter = hex && lower >= 'a' && lower <= 'f';
    if (!letter && (c < '0' || c > '9')) return 0;
    code = code * (hex ? 16 : 10) + static_cast<uint32_t>(letter ? lower - 'a' + 10 : c - '0');
    if (code > 0x10FFFF) return 0xFFFD;
  }
  return code;
}

std::string Unescaped(std::string_view text) {
  std::string plain;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text[at] == '&' ? text.find(';', at) : std::string_view::npos;
    const uint32_t code = end == std::string_view::npos || end - at > 12
                              ? 0
                              : EntityOf(text.substr(at + 1, end - at - 1));
    if (code == 0) {
      plain += text[at++];
    } else {
      AppendCharacter(code, &plain);
      at = end + 1;
    }
  }
  return plain;
}

}  // namespace

std::string WithoutTags(std::string_view html) {
  return Unescaped(SingleSpaced(Without(Without(html, "<!--", "-->"), "<", ">")));
}

}  // namespace cairn::jinja
