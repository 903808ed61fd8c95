#include "engine/llama/model/kv_overrides.h"

#include <gtest/gtest.h>

#include <string_view>

namespace cairn {
namespace {

TEST(KvOverrides, HaveTheTypesOfLlamaServer) {
  const auto made = MakeKvOverrides({"a.b=int:-7", "c=float:0.5", "d=bool:false", "e=str:x=y:z"});
  ASSERT_TRUE(made.has_value()) << made.error().message;
  ASSERT_EQ(made->size(), 5u);
  EXPECT_EQ(std::string_view((*made)[0].key), "a.b");
  EXPECT_EQ((*made)[0].tag, LLAMA_KV_OVERRIDE_TYPE_INT);
  EXPECT_EQ((*made)[0].val_i64, -7);
  EXPECT_EQ((*made)[1].val_f64, 0.5);
  EXPECT_EQ((*made)[2].tag, LLAMA_KV_OVERRIDE_TYPE_BOOL);
  EXPECT_FALSE((*made)[2].val_bool);
  EXPECT_EQ(std::string_view((*made)[3].val_str), "x=y:z");
  EXPECT_EQ((*made)[4].key[0], '\0');
}

TEST(KvOverrides, AreNoneWithoutTexts) {
  EXPECT_TRUE(MakeKvOverrides({})->empty());
}

TEST(KvOverrides, NameATextThatIsWrong) {
  for (const std::string& text :
       {std::string("a"), std::string("a=int"), std::string("=int:1"), std::string("a=int:x"),
        std::string("a=bool:1"), std::string("a=long:1"), "a=str:" + std::string(200, 'x')}) {
    const auto made = MakeKvOverrides({text});
    ASSERT_FALSE(made.has_value()) << text;
    EXPECT_NE(made.error().message.find("'" + text + "'"), std::string::npos);
  }
}

}  // namespace
}  // namespace cairn
