#include "base/provenance.h"

#include <algorithm>

namespace cairn {

LineageId Provenance::LineageAt(size_t position) const {
  LineageId lineage = 0;
  for (const Run& run : runs) {
    if (run.begin < position) lineage = run.lineage;
  }
  return lineage;
}

void Provenance::CutTo(size_t position) {
  clean = std::min(clean, position);
  std::erase_if(runs, [&](const Run& run) { return run.begin >= position; });
  std::erase_if(answers, [&](const TokenRange& answer) { return answer.begin >= position; });
  if (!answers.empty()) answers.back().end = std::min(answers.back().end, position);
}

size_t SharedBits(const Provenance& a, const Provenance& b, size_t shared) {
  if (a.clean != b.clean) return std::min({a.clean, b.clean, shared});
  size_t i = 0;
  while (i < a.runs.size() && i < b.runs.size() && a.runs[i] == b.runs[i]) ++i;
  // The first run that only one of them has, or that began elsewhere, ends what they share.
  size_t end = shared;
  if (i < a.runs.size()) end = std::min(end, a.runs[i].begin);
  if (i < b.runs.size()) end = std::min(end, b.runs[i].begin);
  return end;
}

}  // namespace cairn
