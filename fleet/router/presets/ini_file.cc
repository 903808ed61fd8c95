#include "fleet/router/presets/ini_file.h"

#include <algorithm>
#include <cstddef>

namespace cairn {
namespace {

bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool IsKey(std::string_view text) {
  if (text.empty() || !(IsLetter(text.front()) || text.front() == '_')) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return IsLetter(c) || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
  });
}

std::string_view WithoutBlanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

std::string_view WithoutComment(std::string_view text) {
  return WithoutBlanks(text.substr(0, text.find_first_of(";#")));
}

// Removes the first line from `text` and returns it without its end: "\r\n", "\n" or "\r".
std::string_view TakeLine(std::string_view* text) {
  const size_t end = text->find_first_of("\r\n");
  const std::string_view line = text->substr(0, end);
  if (end == std::string_view::npos) {
    *text = {};
  } else {
    text->remove_prefix(text->substr(end).starts_with("\r\n") ? end + 2 : end + 1);
  }
  return line;
}

// Parses "[name]", with nothing but a comment behind it. Empty if it is something else.
std::string_view SectionName(std::string_view line) {
  line = WithoutBlanks(line);
  const size_t close = line.find(']');
  if (!line.starts_with('[') || close == std::string_view::npos) return {};
  if (!WithoutComment(line.substr(close + 1)).empty()) return {};
  return WithoutBlanks(line.substr(1, close - 1));
}

void Set(std::string_view key, std::string_view value, IniSection* section) {
  const auto same = std::find_if(section->values.begin(), section->values.end(),
                                 [&](const auto& one) { return one.first == key; });
  if (same != section->values.end()) {
    same->second = value;
  } else {
    section->values.emplace_back(key, value);
  }
}

}  // namespace

Result<std::vector<IniSection>> ParseIni(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::vector<IniSection> sections(1);
  for (size_t number = 1; !text.empty(); ++number) {
    const auto fail = [number](const std::string& what) {
      return Fail(ErrorCode::kInvalidArgument, "line " + std::to_string(number) + " " + what);
    };
    const std::string_view line = TakeLine(&text);
    if (WithoutComment(line).empty()) continue;
    if (WithoutBlanks(line).starts_with('[')) {
      const std::string_view name = SectionName(line);
      if (name.empty()) return fail("is no section; expected [name]");
      const bool again = std::any_of(sections.begin() + 1, sections.end(),
                                     [&](const IniSection& one) { return one.name == name; });
      if (again) return fail("begins the section [" + std::string(name) + "] a second time");
      sections.push_back({std::string(name), {}});
      continue;
    }
    const size_t equals = line.find('=');
    const std::string_view key = WithoutBlanks(line.substr(0, equals));
    if (equals == std::string_view::npos || !IsKey(key)) {
      return fail("is neither [section] nor key = value");
    }
    Set(key, WithoutComment(line.substr(equals + 1)), &sections.back());
  }
  return sections;
}

}  // namespace cairn
