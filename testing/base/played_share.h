// The number of generated cases that a property test runs: a fifth of them, or all with
// CAIRN_ALL_CASES in the environment, as `make nightly` has it. It is always the first ones, so
// that every run has the same cases. What a test expects to have covered shrinks accordingly. Under
// a sanitizer, where each takes many times as long, it is always a fifth.

#ifndef CAIRN_TESTING_BASE_PLAYED_SHARE_H_
#define CAIRN_TESTING_BASE_PLAYED_SHARE_H_

#include <cstddef>
#include <cstdlib>

namespace cairn::test {

inline size_t Played(size_t cases) {
  constexpr size_t kOneIn = 5;
#ifdef CAIRN_SANITIZED
  constexpr bool all = false;
#else
  const bool all = std::getenv("CAIRN_ALL_CASES") != nullptr;
#endif
  return all ? cases : (cases + kOneIn - 1) / kOneIn;
}

}  // namespace cairn::test

#endif  // CAIRN_TESTING_BASE_PLAYED_SHARE_H_
