// TokenMap: from byte offsets of a prompt to positions among its tokens.
//
//   text    <|im_start|>user\nHello wor ld
//   pieces  [<|im_start|>][user][\n][Hello][ wor][ld]
//   PositionAt(17) = 3: the token that contains byte 17 begins there, or before it.

#ifndef CAIRN_CHAT_SPANS_TOKEN_MAP_H_
#define CAIRN_CHAT_SPANS_TOKEN_MAP_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

// Constant after construction.
class TokenMap {
 public:
  // `pieces` are the tokens' bytes. The first `leading_tokens` of them have no part in the text: a
  // BOS that the tokenizer put there. A tokenizer that normalises (changes bytes) is followed as
  // far as its pieces give the text; a space of its own in front of a piece is forgiven.
  TokenMap(std::string_view text, std::span<const std::string> pieces, size_t leading_tokens = 0);

  // How many tokens stand before the one that contains the byte at `offset`; for the end of the
  // text, all of them. Always rounds down. Nothing when the pieces stop giving the text before
  // `offset`, or when it lies beyond the text.
  std::optional<size_t> PositionAt(size_t offset) const;

  // Where the token with so many before it begins in the text, or the text ends. Nothing when the
  // pieces do not give the text so far.
  std::optional<size_t> OffsetAt(size_t position) const;

  // Bytes of the text that the pieces give.
  size_t agreed_bytes() const { return agreed_bytes_; }

 private:
  // Where each token begins in the text, for the tokens that agree, and where the last one ends.
  std::vector<size_t> starts_;
  const size_t leading_tokens_;
  size_t agreed_bytes_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_CHAT_SPANS_TOKEN_MAP_H_
