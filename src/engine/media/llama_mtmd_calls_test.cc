// The headers of versions that are not to be had are played by functions and structs made here.

#include "engine/media/llama_mtmd_calls.h"

#include <gtest/gtest.h>

#include <string>

namespace cairn {
namespace {

std::string ThreeOf(int number, const char* text, bool flag) {
  return std::to_string(number) + text + (flag ? "true" : "false");
}
std::string FiveOf(int number, const char* text, bool flag, void* data, size_t count) {
  return ThreeOf(number, text, flag) + (data == nullptr ? "null" : "data") + std::to_string(count);
}

TEST(MtmdCalls, PassTheirArgumentsToTheFunctionThatTheHeaderHas) {
  EXPECT_EQ(CallWithDefaults(ThreeOf, 1, "a", true), "1atrue");
}

TEST(MtmdCalls, PassNothingForParametersThatANewerHeaderAdds) {
  EXPECT_EQ(CallWithDefaults(ThreeOf, 1, "a"), "1afalse");
  EXPECT_EQ(CallWithDefaults(FiveOf, 1, "a", true), "1atruenull0");
}

struct OldText {
  const char* text;
  bool add_special;
  bool parse_special;
};
struct NewText {
  const char* text;
  size_t text_len;
  bool add_special;
  bool parse_special;
  int mode;
};

TEST(MtmdCalls, SetALengthOnlyWhereTheStructHasOne) {
  OldText old_text = {nullptr, true, false};
  SetInputText("four", &old_text);
  EXPECT_STREQ(old_text.text, "four");
  EXPECT_FALSE(old_text.add_special);
  EXPECT_TRUE(old_text.parse_special);
  NewText new_text = {};
  SetInputText("four", &new_text);
  EXPECT_EQ(new_text.text_len, 4u);
  EXPECT_FALSE(new_text.add_special);
  EXPECT_TRUE(new_text.parse_special);
  EXPECT_EQ(new_text.mode, 0);
}

}  // namespace
}  // namespace cairn
