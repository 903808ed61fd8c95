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
