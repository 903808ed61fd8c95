#include "api/prompt/order/tool_order.h"

#include <gtest/gtest.h>

#include <string>

#include "base/json.h"

namespace cairn::tool_order_test {
namespace {

// The tools' names, one letter each, after the order was applied.
std::string Order(ToolOrder* order, const std::string& names, const std::string& first_user = "U",
                  NamespaceId name_space = 1) {
  std::string json;
  for (const char name : names) {
    json += (json.empty() ? "" : ",") + std::string(R"({"function":{"name":")") + name + R"("}})";
  }
  Conversation talk{.messages = {{.role = Role::kSystem, .content = "S"},
                                 {.role = Role::kUser, .content = first_user}},
                    .tools = Tools::Parse("[" + json + "]").value()};
  order->Apply(name_space, &talk);
  std::string shown;
  for (const Json& tool : talk.tools.list()) shown += tool["function"]["name"].text();
  return shown;
}

TEST(ToolOrder, TheSameToolsStayInTheOrderInWhichTheyCameFirst) {
  ToolOrder order(10);
  EXPECT_EQ(Order(&order, "cab"), "cab");
  EXPECT_EQ(Order(&order, "abc"), "cab");
  EXPECT_EQ(Order(&order, "bca"), "cab");
  EXPECT_EQ(Order(&order, "cab"), "cab");
}

TEST(ToolOrder, OtherToolsConversationsAndNamespacesHaveTheirOwn) {
  ToolOrder order(10);
  EXPECT_EQ(Order(&order, "cab"), "cab");
  EXPECT_EQ(Order(&order, "abcd"), "abcd");
  EXPECT_EQ(Order(&order, "ab"), "ab");
  EXPECT_EQ(Order(&order, "abc", "V"), "abc");
  EXPECT_EQ(Order(&order, "abc", "U", 2), "abc");
}

TEST(ToolOrder, AToolThatIsThereTwiceStaysThereTwice) {
  ToolOrder order(10);
  EXPECT_EQ(Order(&order, "aba"), "aba");
  EXPECT_EQ(Order(&order, "aab"), "aba");
}

TEST(ToolOrder, ForgetsTheListThatWasUnusedForLongest) {
  ToolOrder order(2);
  EXPECT_EQ(Order(&order, "ba", "1"), "ba");
  EXPECT_EQ(Order(&order, "ba", "2"), "ba");
  EXPECT_EQ(Order(&order, "ab", "1"), "ba");
  EXPECT_EQ(Order(&order, "ba", "3"), "ba");
  EXPECT_EQ(order.lists(), 2u);
  EXPECT_EQ(Order(&order, "ab", "1"), "ba");
  EXPECT_EQ(Order(&order, "ab", "2"), "ab");
}

TEST(ToolOrder, OneToolOrNoneHasNoOrder) {
  ToolOrder order(2);
  for (const char* json : {"[]", R"([{"a":1}])"}) {
    const Tools tools = Tools::Parse(json).value();
    Conversation talk{.messages = {}, .tools = tools};
    order.Apply(1, &talk);
    EXPECT_EQ(talk.tools, tools);
  }
  EXPECT_EQ(order.lists(), 0u);
}

}  // namespace
}  // namespace cairn::tool_order_test
