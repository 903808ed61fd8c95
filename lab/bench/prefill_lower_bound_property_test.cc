// SeenSequences against the naive method: compare with every sequence, token by token.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "lab/bench/prefill_lower_bound.h"

namespace cairn {
namespace {

using Ids = std::vector<int32_t>;

// Uses few distinct tokens, so that sequences share prefixes.
std::vector<Ids> Sequences() {
  return *rc::gen::container<std::vector<Ids>>(
      rc::gen::container<Ids>(rc::gen::inRange<int32_t>(0, 3)));
}

RC_GTEST_PROP(SeenSequencesProperty, SharesWhatTheBestOfAllShares, ()) {
  SeenSequences seen;
  std::vector<Ids> all;
  for (const Ids& prompt : Sequences()) {
    size_t best = 0;
    for (const Ids& other : all) {
      size_t shared = 0;
      while (shared < std::min(prompt.size(), other.size()) && prompt[shared] == other[shared]) {
        ++shared;
      }
      best = std::max(best, shared);
    }
    RC_ASSERT(seen.SharedPrefix(prompt) == best);
    const size_t wanted = prompt.empty() ? 0 : std::max<size_t>(1, prompt.size() - best);
    RC_ASSERT(seen.PrefillLowerBound(prompt) == wanted);
    seen.Add(prompt);
    all.push_back(prompt);
  }
}

}  // namespace
}  // namespace cairn
