// The words that the field has other words for, and a rule that they do not come back.

#include <cctype>
#include <string>
#include <string_view>

#include "tidy_rules.h"

namespace cairn::tidy {
namespace {

struct OldWord {
  std::string_view word;  // its plural is meant too
  std::string_view use;
};

constexpr OldWord kOldWords[] = {
    {"asker", "client"},     {"parting", "divergence"},      {"park", "offload"},
    {"parked", "offloaded"}, {"unavoidable", "lower bound"},
};

bool IsLetter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

bool IsCapital(char c) {
  return std::isupper(static_cast<unsigned char>(c)) != 0;
}

// The end of the word at `begin`: "FindParting" and "kPARTING_MAX" are made of words.
size_t WordEnd(std::string_view line, size_t begin) {
  size_t end = begin + 1;
  const bool capitals = end < line.size() && IsCapital(line[begin]) && IsCapital(line[end]);
  while (end < line.size() && IsLetter(line[end]) && IsCapital(line[end]) == capitals) ++end;
  return end;
}

std::string Lower(std::string_view word) {
  std::string lower;
  for (const char c : word) {
    lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (lower.size() > 1 && lower.back() == 's') lower.pop_back();
  return lower;
}

}  // namespace

Complaints CheckWords(const SourceFile& file) {
  Complaints complaints;
  if (file.path.starts_with("tests/") || file.IsTest()) return complaints;
  size_t number = 0;
  const std::string text = WithoutLiterals(file.text);
  for (const std::string_view line : Lines(text)) {
    ++number;
    for (size_t begin = 0; begin < line.size();) {
      if (!IsLetter(line[begin])) {
        ++begin;
        continue;
      }
      const size_t end = WordEnd(line, begin);
      const std::string word = Lower(line.substr(begin, end - begin));
      for (const OldWord& old : kOldWords) {
        if (word != old.word) continue;
        complaints.push_back(file.path + ":" + std::to_string(number) + ": \"" + word +
                             "\": the word is \"" + std::string(old.use) + "\"");
      }
      begin = end;
    }
  }
  return complaints;
}

}  // namespace cairn::tidy
