#include "chat/spans/volatile_patterns.h"

namespace cairn {
namespace {

// A date, a time, or both, in words or figures.
std::string DateOrTime() {
  const std::string word =
      "(?:(?:mon|tues?|wednes|thurs?|fri|satur|sun)(?:day)?|wed|thu|sat|"
      "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
      "sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?|"
      "[ap]\\.?m\\.?|utc|gmt|[a-z]+/[a-z_]+|at)";
  const std::string figures = "(?:\\d+(?:st|nd|rd|th)?(?:[-:/.T+]\\d+)*Z?)";
  const std::string space = "[ ,()]{0,3}";
  return "(?:" + word + "\\b" + space + "){0,3}" + figures + "(?:" + space + "(?:" + word + "\\b|" +
         figures + "|[+-]\\d\\d:?\\d\\d)){0,8}";
}

}  // namespace

std::vector<std::string> BuiltinVolatilePatterns() {
  return {
      "(?i)\\b(?:today(?:'s date| is)|(?:current|local) (?:date(?: and time|/time)?|time|"
      "datetime|timestamp)|date and time)(?: is)?(?: \\([^)\\n]{0,40}\\))?[ :=*]*\\n? *" +
          DateOrTime(),
      "<total_tokens>[^<]{0,64}</total_tokens>"};
}

std::vector<std::string> UnannouncedVolatilePatterns() {
  return {
      // 2026-11-23, 2026-11-23T10:04:05.123Z, 2026/11/23 10:04
      ("\\b\\d{4}[-/]\\d\\d[-/]\\d\\d(?:[T ]\\d\\d:\\d\\d(?::\\d\\d(?:[.,]\\d+)?)?"
       "(?: ?(?:Z|UTC|GMT|[+-]\\d\\d:?\\d\\d))?)?\\b"),
      // 11/23/2026, 23.11.2026, 10:04, 10:04:05 PM
      "\\b\\d{1,2}[/.]\\d{1,2}[/.]\\d{4}\\b", "\\b\\d{1,2}:\\d\\d(?::\\d\\d)?(?: ?[AaPp][Mm])?\\b",
      // Seconds or milliseconds since 1970, of this decade or so.
      "\\b1[6-9]\\d{8}(?:\\d{3})?\\b",
      // 181,204 tokens left
      ("(?i)\\b\\d[\\d,.]* ?(?:%|(?:tokens?|steps?|turns?|messages?|requests?|seconds?|minutes?)) "
       "(?:left|remaining)\\b"),
      // A UUID, and other ids of 16 hexadecimal digits or more, perhaps behind ses_ or the like.
      "(?i)\\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\\b", "(?i)(?:\\b|_)[0-9a-f]{16,64}\\b"};
}

std::vector<std::string> WithBuiltinPatterns(const std::vector<std::string>& patterns) {
  std::vector<std::string> all;
  for (const std::string& pattern : patterns) {
    if (pattern == kBuiltinVolatile) {
      for (std::string& builtin : BuiltinVolatilePatterns()) all.push_back(std::move(builtin));
    } else {
      all.push_back(pattern);
    }
  }
  return all;
}

}  // namespace cairn
