// TokenMap: maps byte offsets of a prompt to positions among its tokens.
//
//   text         <|im_start|>user\nHello wor ld
//   token texts  [<|im_start|>][user][\n][Hello][ wor][ld]
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
  // `pieces` are the token texts in bytes. The first `leading_tokens` of them are not in the text:
  // a BOS that the tokenizer added. If a tokenizer normalises (changes bytes), the map covers the
  // text as far as the token texts match it; an additional space before a token text is ignored.
  TokenMap(std::string_view text, std::span<const std::string> pieces, size_t leading_tokens = 0);

  // Returns the number of tokens before the one that contains the byte at `offset`; for the end of
  // the text, all of them. Always rounds down. Returns nullopt if the token texts stop matching the
  // text before `offset`, or if it lies past the text's end.
  std::optional<size_t> PositionAt(size_t offset) const;

  // Returns the byte offset of the token at `position`, or of the text's end. Returns nullopt if
  // the token texts do not match the text so far.
  std::optional<size_t> OffsetAt(size_t position) const;

  // Number of bytes of the text that the token texts match.
  size_t agreed_bytes() const { return agreed_bytes_; }

 private:
  // Byte offset of each token that matches, and the end of the last one.
  std::vector<size_t> starts_;
  const size_t leading_tokens_;
  size_t agreed_bytes_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_CHAT_SPANS_TOKEN_MAP_H_
