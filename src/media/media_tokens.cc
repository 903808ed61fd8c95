#include "media/media_tokens.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace cairn {
namespace {

constexpr uint32_t kHashBits = 29;
constexpr uint32_t kHashMask = (1U << kHashBits) - 1;
constexpr uint32_t kPositionBits = 16;

// The number `index` of the hash's bits.
uint32_t BitsOf(const Bits128& key, size_t index) {
  const std::array<uint64_t, 3> words = {key.high, key.low, index};
  return static_cast<uint32_t>(Hash64(words.data(), sizeof(words))) & kHashMask;
}

Token Continued(uint32_t bits) {
  const Token token = kMediaTokensRest + static_cast<Token>(bits);
  return token == -1 ? -2 : token;
}

}  // namespace

Tokens MediaTokens(const Bits128& key, size_t rows, size_t positions) {
  CHECK(rows >= kMediumRowsMin && positions <= kMediumPositionsMax);
  Tokens tokens;
  tokens.reserve(rows);
  tokens.push_back(kMediaTokensBegin + static_cast<Token>(BitsOf(key, 0)));
  // The highest bit of `p` stays 0, so it is never -1.
  const uint32_t some_bits = BitsOf(key, 1) >> (kPositionBits + 1U);
  tokens.push_back(kMediaTokensRest + static_cast<Token>((some_bits << kPositionBits) |
                                                         static_cast<uint32_t>(positions)));
  for (size_t i = 2; i < rows; ++i) tokens.push_back(Continued(BitsOf(key, i)));
  return tokens;
}

bool HasMedia(TokenSpan tokens) {
  return std::any_of(tokens.begin(), tokens.end(), IsMediaToken);
}

MediumRange MediumAt(TokenSpan tokens, size_t begin) {
  CHECK(begin + 1 < tokens.size());
  CHECK(IsMediaToken(tokens[begin]) && !ContinuesMedium(tokens[begin]));
  const auto bits = static_cast<uint32_t>(tokens[begin + 1] - kMediaTokensRest);
  MediumRange range{begin, begin + 1, bits & ((1U << kPositionBits) - 1)};
  while (range.end < tokens.size() && ContinuesMedium(tokens[range.end])) ++range.end;
  return range;
}

std::vector<MediumRange> MediaIn(TokenSpan tokens) {
  std::vector<MediumRange> media;
  for (size_t i = 0; i < tokens.size();) {
    if (!IsMediaToken(tokens[i])) {
      ++i;
      continue;
    }
    media.push_back(MediumAt(tokens, i));
    i = media.back().end;
  }
  return media;
}

size_t PositionsOf(TokenSpan tokens) {
  size_t positions = tokens.size();
  for (const MediumRange& range : MediaIn(tokens)) {
    positions += range.positions - (range.end - range.begin);
  }
  return positions;
}

}  // namespace cairn
