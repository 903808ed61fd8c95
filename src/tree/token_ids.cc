#include "tree/token_ids.h"

#include <bit>

namespace cairn {
namespace {

// The four words of SipHash's state.
struct Sip {
  uint64_t v0;
  uint64_t v1;
  uint64_t v2;
  uint64_t v3;

  void Round() {
    v0 += v1;
    v1 = std::rotl(v1, 13) ^ v0;
    v0 = std::rotl(v0, 32);
    v2 += v3;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  }
  void Take(uint64_t word) {
    v3 ^= word;
    Round();
    Round();
    v0 ^= word;
  }
  uint64_t Finish() {
    for (int i = 0; i < 4; ++i) Round();
    return v0 ^ v1 ^ v2 ^ v3;
  }
};

}  // namespace

Bits128 SipHashOf(const Bits128& key, const Bits128& words, uint32_t token) {
  constexpr uint64_t kMessageBytes = 20;
  constexpr uint64_t kWide = 0xee;
  Sip sip{0x736f6d6570736575U ^ key.low, 0x646f72616e646f6dU ^ key.high ^ kWide,
          0x6c7967656e657261U ^ key.low, 0x7465646279746573U ^ key.high};
  sip.Take(words.low);
  sip.Take(words.high);
  sip.Take(kMessageBytes << 56U | token);
  sip.v2 ^= kWide;
  Bits128 hash;
  hash.low = sip.Finish();
  sip.v1 ^= 0xdd;
  hash.high = sip.Finish();
  return hash;
}

TokenIds::State TokenIds::Append(State state, TokenSpan tokens, std::vector<uint32_t>* ids) const {
  if (!key_) {
    for (const Token token : tokens) ids->push_back(static_cast<uint32_t>(token));
    return state;
  }
  for (const Token token : tokens) {
    state = SipHashOf(*key_, state, static_cast<uint32_t>(token));
    ids->push_back(static_cast<uint32_t>(state.low));
  }
  return state;
}

std::vector<uint32_t> TokenIds::Of(TokenSpan prompt) const {
  std::vector<uint32_t> ids;
  ids.reserve(prompt.size());
  Append({}, prompt, &ids);
  return ids;
}

}  // namespace cairn
