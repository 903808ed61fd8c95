#include "api/openai/responses_request.h"

#include <gtest/gtest.h>

#include "chat/text/text_parts.h"

namespace cairn::responses_request_test {
namespace {

ResponsesRequest Parse(const std::string& body) {
  const auto request = ParseResponsesRequest(Json::parse(body), GenerationParams{});
  EXPECT_TRUE(request.has_value()) << (request ? "" : request.error().message);
  return request ? *request : ResponsesRequest{};
}

std::string ErrorOf(const std::string& body) {
  const auto request = ParseResponsesRequest(Json::parse(body), GenerationParams{});
  EXPECT_FALSE(request.has_value()) << body;
  return request ? "" : request.error().message;
}

// One line a message: role (reasoning) content [name arguments id] …
std::string Lines(const ResponsesRequest& request) {
  std::string lines;
  for (const Message& message : request.chat.conversation.messages) {
    lines += std::string(RoleName(message.role));
    if (!message.reasoning.empty()) lines += " (" + message.reasoning + ")";
    lines += " " + message.content;
    for (const ToolCall& call : message.tool_calls) {
      lines += " [" + call.name + " " + call.arguments + " " + call.id + "]";
    }
    if (!message.tool_call_id.empty()) lines += " <- " + message.tool_call_id;
    lines += "\n";
  }
  return lines;
}

TEST(ResponsesRequest, AStringIsAUsersMessageBehindTheInstructions) {
  EXPECT_EQ(Lines(Parse(R"({"instructions":"Be brief.","input":"hi"})")),
            "system Be brief.\nuser hi\n");
  EXPECT_EQ(Lines(Parse(R"({"instructions":null,"input":"hi"})")), "user hi\n");
}

TEST(ResponsesRequest, TheItemsOfOneAnswerBecomeOneMessage) {
  EXPECT_EQ(Lines(Parse(R"({"input":[
      {"type":"message","role":"developer","content":[{"type":"input_text","text":"Be brief."}]},
      {"role":"user","content":[{"type":"input_text","text":"Rome "},
                                {"type":"input_text","text":"please"}]},
      {"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"short"}],
       "content":[{"type":"reasoning_text","text":"Let me see."}],"encrypted_content":null},
      {"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look."}]},
      {"type":"function_call","call_id":"call_1","name":"weather","arguments":"{\"a\":1}"},
      {"type":"function_call","call_id":"call_2","name":"clock","arguments":"{}"},
      {"type":"function_call_output","call_id":"call_1","output":"18 degrees"},
      {"type":"function_call_output","call_id":"call_2","output":[
          {"type":"input_text","text":"noon"}]},
      {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Warm."}]},
      {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Noon."}]}]})")),
            "developer Be brief.\nuser Rome please\n"
            "assistant (Let me see.) I look. [weather {\"a\":1} call_1] [clock {} call_2]\n"
            "tool 18 degrees <- call_1\ntool noon <- call_2\nassistant Warm.\nassistant Noon.\n");
}

TEST(ResponsesRequest, EveryTextIsAPartOfItsOwn) {
  const std::string two = R"([{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}])";
  ResponsesRequest request =
      Parse(R"({"input":[{"role":"developer","content":)" + two + R"(},{"role":"user","content":)" +
            two + R"(},{"type":"reasoning","summary":[{"type":"summary_text","text":"c"},)" +
            R"({"type":"summary_text","text":"d"}]},{"role":"assistant","content":[)" +
            R"({"type":"output_text","text":"a"},{"type":"output_text","text":"b"}]},)" +
            R"({"type":"function_call_output","call_id":"t","output":)" + two + "}]}");
  JoinTextParts({}, &request.chat.conversation);
  EXPECT_EQ(Lines(request), "developer a\nb\nuser a\nb\nassistant (c\nd) a\nb\ntool a\nb <- t\n");
}

TEST(ResponsesRequest, TextsAreJoinedWhateverIsLeftOutBetweenThem) {
  ResponsesRequest request = Parse(R"({"input":[
      {"type":"reasoning","summary":[{"type":"summary_text","text":"c"}]},
      {"type":"reasoning","summary":[{"type":"summary_text","text":"d"}]},
      {"role":"assistant","content":[{"type":"output_text","text":"a"},{"type":"of_mine"},
                                     {"type":"refusal","refusal":"b"}]},
      {"type":"mcp_call","id":"m","name":"f","arguments":"{}","output":"o","error":"e"}]})");
  JoinTextParts({}, &request.chat.conversation);
  EXPECT_EQ(Lines(request), "assistant (c\nd) a\nb [f {} m]\ntool o\ne <- m\n");
  EXPECT_EQ(request.chat.conversation.left_out, (std::vector<std::string>{"of_mine"}));
}

TEST(ResponsesRequest, ReasoningMayLackItsContent) {
  EXPECT_EQ(Lines(Parse(R"({"input":[
      {"type":"reasoning","summary":[{"type":"summary_text","text":"short"}]},
      {"type":"function_call","call_id":"1","name":"clock","arguments":"{}"},
      {"type":"reasoning","summary":[],"content":[],"encrypted_content":"xyz"},
      {"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"again"}]},
      {"type":"message","role":"assistant","content":"so"}]})")),
            "assistant (short)  [clock {} 1]\nassistant (again) so\n");
}

TEST(ResponsesRequest, ArgumentsMayBeCutOrAnObjectOrNone) {
  EXPECT_EQ(Lines(Parse(R"({"input":[
      {"role":"user","content":"hi"},
      {"type":"function_call","call_id":"1","name":"f","arguments":"{\"a\": \"b",
       "status":"incomplete"},
      {"type":"function_call","call_id":"2","name":"g","arguments":{"a":1}},
      {"type":"function_call","call_id":"3","name":"","arguments":""},
      {"type":"function_call","call_id":"4","name":"h","arguments":null}]})")),
            "user hi\nassistant  [f {\"a\": \"b 1] [g {\"a\":1} 2] [  3] [h  4]\n");
}

TEST(ResponsesRequest, ItemsOfItsMakersServiceAreLeftOutAndNamed) {
  const ResponsesRequest request = Parse(R"({"input":[
      {"type":"web_search_call","id":"ws_1","status":"completed"},
      {"type":"file_search_call","id":"fs_1","queries":[],"results":null},
      {"type":"computer_call","id":"cu_1","call_id":"c","action":{"type":"click"}},
      {"type":"computer_call_output","call_id":"c","output":{"type":"computer_screenshot"}},
      {"type":"web_search_call","id":"ws_2","status":"completed"},
      {"type":"mcp_list_tools","id":"mcpl_1","tools":[]},
      {"type":"reasoning","summary":[],"encrypted_content":"xyz"},
      {"role":"assistant","content":[{"type":"output_text","text":"Found."},
                                     {"type":"of the future"}]},
      {"role":"user","content":"hi"}]})");
  EXPECT_EQ(Lines(request), "assistant Found.\nuser hi\n");
  EXPECT_EQ(request.chat.conversation.left_out,
            (std::vector<std::string>{"web_search_call", "file_search_call", "computer_call",
                                      "computer_call_output", "mcp_list_tools",
                                      "encrypted_reasoning", "others"}));
}

TEST(ResponsesRequest, CallsOfOtherKindsAreCallsWithArguments) {
  const ResponsesRequest request = Parse(R"({"input":[
      {"type":"custom_tool_call","call_id":"c1","name":"patch","input":"*** \"a\""},
      {"type":"custom_tool_call_output","call_id":"c1","output":"done"},
      {"type":"mcp_call","id":"mcp_1","server_label":"s","name":"ask","arguments":"{\"q\":1}",
       "output":"42","error":null},
      {"type":"mcp_call","id":"mcp_2"},
      {"type":"function_call","call_id":"c2","name":"now","arguments":{"a":[1]}}]})");
  EXPECT_EQ(Lines(request),
            "assistant  [patch {\"input\":\"*** \\\"a\\\"\"} c1]\ntool done <- c1\n"
            "assistant  [ask {\"q\":1} mcp_1]\ntool 42 <- mcp_1\n"
            "assistant  [now {\"a\":[1]} c2]\n");
  EXPECT_EQ(request.chat.conversation.left_out, (std::vector<std::string>{"mcp_call"}));
}

TEST(ResponsesRequest, FunctionsAreShownThoseInsideNamespacesToo) {
  const std::string body = R"({"input":"hi","tools":[
      {"type":"function","name":"shell","description":"Runs it.","strict":false,
       "parameters":{"type":"object"}},
      {"type":"namespace","name":"desk","description":"d","tools":[
          {"type":"function","name":"clock","parameters":{"type":"object"}},
          {"type":"function","name":"shell","parameters":{"type":"object"}}]}])";
  const ResponsesRequest request = Parse(body + "}");
  EXPECT_EQ(request.chat.conversation.tools.text(),
            R"([{"type":"function","function":{"name":"shell","description":"Runs it.",)"
            R"("parameters":{"type":"object"}}},)"
            R"({"type":"function","function":{"name":"clock","parameters":{"type":"object"}}}])");
  EXPECT_EQ(request.tools, (ResponseTools{{"clock", {.name_space = "desk"}}, {"shell", {}}}));
  const ChatRequest none = Parse(body + R"(,"tool_choice":"none"})").chat;
  EXPECT_EQ(none.conversation.tools, request.chat.conversation.tools);
  EXPECT_EQ(none.tool_choice.kind, ToolChoice::Kind::kNone);
}

TEST(ResponsesRequest, ACustomToolIsAFunctionOfOneText) {
  const ResponsesRequest request = Parse(R"({"input":"hi","tools":[
      {"type":"custom","name":"note"},
      {"type":"custom","name":"patch","description":"Edits.",
       "format":{"type":"grammar","syntax":"lark","definition":"start: \"a\""}}]})");
  const std::string parameters =
      R"("parameters":{"type":"object","properties":{"input":{"type":"string"}},)"
      R"("required":["input"]})";
  EXPECT_EQ(request.chat.conversation.tools.text(),
            R"([{"type":"function","function":{"name":"note",)" + parameters +
                R"(}},{"type":"function","function":{"name":"patch","description":)"
                R"("Edits.\n\nThe input must match this lark grammar:\nstart: \"a\"",)" +
                parameters + "}}]");
  EXPECT_EQ(request.tools.at("patch").kind, ResponseTool::Kind::kCustom);
  EXPECT_EQ(request.chat.loosened, Loosened{"tools[1].format"});
}

TEST(ResponsesRequest, ASearchOfTheWebIsLeftOutAndOtherToolsOfTheServiceAreRefused) {
  const ResponsesRequest request =
      Parse(R"({"input":"hi","tools":[{"type":"web_search","external_web_access":true},
                                      {"type":"function","name":"f"}]})");
  EXPECT_EQ(request.chat.conversation.tools.size(), 1u);
  EXPECT_EQ(request.chat.conversation.left_out, (std::vector<std::string>{"web_search"}));
  for (const char* type : {"file_search", "code_interpreter", "image_generation", "mcp",
                           "local_shell", "shell", "computer", "apply_patch", "of_the_future"}) {
    const std::string error =
        ErrorOf(R"({"input":"hi","tools":[{"type":")" + std::string(type) + "\"}]}");
    EXPECT_TRUE(error.starts_with("'tools[0].type' must be ")) << error;
    EXPECT_NE(error.find(type), std::string::npos) << error;
  }
}

std::string SearchingTools(const std::string& execution) {
  return R"("tools":[
      {"type":"tool_search","execution":")" +
         execution + R"(","description":"Finds tools.","parameters":{"type":"object"}},
      {"type":"function","name":"now"},
      {"type":"function","name":"mail","description":"Sends.","defer_loading":true},
      {"type":"namespace","name":"crm","description":"d","tools":[
          {"type":"function","name":"customer","defer_loading":true}]}])";
}

std::vector<std::string> Names(const Tools& tools) {
  std::vector<std::string> names;
  for (const Json& tool : tools.list()) names.push_back(tool["function"]["name"].text());
  return names;
}

TEST(ResponsesRequest, AClientsSearchIsAFunctionAndDeferredToolsWaitForIt) {
  const ResponsesRequest request = Parse(R"({"input":"hi",)" + SearchingTools("client") + "}");
  EXPECT_EQ(Names(request.chat.conversation.tools),
            (std::vector<std::string>{"tool_search", "now"}));
  EXPECT_EQ(request.tools.at("tool_search").kind, ResponseTool::Kind::kSearch);
}

TEST(ResponsesRequest, WithoutAClientsSearchDeferredToolsAreThereFromTheBeginning) {
  const std::string server = R"({"input":"hi",)" + SearchingTools("server") + "}";
  EXPECT_EQ(Names(Parse(server).chat.conversation.tools),
            (std::vector<std::string>{"now", "mail", "customer"}));
  EXPECT_EQ(Names(Parse(R"({"input":"hi","tools":[
                {"type":"function","name":"mail","defer_loading":true}]})")
                      .chat.conversation.tools),
            std::vector<std::string>{"mail"});
}

TEST(ResponsesRequest, WhatAClientsSearchFoundIsShownWhereItStandsAndMayBeCalled) {
  const std::string found = R"({"type":"tool_search_call","call_id":"s1","execution":"client",
       "arguments":{"goal":"mail"}},
      {"type":"tool_search_output","call_id":"s1","execution":"client","tools":[
          {"type":"function","name":"mail","description":"Sends.","defer_loading":true,
           "parameters":{"type":"object"}},
          {"type":"namespace","name":"crm","description":"d","tools":[
              {"type":"function","name":"customer","defer_loading":true}]}]})";
  const ResponsesRequest request = Parse(R"({"input":[{"role":"user","content":"hi"},)" + found +
                                         "," + found + "]," + SearchingTools("client") + "}");
  const std::string lines =
      "assistant  [tool_search {\"goal\":\"mail\"} s1]\n"
      "tool {\"name\":\"mail\",\"description\":\"Sends.\",\"parameters\":"
      "{\"type\":\"object\"}}\n{\"name\":\"customer\"}\n <- s1\n";
  EXPECT_EQ(Lines(request), "user hi\n" + lines + lines);
  EXPECT_EQ(Names(request.chat.conversation.tools),
            (std::vector<std::string>{"tool_search", "now"}));
  EXPECT_EQ(Names(request.chat.conversation.loaded_tools),
            (std::vector<std::string>{"mail", "customer"}));
  EXPECT_EQ(request.tools.at("customer").name_space, "crm");
  EXPECT_TRUE(Parse(R"({"input":[{"role":"user","content":"hi"},
      {"type":"tool_search_output","call_id":null,"execution":"server","tools":[]}]})")
                  .chat.conversation.left_out == std::vector<std::string>{"tool_search_output"});
  EXPECT_TRUE(ErrorOf(R"({"input":[{"type":"tool_search_output","execution":"client",
                          "call_id":"s"}]})")
                  .starts_with("'input[0].tools' must be a list"));
}

TEST(ResponsesRequest, LimitsAreReadAndWhatCodexSendsBesidesIsIgnored) {
  const ChatRequest chat =
      Parse(
          R"({"input":"hi","max_output_tokens":7,"temperature":0.5,"top_p":0.25,"stream":true,
          "reasoning":{"summary":"auto"},"store":false,"include":["reasoning.encrypted_content"],
          "prompt_cache_key":"k","client_metadata":{"a":"b"},"parallel_tool_calls":true,
          "previous_response_id":null,"text":{"verbosity":"low"},"model":"m"})")
          .chat;
  EXPECT_EQ(chat.params.tokens_max, 7u);
  EXPECT_FLOAT_EQ(chat.params.sampling.temperature, 0.5F);
  EXPECT_FLOAT_EQ(chat.params.sampling.top_p, 0.25F);
  EXPECT_TRUE(chat.stream);
}

TEST(ResponsesRequest, ATextFormatIsTheGrammarOfChatsResponseFormat) {
  const std::string schema =
      R"({"type":"object","properties":{"warm":{"type":"boolean"}},"required":["warm"]})";
  const auto grammar = [](const std::string& format) {
    return Parse(R"({"input":"hi","text":{"verbosity":"low","format":)" + format + "}}")
        .chat.grammar;
  };
  const auto of_chat = [](const std::string& format) {
    const auto request = ParseChatRequest(
        Json::parse(R"({"messages":[{"role":"user","content":"hi"}],"response_format":)" + format +
                    "}"),
        GenerationParams{});
    return request ? request->grammar : request.error().message;
  };
  EXPECT_EQ(grammar(R"({"type":"text"})"), "");
  EXPECT_EQ(grammar(R"({"type":"json_object"})"), of_chat(R"({"type":"json_object"})"));
  const std::string constrained =
      grammar(R"({"type":"json_schema","name":"sky","strict":true,"schema":)" + schema + "}");
  EXPECT_NE(constrained, grammar(R"({"type":"json_object"})"));
  EXPECT_EQ(constrained, of_chat(R"({"type":"json_schema","json_schema":{"name":"sky","schema":)" +
                                 schema + "}}"));
}

TEST(ResponsesRequest, AContinuedOneHasTheItemsOfItsHistoryBehindItsOwnInstructions) {
  const ResponseTurns history = {std::make_shared<ResponseTurn>(
      ResponseTurn{"resp_1", R"([{"role":"user","content":"Rome?"}])",
                   R"({"instructions":"Be loud.","output":[
          {"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"Hm."}]},
          {"type":"function_call","call_id":"c1","name":"weather","arguments":"{}"}]})"})};
  const auto request = ParseResponsesRequest(
      Json::parse(R"({"instructions":"Be brief.","previous_response_id":"resp_1","input":[
          {"type":"function_call_output","call_id":"c1","output":"warm"}]})"),
      GenerationParams{}, history);
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(Lines(*request),
            "system Be brief.\nuser Rome?\nassistant (Hm.)  [weather {} c1]\ntool warm <- c1\n");
  EXPECT_EQ(request->repeated["previous_response_id"], "resp_1");
  EXPECT_TRUE(request->store);
}

TEST(ResponsesRequest, APreviousResponseIsFoundOrSaidToBeMissing) {
  ManualClock clock;
  StoredResponses stored(&clock, {});
  stored.Store(1, {"resp_1", "[]", "{}"}, nullptr);
  const auto find = [&](const char* body, StoredResponses* where) {
    return FindPreviousResponse(Json::parse(body), 1, where);
  };
  EXPECT_EQ((*find(R"({"previous_response_id":"resp_1"})", &stored))->turns().size(), 1u);
  EXPECT_EQ(*find(R"({"previous_response_id":null})", &stored), nullptr);
  EXPECT_EQ(*find("{}", nullptr), nullptr);
  const auto missing = find(R"({"previous_response_id":"resp_2"})", &stored);
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().status, 404);
  EXPECT_EQ(missing.error().field, "previous_response_id");
  for (const auto& [body, where] :
       {std::pair<const char*, StoredResponses*>{R"({"previous_response_id":"resp_1"})", nullptr},
        {R"({"previous_response_id":7})", &stored}}) {
    const auto wrong = find(body, where);
    ASSERT_FALSE(wrong.has_value());
    EXPECT_EQ(wrong.error().status, 400);
    EXPECT_EQ(wrong.error().field, "previous_response_id");
  }
}

TEST(ResponsesRequest, MistakesAreNamed) {
  const auto begins = [](const std::string& body, const std::string& field) {
    const std::string error = ErrorOf(body);
    EXPECT_TRUE(error.starts_with("'" + field + "' must be ")) << error;
  };
  begins("{}", "input");
  begins(R"({"input":[]})", "input");
  begins(R"({"input":[7]})", "input[0]");
  begins(R"({"input":[{"content":"x"}]})", "input[0].role");
  begins(R"({"input":[{"role":"tool","content":"x"}]})", "input[0].role");
  begins(R"({"input":[{"role":"user"}]})", "input[0].content");
  begins(R"({"input":[{"role":"user","content":[{"type":"input_file"}]}]})",
         "input[0].content[0].type");
  begins(R"({"input":[{"type":"function_call","name":"n","arguments":"{}"}]})", "input[0].call_id");
  begins(R"({"input":[{"type":"function_call_output","call_id":"1"}]})", "input[0].output");
  begins(R"({"input":[{"type":"item_reference","id":"msg_1"}]})", "input[0].type");
  begins(R"({"input":"x","instructions":[]})", "instructions");
  begins(R"({"input":"x","conversation":"conv_1"})", "conversation");
  begins(R"({"input":"x","prompt":{"id":"pmpt_1"}})", "prompt");
  begins(R"({"input":"x","store":"yes"})", "store");
  begins(R"({"input":"x","metadata":{"a":1}})", "metadata");
  begins(R"({"input":"x","metadata":["a"]})", "metadata");
  begins(R"({"input":"x","metadata":{"a":")" + std::string(513, 'x') + R"("}})", "metadata");
  begins(R"({"input":"x","tools":[{"type":"function"}]})", "tools[0].name");
  begins(R"({"input":"x","tool_choice":"always"})", "tool_choice");
  begins(R"({"input":"x","text":7})", "text");
  begins(R"({"input":"x","text":{"format":"json"}})", "text.format.type");
  begins(R"({"input":"x","text":{"format":{"type":"xml"}}})", "text.format.type");
  begins(R"({"input":"x","text":{"format":{"type":"json_schema"}}})", "text.format.schema");
  begins(R"({"input":"x","text":{"format":{"type":"json_schema","schema":{"type":"pile"}}}})",
         "text.format.schema.type");
  begins(R"({"input":"x","max_output_tokens":"7"})", "max_output_tokens");
}

}  // namespace
}  // namespace cairn::responses_request_test
