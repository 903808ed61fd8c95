#include "cmd/llama_flags/short_flags.h"

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

TEST(ShortFlags, AndOtherLongNamesBecomeOurs) {
  EXPECT_EQ(
      SpellOutShortFlags({"--n-gpu-layers", "9", "--temperature=1", "-nkvo", "--no-webui"}),
      (std::vector<std::string>{"--gpu-layers", "9", "--temp=1", "--no-kv-offload", "--no-ui"}));
}

TEST(ShortFlags, WithoutAFlagHereStay) {
  EXPECT_EQ(SpellOutShortFlags({"-to", "600", "-cb"}),
            (std::vector<std::string>{"-to", "600", "-cb"}));
}

}  // namespace
}  // namespace cairn
