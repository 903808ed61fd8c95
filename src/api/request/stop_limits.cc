#include "api/request/stop_limits.h"

#include <algorithm>

namespace cairn {

void CheckStops(FieldReader* fields, const char* name, const std::vector<std::string>& texts) {
  constexpr size_t kTextsMax = 256;
  constexpr size_t kBytesMax = 1024;
  const bool fits = texts.size() <= kTextsMax &&
                    std::all_of(texts.begin(), texts.end(),
                                [](const auto& text) { return text.size() <= kBytesMax; });
  if (fits) return;
  fields->Fail(name, "at most " + std::to_string(kTextsMax) + " strings of at most " +
                         std::to_string(kBytesMax) + " bytes");
}

}  // namespace cairn
