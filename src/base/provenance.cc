#include "base/provenance.h"

#include <algorithm>

#include "base/check.h"

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

void Provenance::Append(const TokenRange& range, LineageId lineage,
                        const std::vector<TokenRange>& in_range) {
  if (lineage == 0) {
    CHECK(runs.empty());
    clean = range.end;
  } else if (runs.empty() || runs.back().lineage != lineage) {
    runs.push_back({lineage, range.begin});
  }
  for (const TokenRange& answer : in_range) {
    if (answer.begin >= range.end) continue;
    const size_t end = std::min(answer.end, range.end);
    // An answer that continues from one range into the next is one answer.
    if (!answers.empty() && answers.back().end == answer.begin) {
      answers.back().end = end;
    } else {
      answers.push_back({answer.begin, end});
    }
  }
}

std::vector<TokenRange> Provenance::AnswersIn(const TokenRange& range) const {
  std::vector<TokenRange> in_range;
  for (const TokenRange& answer : answers) {
    const size_t begin = std::max(answer.begin, range.begin);
    const size_t end = std::min(answer.end, range.end);
    if (begin < end) in_range.push_back({begin, end});
  }
  return in_range;
}

size_t SharedBits(const Provenance& a, const Provenance& b, size_t shared) {
  if (a.clean != b.clean) return std::min({a.clean, b.clean, shared});
  size_t i = 0;
  while (i < a.runs.size() && i < b.runs.size() && a.runs[i] == b.runs[i]) ++i;
  // The shared bits end at the first run that only one of them has or that begins elsewhere.
  size_t end = shared;
  if (i < a.runs.size()) end = std::min(end, a.runs[i].begin);
  if (i < b.runs.size()) end = std::min(end, b.runs[i].begin);
  return end;
}

}  // namespace cairn
