// The token types that all folders use.

#ifndef CAIRN_BASE_TOKENS_H_
#define CAIRN_BASE_TOKENS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace cairn {

using Token = int32_t;
using Tokens = std::vector<Token>;
using TokenSpan = std::span<const Token>;

// Returns how many tokens `a` and `b` share from their start.
inline size_t CommonPrefix(TokenSpan a, TokenSpan b) {
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
