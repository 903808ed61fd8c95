#include "lab/bench/prefill_lower_bound.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cairn {
namespace {

size_t CommonPrefix(std::span<const int32_t> a, std::span<const int32_t> b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                             a.begin());
}

}  // namespace

bool SeenSequences::Less::operator()(std::span<const int32_t> a, std::span<const int32_t> b) const {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
}

void SeenSequences::Add(std::vector<int32_t> tokens) {
  const auto next = sequences_.lower_bound(tokens);
  const bool known = next != sequences_.end() && CommonPrefix(tokens, *next) == tokens.size();
  if (known) return;
  // A sequence that is a prefix of the new one is redundant.
  if (next != sequences_.begin()) {
    const auto before = std::prev(next);
    if (CommonPrefix(*before, tokens) == before->size()) sequences_.erase(before);
  }
  sequences_.insert(std::move(tokens));
}

size_t SeenSequences::SharedPrefix(std::span<const int32_t> tokens) const {
  const auto next = sequences_.lower_bound(tokens);
  size_t shared = 0;
  if (next != sequences_.end()) shared = CommonPrefix(tokens, *next);
  if (next != sequences_.begin()) {
    shared = std::max(shared, CommonPrefix(tokens, *std::prev(next)));
  }
  return shared;
}

size_t SeenSequences::PrefillLowerBound(std::span<const int32_t> prompt) const {
  if (prompt.empty()) return 0;
  return std::max<size_t>(1, prompt.size() - SharedPrefix(prompt));
}

}  // namespace cairn
