// How many of its made-up cases a property test plays: all of them, but a fifth under a sanitizer,
// where each takes many times as long. Always the first ones, so that they are the same in every
// run. What a test expects to have met by its end shrinks with them.

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
