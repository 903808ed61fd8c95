// The number of generated cases that a property test runs: all of them, or a fifth under a
// sanitizer, where each takes many times as long. It is always the first ones, so that every run
// has the same cases. What a test expects to have covered shrinks accordingly.

#ifndef CAIRN_TESTING_BASE_PLAYED_SHARE_H_
#define CAIRN_TESTING_BASE_PLAYED_SHARE_H_

#include <cstddef>

namespace cairn::test {

#ifdef CAIRN_SANITIZED
inline constexpr size_t kPlayedOneIn = 5;
#else
inline constexpr size_t kPlayedOneIn = 1;
#endif

constexpr size_t Played(size_t cases) {
  return (cases + kPlayedOneIn - 1) / kPlayedOneIn;
}

}  // namespace cairn::test

#endif  // CAIRN_TESTING_BASE_PLAYED_SHARE_H_
