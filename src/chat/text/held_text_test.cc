#include "chat/text/held_text.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

TEST(HeldText, IsWhatWasAppendedWithoutWhatWasDropped) {
  HeldText held;
  EXPECT_TRUE(held.empty());
  held.Append("abc");
  held.Drop(1);
  EXPECT_EQ(held.view(), "bc");
  held.Append("def");
  held.Drop(3);
  EXPECT_EQ(held.view(), "ef");
  EXPECT_EQ(held.size(), 2u);
  EXPECT_EQ(held.dropped(), 4u);
  held.Drop(7);
  EXPECT_TRUE(held.empty());
  EXPECT_EQ(held.dropped(), 6u);
}

TEST(HeldText, MovesNoMoreThanWasDropped) {
  constexpr size_t kBytes = 100'000;
  HeldText held;
  held.Append(std::string(kBytes, 'x'));
  while (!held.empty()) held.Drop(1);
  EXPECT_LE(held.moved_bytes(), kBytes);
  for (size_t i = 0; i < kBytes; ++i) {
    held.Append("xyz");
    held.Drop(2);
  }
  EXPECT_EQ(held.size(), kBytes);
  EXPECT_LE(held.moved_bytes(), held.dropped());
}

}  // namespace
}  // namespace cairn
