// The token types that all folders use.

#ifndef CAIRN_BASE_TOKENS_H_
#define CAIRN_BASE_TOKENS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace cairn {

using Token = int32_t;
using Tokens = std::vector<Token>;
using TokenSpan = std::span<const Token>;

// A negative token is *numbered*: it stands for itself and all tokens before it, so two sequences
// that agree at one position agree up to there. The tokens of a sequence are all numbered or all
// not. No vocabulary has negative tokens; those of simulated prompts are numbered, because they are
// compared in a few steps.
constexpr Token Numbered(Token token) {
  return token + INT32_MIN;  // in the same order
}
constexpr bool IsNumbered(Token token) {
  return token < 0;
}

// As CommonPrefix, for numbered tokens.
inline size_t CommonNumbered(TokenSpan a, TokenSpan b) {
  size_t same = 0;
  size_t limit = std::min(a.size(), b.size());
  if (limit > 0 && a[limit - 1] == b[limit - 1]) return limit;
  while (same < limit) {
    const size_t middle = same + (limit - same) / 2;
    if (a[middle] == b[middle]) {
      same = middle + 1;
    } else {
      limit = middle;
    }
  }
  return same;
}

// Returns how many tokens `a` and `b` share from their start.
inline size_t CommonPrefix(TokenSpan a, TokenSpan b) {
  if (!a.empty() && IsNumbered(a.front()) && !b.empty() && IsNumbered(b.front())) {
    return CommonNumbered(a, b);
  }
  // Compilers do not vectorise a loop with an early exit; memcmp is vectorised already.
  constexpr size_t kBlock = 64;
  const size_t limit = a.size() < b.size() ? a.size() : b.size();
  size_t n = 0;
  while (limit - n >= kBlock && std::memcmp(&a[n], &b[n], kBlock * sizeof(Token)) == 0) {
    n += kBlock;
  }
  while (n < limit && a[n] == b[n]) ++n;
  return n;
}

}  // namespace cairn

#endif  // CAIRN_BASE_TOKENS_H_
