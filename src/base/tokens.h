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

// No vocabulary has negative tokens. Two kinds of tokens are negative:
//
//   bits 31 30 29
//        1  0       numbered tokens, of simulated prompts
//        1  1       media tokens, which stand for the rows of an image or a recording; bit 29 is 0
//                   in the first of a medium (media/media_tokens.h)
//
// A *numbered* token stands for itself and all tokens before it, so two sequences that agree at one
// position agree up to there, and are compared in a few steps. The tokens of a sequence are all
// numbered or all not.
inline constexpr Token kMediaTokensBegin = -(1 << 30);
inline constexpr Token kMediaTokensRest = -(1 << 29);

inline constexpr Token kNumberedMax = (1 << 30) - 1;
// REQUIRES: 0 <= token <= kNumberedMax.
constexpr Token Numbered(Token token) {
  return token + INT32_MIN;  // in the same order
}
constexpr bool IsNumbered(Token token) {
  return token < kMediaTokensBegin;
}
// -1 is no token (Sampler::kNoToken).
constexpr bool IsMediaToken(Token token) {
  return kMediaTokensBegin <= token && token < -1;
}
// Whether the token is of a medium, and not the first of it.
constexpr bool ContinuesMedium(Token token) {
  return kMediaTokensRest <= token && token < -1;
}
// Returns `position`, or the begin of the medium that it lies inside.
inline size_t BeforeMedium(TokenSpan tokens, size_t position) {
  if (position >= tokens.size()) return position;
  while (position > 0 && ContinuesMedium(tokens[position])) --position;
  return position;
}

// As CommonTokens, for numbered tokens.
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

// Returns how many tokens `a` and `b` share from their start. They may end inside a medium.
inline size_t CommonTokens(TokenSpan a, TokenSpan b) {
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

// As CommonTokens, but a medium is shared whole or not at all.
inline size_t CommonPrefix(TokenSpan a, TokenSpan b) {
  const size_t common = CommonTokens(a, b);
  return std::min(BeforeMedium(a, common), BeforeMedium(b, common));
}

}  // namespace cairn

#endif  // CAIRN_BASE_TOKENS_H_
