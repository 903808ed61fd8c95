#include "api/grammar/tool_choice.h"

#include <gtest/gtest.h>

namespace cairn::tool_choice_test {
namespace {

using Kind = ToolChoice::Kind;

ApiResult<ToolChoice> Chat(const std::string& fields) {
  return ParseToolChoice(Json::parse("{" + fields + "}"));
}
ApiResult<ToolChoice> Messages(const std::string& choice) {
  return ParseMessagesToolChoice(Json::parse(R"({"tool_choice":)" + choice + "}"));
}

TEST(ToolChoice, HasOpenAisForms) {
  EXPECT_EQ(Chat(""), ToolChoice());
  EXPECT_EQ(Chat(R"("tool_choice":null)"), ToolChoice());
  EXPECT_EQ(Chat(R"("tool_choice":"auto")"), ToolChoice());
  EXPECT_EQ(Chat(R"("tool_choice":"none")"), (ToolChoice{Kind::kNone}));
  EXPECT_EQ(Chat(R"("tool_choice":"required","parallel_tool_calls":false)"),
            (ToolChoice{Kind::kRequired, {}, false}));
  const ToolChoice named = {Kind::kRequired, {"f"}};
  EXPECT_EQ(Chat(R"("tool_choice":{"type":"function","function":{"name":"f"}})"), named);
  EXPECT_EQ(Chat(R"("tool_choice":{"type":"function","name":"f"})"), named);
  const ToolChoice allowed = {Kind::kAuto, {"f", "g"}};
  EXPECT_EQ(Chat(R"("tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[
                 {"type":"function","function":{"name":"f"}},
                 {"type":"function","function":{"name":"g"}}]}})"),
            allowed);
  EXPECT_EQ(Chat(R"("tool_choice":{"type":"allowed_tools","mode":"required","tools":[
                 {"type":"function","name":"f"}]})"),
            named);
}

TEST(ToolChoice, HasAnthropicsForms) {
  EXPECT_EQ(ParseMessagesToolChoice(Json::object()), ToolChoice());
  EXPECT_EQ(Messages(R"({"type":"auto"})"), ToolChoice());
  EXPECT_EQ(Messages(R"({"type":"none"})"), (ToolChoice{Kind::kNone}));
  EXPECT_EQ(Messages(R"({"type":"any","disable_parallel_tool_use":true})"),
            (ToolChoice{Kind::kRequired, {}, false}));
  EXPECT_EQ(Messages(R"({"type":"tool","name":"f"})"), (ToolChoice{Kind::kRequired, {"f"}}));
}

TEST(ToolChoice, ErrorsNameTheField) {
  const auto field = [](const ApiResult<ToolChoice>& read) {
    return read ? "none" : read.error().field;
  };
  EXPECT_EQ(field(Chat(R"("tool_choice":"always")")), "tool_choice");
  EXPECT_EQ(field(Chat(R"("tool_choice":7)")), "tool_choice");
  EXPECT_EQ(field(Chat(R"("tool_choice":{"type":"web_search"})")), "tool_choice.type");
  EXPECT_EQ(field(Chat(R"("tool_choice":{"type":"function","function":{}})")),
            "tool_choice.function.name");
  EXPECT_EQ(field(Chat(R"("tool_choice":{"type":"allowed_tools"})")), "tool_choice.mode");
  EXPECT_EQ(field(Chat(R"("tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{}]})")),
            "tool_choice.tools[0].name");
  EXPECT_EQ(field(Chat(R"("parallel_tool_calls":1)")), "parallel_tool_calls");
  EXPECT_EQ(field(Messages(R"("auto")")), "tool_choice");
  EXPECT_EQ(field(Messages(R"({})")), "tool_choice.type");
  EXPECT_EQ(field(Messages(R"({"type":"tool"})")), "tool_choice.name");
  EXPECT_EQ(field(Messages(R"({"type":"any","disable_parallel_tool_use":"yes"})")),
            "tool_choice.disable_parallel_tool_use");
}

}  // namespace
}  // namespace cairn::tool_choice_test
