#include "engine/verified_architectures.h"

#include "base/check.h"

namespace cairn {

std::string_view ArchitecturesText();  // architectures.tsv

const ArchitectureTable& VerifiedArchitectures() {
  static const ArchitectureTable table = [] {
    auto parsed = ParseArchitectureTable(ArchitecturesText());
    CHECK(parsed.has_value());
    return *std::move(parsed);
  }();
  return table;
}

bool SegmentsVerified(std::string_view architecture) {
  return HasExactSegments(VerifiedArchitectures(), architecture);
}

bool FullStatesMayBeTried(std::string_view architecture) {
  return !FailsWithFullStates(VerifiedArchitectures(), architecture);
}

}  // namespace cairn
