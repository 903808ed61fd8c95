#include "base/nearest_word.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace cairn {
namespace {

constexpr size_t kWordBytesMax = 64;
constexpr size_t kBytesPerEdit = 3;

// Words of two bytes may differ in one.
size_t EditsMax(size_t shorter_bytes) {
  return std::max<size_t>(shorter_bytes / kBytesPerEdit, shorter_bytes > 1 ? 1 : 0);
}

}  // namespace

size_t EditsBetween(std::string_view a, std::string_view b) {
  // Row i has the edits between the first i bytes of `a` and the first j of `b`.
  std::vector<size_t> before_last(b.size() + 1);
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string NearestWord(std::string_view word, std::span<const std::string> known) {
  if (word.size() > kWordBytesMax) return "";
  std::string nearest;
  size_t fewest = kWordBytesMax;
  for (const std::string& candidate : known) {
    if (candidate.size() > kWordBytesMax) continue;
    const size_t edits = EditsBetween(word, candidate);
    if (edits >= fewest || edits > EditsMax(std::min(word.size(), candidate.size()))) continue;
    fewest = edits;
    nearest = candidate;
  }
  return nearest;
}

std::string DidYouMean(std::string_view meant) {
  return meant.empty() ? "" : "; did you mean " + std::string(meant) + "?";
}

std::string DidYouMean(std::string_view word, std::span<const std::string> known) {
  return DidYouMean(NearestWord(word, known));
}

}  // namespace cairn
