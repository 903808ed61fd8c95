#include "fleet/events/pseudonymous_ids.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

const Tokens kPrompt = {1, 2, 3};

// The first 16 bytes of HMAC-SHA256, from Python's hmac, as two words.
TEST(PseudonymousIds, TheKeyIsTheOneThatOthersCompute) {
  const TokenIds ids(Bits128{0x3d7e3980ae7b7086, 0xe53bf7bf2b36aa5b});
  EXPECT_EQ(PseudonymousIds("a secret").Of(kPrompt), ids.Of(kPrompt));
}

TEST(PseudonymousIds, AnotherSecretMakesOtherIds) {
  EXPECT_NE(PseudonymousIds("a secret").Of(kPrompt), PseudonymousIds("another").Of(kPrompt));
  EXPECT_TRUE(PseudonymousIds("another").pseudonymous());
}

}  // namespace
}  // namespace cairn
