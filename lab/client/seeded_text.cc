#include "lab/client/seeded_text.h"

#include <array>
#include <cctype>

namespace cairn {
namespace {

constexpr std::array<std::string_view, 24> kOnsets = {"b", "br", "c",  "d", "dr", "f", "g", "gl",
                                                      "h", "j",  "k",  "l", "m",  "n", "p", "pl",
                                                      "r", "s",  "st", "t", "tr", "v", "w", "z"};
constexpr std::array<std::string_view, 8> kVowels = {"a", "e", "i", "o", "u", "ai", "ea", "ou"};
constexpr std::array<std::string_view, 8> kCodas = {"", "", "n", "r", "l", "s", "nd", "ck"};
constexpr std::array<std::string_view, 6> kSigns = {" = ", " + ", "(", ", ", ") ", "; "};

}  // namespace

// The state is FNV-1a of the name, starting from the seed.
SeededText::SeededText(uint64_t seed, std::string_view name)
    : state_(seed ^ 0xcbf29ce484222325ULL) {
  for (const char c : name) state_ = (state_ ^ static_cast<uint8_t>(c)) * 0x100000001b3ULL;
}

// splitmix64.
uint64_t SeededText::Next() {
  state_ += 0x9e3779b97f4a7c15ULL;
  uint64_t z = state_;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31U);
}

uint64_t SeededText::Number(uint64_t limit) {
  return Next() % limit;
}

std::string SeededText::Word() {
  std::string word;
  const uint64_t syllables = 1 + Number(3);
  for (uint64_t i = 0; i < syllables; ++i) {
    word += kOnsets[Number(kOnsets.size())];
    word += kVowels[Number(kVowels.size())];
    word += kCodas[Number(kCodas.size())];
  }
  return word;
}

std::string SeededText::Prose(size_t bytes) {
  std::string text;
  while (text.size() < bytes) {
    std::string sentence = Word();
    sentence[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence[0])));
    for (uint64_t words = 4 + Number(12); words > 0; --words) {
      sentence += Number(9) == 0 ? ", " : " ";
      sentence += Word();
    }
    text += sentence;
    text += Number(6) == 0 ? ".\n\n" : ". ";
  }
  text.resize(bytes);
  // Templates strip white space at a message's ends, which would shorten the text.
  if (!text.empty()) text.back() = '.';
  return text;
}

std::string SeededText::Code(size_t bytes) {
  std::string text;
  for (uint64_t line = 1; text.size() < bytes; ++line) {
    text += std::to_string(line) + ": ";
    for (uint64_t words = 3 + Number(6); words > 0; --words) {
      text += Word();
      text += kSigns[Number(kSigns.size())];
    }
    text += "\n";
  }
  text.resize(bytes);
  if (!text.empty()) text.back() = ';';
  return text;
}

}  // namespace cairn
