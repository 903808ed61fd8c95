#include "soak/client.h"

#include <gtest/gtest.h>

namespace cairn::soak {
namespace {

TEST(BegunPrompts, SharesTheTemplateAndTheLettersThatTwoHeadersBeginWith) {
  BegunPrompts begun;
  begun.Note("one", Api::kChat, "Weck");
  EXPECT_TRUE(begun.OnlyOnce("one", Api::kChat, "Weck"));
  EXPECT_EQ(begun.SharedTokens("one", Api::kChat, "Weck"), 8u);
  begun.Note("one", Api::kChat, "Westen");
  begun.Note("one", Api::kChat, "Apfel");
  begun.Note("two", Api::kChat, "Weckruf");
  EXPECT_EQ(begun.SharedTokens("one", Api::kChat, "Weck"), 10u);
  EXPECT_EQ(begun.SharedTokens("one", Api::kText, "Weck"), 0u);
  begun.Note("one", Api::kChat, "Weck");
  EXPECT_FALSE(begun.OnlyOnce("one", Api::kChat, "Weck"));
}

}  // namespace
}  // namespace cairn::soak
