#include "cmd/short_flags.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

TEST(ShortFlags, SpellsOutLlamaServersShortForms) {
  EXPECT_EQ(SpellOutShortFlags({"serve", "-ngl", "99", "-ctk=q8_0", "-m", "x.gguf"}),
            (std::vector<std::string>{"serve", "--gpu-layers", "99", "--cache-type-k=q8_0", "-m",
                                      "x.gguf"}));
}

TEST(ShortFlags, LeavesValuesAndUnknownFlagsAlone) {
  EXPECT_EQ(SpellOutShortFlags({"-c", "4096", "-x", "fa"}),
            (std::vector<std::string>{"-c", "4096", "-x", "fa"}));
}

TEST(ShortFlags, OfLlamaServerWithAnotherLongNameAreListed) {
  for (const std::string& name : LongFormsOfOthers()) {
    EXPECT_TRUE(name.starts_with("--")) << name;
    EXPECT_NE(SpellOutShortFlags({name}).front(), name);
  }
}

}  // namespace
}  // namespace cairn
