// The results of a soak as a page.

#ifndef CAIRN_TESTS_SOAK_REPORT_H_
#define CAIRN_TESTS_SOAK_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "soak/round.h"

namespace cairn::soak {

struct SoakResult {
  uint64_t seed = 0;
  double hours = 0;
  double took_s = 0;
  bool interrupted = false;
  std::vector<RoundResult> rounds;

  size_t faults() const;
};

// Returns Markdown. Pure.
std::string RenderReport(const SoakResult& soak);

}  // namespace cairn::soak

#endif  // CAIRN_TESTS_SOAK_REPORT_H_
