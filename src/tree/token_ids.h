// TokenIds: the numbers under which tokens are published: the tokens themselves, or pseudonyms.
//
// A pseudonym is 32 bits of a keyed hash of a token and all tokens before it. So two prompts have
// equal pseudonyms exactly as far as they have equal tokens, and that is all that routers compare;
// without the key, nothing else can be told from them.
//
//   state of position 0   zero
//   state after token i   SipHash-2-4 of 128 bits (key, state before it, token i)
//   pseudonym i           the low 32 bits of the state after it
//
// Threads: const functions from any.

#ifndef CAIRN_TREE_TOKEN_IDS_H_
#define CAIRN_TREE_TOKEN_IDS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "base/hash.h"
#include "base/tokens.h"

namespace cairn {

class TokenIds {
 public:
  // The state of a sequence at a position.
  using State = Bits128;

  // Tokens themselves; those of media are large numbers.
  TokenIds() = default;
  // Pseudonyms.
  explicit TokenIds(const Bits128& key) : key_(key) {}

  bool pseudonymous() const { return key_.has_value(); }
  // Appends the ids of `tokens`, which follow a position with `state`, and returns the state after
  // them.
  State Append(State state, TokenSpan tokens, std::vector<uint32_t>* ids) const;
  // The ids of a whole prompt.
  std::vector<uint32_t> Of(TokenSpan prompt) const;

 private:
  std::optional<Bits128> key_;
};

// SipHash-2-4 with 128 bits of output, of a message of 20 bytes: two words and a token, little
// endian.
Bits128 SipHashOf(const Bits128& key, const Bits128& words, uint32_t token);

}  // namespace cairn

#endif  // CAIRN_TREE_TOKEN_IDS_H_
