#include "api/prompt/order/key_order.h"

#include <gtest/gtest.h>

#include <string>

#include "base/json.h"
#include "testing/chat/test_templates.h"

namespace cairn::key_order_test {
namespace {

using namespace test;  // NOLINT: the conversations read better

const std::string kRead =
    R"({"type":"function","function":{"name":"read","parameters":{"type":"object","properties":)"
    R"({"path":{"type":"string"},"line":{"type":"integer"}},"required":["path","line"]}}})";
const std::string kReadAgain =
    R"({"function":{"parameters":{"required":["path","line"],"properties":)"
    R"({"line":{"type":"integer"},"path":{"type":"string"}},"type":"object"},"name":"read"},)"
    R"("type":"function"})";
const std::string kNow = R"({"type":"function","function":{"name":"now"}})";

std::string ToolsOf(KeyOrder* order, const std::string& tools, NamespaceId name_space = 1,
                    const std::string& first_user = "U") {
  Conversation talk{.messages = {User(first_user)}, .tools = Tools::Parse(tools).value()};
  order->Apply(name_space, &talk);
  return talk.tools.text();
}

std::string ArgumentsOf(KeyOrder* order, const std::string& arguments,
                        const std::string& name = "read") {
  Conversation talk{.messages = {User("U"), Call(name, arguments), ToolAnswer("T")}};
  order->Apply(1, &talk);
  return talk.messages[1].tool_calls[0].arguments;
}

TEST(KeyOrder, ToolsHaveTheirKeysInTheOrderThatTheNamespaceKnows) {
  KeyOrder order(1 << 20, 1 << 20);
  EXPECT_EQ(ToolsOf(&order, "[" + kRead + "," + kNow + "]"), "[" + kRead + "," + kNow + "]");
  EXPECT_EQ(ToolsOf(&order, "[" + kReadAgain + "," + kNow + "]"), "[" + kRead + "," + kNow + "]");
  // Of one tool among others, and in a new conversation too.
  EXPECT_EQ(ToolsOf(&order, "[" + kReadAgain + "]", 1, "V"), "[" + kRead + "]");
  EXPECT_EQ(ToolsOf(&order, "[" + kReadAgain + "]", 2), "[" + kReadAgain + "]");
}

TEST(KeyOrder, AToolWithAnotherMeaningIsAnotherTool) {
  KeyOrder order(1 << 20, 1 << 20);
  ToolsOf(&order, "[" + kRead + "]");
  std::string other = kReadAgain;
  other.replace(other.find(R"(["path","line"])"), 15, R"(["line","path"])");
  EXPECT_EQ(ToolsOf(&order, "[" + other + "]"), "[" + other + "]");
}

TEST(KeyOrder, ArgumentsAreShownAsTheModelWroteThem) {
  KeyOrder order(1 << 20, 1 << 20);
  order.Remember(1, "read", R"({"path": "a", "line": 1})");
  order.Remember(1, "read", R"({"line": 2, "path": "b"})");
  EXPECT_EQ(ArgumentsOf(&order, R"({"line":1,"path":"a"})"), R"({"path": "a", "line": 1})");
  EXPECT_EQ(ArgumentsOf(&order, R"({"path":"b","line":2})"), R"({"line": 2, "path": "b"})");
  EXPECT_EQ(ArgumentsOf(&order, R"({"line":1,"path":"a"})", "write"), R"({"line":1,"path":"a"})");
}

TEST(KeyOrder, ArgumentsOfUnknownOriginKeepTheirFirstOrder) {
  KeyOrder order(1 << 20, 1 << 20);
  EXPECT_EQ(ArgumentsOf(&order, R"({"b":1,"a":2})"), R"({"b":1,"a":2})");
  EXPECT_EQ(ArgumentsOf(&order, R"({"a":2,"b":1})"), R"({"b":1,"a":2})");
  EXPECT_EQ(ArgumentsOf(&order, R"({"a":3,"b":1})"), R"({"a":3,"b":1})");
  EXPECT_EQ(ArgumentsOf(&order, R"({"a": "cut)"), R"({"a": "cut)");
  EXPECT_EQ(ArgumentsOf(&order, ""), "");
}

}  // namespace
}  // namespace cairn::key_order_test
