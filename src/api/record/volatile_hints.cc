#include "api/record/volatile_hints.h"

#include "base/hash.h"
#include "chat/spans/volatile_patterns.h"

namespace cairn {
namespace {

constexpr size_t kChangesToTell = 2;

}  // namespace

std::optional<std::string> VolatileHints::Note(NamespaceId name_space, std::string_view request_id,
                                               const Explanation& explanation) {
  const std::string& pattern = explanation.volatile_pattern;
  // Where values are told late, this one is another conversation's.
  if (tells_late_ && pattern == kBuiltinVolatile) return std::nullopt;
  if (pattern.empty() || !explanation.place || !explanation.place->message) return std::nullopt;
  const size_t message = *explanation.place->message;
  const uint64_t value = HashMix(HashMix(name_space, message), Hash64(pattern));
  if (!changes_.contains(value) && changes_.size() >= kValuesMax) return std::nullopt;
  if (++changes_[value] != kChangesToTell) return std::nullopt;
  const std::string what =
      "a value in messages[" + std::to_string(message) + "] (" +
      std::string(RoleName(explanation.place->role)) +
      ") changes in every request, so everything after it is prefilled again: ";
  if (pattern == kBuiltinVolatile) {
    return what + "--volatile late would keep it and tell the newest at the newest message";
  }
  return what + "--pin-volatile with the pattern that GET /cairn/requests/" +
         std::string(request_id) + " names would keep its first value";
}

}  // namespace cairn
