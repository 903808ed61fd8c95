// The rule against words for which the field has other words, and against headless comments.

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include "tidy_rules.h"

namespace cairn::tidy {
namespace {

struct OldWord {
  std::string_view word;  // its plural is forbidden too
  std::string_view use;
};

constexpr OldWord kOldWords[] = {
    {"asker", "client"},     {"crowding", "idle-slot pressure"}, {"park", "offload"},
    {"parked", "offloaded"}, {"parting", "divergence"},          {"reread", "recompute"},
    {"rejoin", "assemble"},  {"unavoidable", "lower bound"},
};

// In comments, in lower case. A sentence that begins with "What" or "Of" lacks a subject.
constexpr OldWord kOldPhrases[] = {
    {"gave way", "was evicted"},
    {"parts from", "diverges from"},
    {"read ahead", "prefetch"},
    {"reading ahead", "prefetch"},
    {"reads ahead", "prefetches"},
    {"way back", "resume path"},
    {"ways back", "resume paths"},
    {"// nothing: ", "nullopt if"},
    {"// null: ", "nullptr if"},
    {"// of ", "a sentence with a subject"},
    {"// what ", "a sentence with a subject"},
};

bool IsLetter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

bool IsCapital(char c) {
  return std::isupper(static_cast<unsigned char>(c)) != 0;
}

// Returns the end of the word at `begin`: "FindParting" and "kPARTING_MAX" consist of words.
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

std::string LowerText(std::string_view line) {
  std::string lower(line);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

// Returns whether a comment begins on a line: the line before it is not a comment.
bool BeginsComment(std::string_view before) {
  const size_t first = before.find_first_not_of(' ');
  return first == std::string_view::npos || before.substr(first, 2) != "//";
}

void AddOldPhrases(const SourceFile& file, Complaints* complaints) {
  size_t number = 0;
  std::string_view before;
  for (const std::string_view line : Lines(file.text)) {
    ++number;
    const size_t comment = line.find("// ");
    // A comment after code may be a phrase: "size_t count = 0;  // of the last scan".
    const bool alone = BeginsComment(before) && line.find_first_not_of(' ') == comment;
    before = line;
    if (comment == std::string_view::npos || line.substr(0, comment).find('"') != line.npos) {
      continue;
    }
    const std::string text = LowerText(line.substr(comment));
    for (const OldWord& old : kOldPhrases) {
      const bool opens = old.word.starts_with("//");
      if (opens ? !alone || !text.starts_with(old.word) : text.find(old.word) == text.npos) {
        continue;
      }
      complaints->push_back(file.path + ":" + std::to_string(number) + ": \"" +
                            std::string(old.word) + "\": write \"" + std::string(old.use) + "\"");
    }
  }
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
  AddOldPhrases(file, &complaints);
  return complaints;
}

}  // namespace cairn::tidy
