#include "api/anthropic/anthropic_request.h"

#include <gtest/gtest.h>

#include "chat/text/text_parts.h"

namespace cairn::anthropic_request_test {
namespace {

Conversation Parse(const std::string& body) {
  auto conversation = ParseMessagesConversation(Json::parse(body));
  EXPECT_TRUE(conversation.has_value()) << (conversation ? "" : conversation.error().message);
  return conversation ? *conversation : Conversation{};
}

// The conversation of one message.
Conversation ParseOne(const std::string& message) {
  return Parse(R"({"messages":[)" + message + "]}");
}

std::string ErrorOf(const std::string& body) {
  const auto request = ParseMessagesRequest(Json::parse(body), GenerationParams{});
  EXPECT_FALSE(request.has_value());
  return request ? "" : request.error().message;
}

std::string ErrorOfUserBlock(const std::string& block) {
  return ErrorOf(R"({"max_tokens":1,"messages":[{"role":"user","content":[)" + block + "]}]}");
}

ChatRequest ParseRequest(const std::string& fields) {
  const auto request = ParseMessagesRequest(
      Json::parse(R"({"messages":[{"role":"user","content":"hi"}],)" + fields + "}"),
      GenerationParams{});
  EXPECT_TRUE(request.has_value()) << (request ? "" : request.error().message);
  return request ? *request : ChatRequest{};
}

// role: content, one line a message.
std::string Lines(const Conversation& conversation) {
  std::string lines;
  for (const Message& message : conversation.messages) {
    lines += std::string(RoleName(message.role)) + ": " + message.content + "\n";
  }
  return lines;
}

TEST(AnthropicRequest, SystemIsTheFirstMessageAsAStringOrInBlocks) {
  const std::string messages = R"("messages":[{"role":"user","content":"hi"}]})";
  const std::string expected = "system: You are brief.\nuser: hi\n";
  EXPECT_EQ(Lines(Parse(R"({"system":"You are brief.",)" + messages)), expected);
  EXPECT_EQ(Lines(Parse(R"({"system":[{"type":"text","text":"You are "},
                           {"type":"text","text":"brief.",
                            "cache_control":{"type":"ephemeral","ttl":"1h"}}],)" +
                        messages)),
            expected);
  EXPECT_EQ(Lines(Parse(R"({"system":[],)" + messages)), "user: hi\n");
}

TEST(AnthropicRequest, ASystemMessageAmongTheMessagesStaysInItsPlace) {
  const Conversation conversation = Parse(R"({"system":"first","messages":[
      {"role":"user","content":"hi"},
      {"role":"system","content":[{"type":"text","text":"second"}]},
      {"role":"assistant","content":"yes"},
      {"role":"system","content":"third"},
      {"role":"user","content":[{"type":"text","text":"go "},{"type":"text","text":"on"}]}]})");
  EXPECT_EQ(Lines(conversation),
            "system: first\nuser: hi\nsystem: second\nassistant: yes\nsystem: third\n"
            "user: go on\n");
}

TEST(AnthropicRequest, AnAssistantsBlocksBecomeOneMessage) {
  const Conversation conversation = ParseOne(R"({"role":"assistant","content":[
      {"type":"thinking","thinking":"Rome is ","signature":"c2ln"},
      {"type":"redacted_thinking","data":"xyz"},
      {"type":"thinking","thinking":"warm.","signature":""},
      {"type":"text","text":"I look."},
      {"type":"tool_use","id":"toolu_1","name":"weather","input":{"city":"Rome","days":[1,2]}},
      {"type":"tool_use","id":"toolu_2","name":"clock","input":{}}]})");
  ASSERT_EQ(conversation.messages.size(), 1u);
  const Message& message = conversation.messages[0];
  EXPECT_EQ(message.role, Role::kAssistant);
  EXPECT_EQ(message.reasoning, "Rome is \nwarm.") << "whoever signed it";
  EXPECT_EQ(message.content, "I look.");
  ASSERT_EQ(message.tool_calls.size(), 2u);
  EXPECT_EQ(message.tool_calls[0].id, "toolu_1");
  EXPECT_EQ(message.tool_calls[0].name, "weather");
  EXPECT_EQ(message.tool_calls[0].arguments, R"({"city":"Rome","days":[1,2]})");
  EXPECT_EQ(message.tool_calls[1].arguments, "{}");
}

TEST(AnthropicRequest, ToolResultsBecomeToolMessagesAndTextFollowsThem) {
  const Conversation conversation = ParseOne(R"({"role":"user","content":[
      {"type":"text","text":"Here. "},
      {"type":"tool_result","tool_use_id":"toolu_1","content":"18 degrees"},
      {"type":"tool_result","tool_use_id":"toolu_2","is_error":true,"content":[
          {"type":"text","text":"no "},{"type":"text","text":"clock"}]},
      {"type":"tool_result","tool_use_id":"toolu_3"},
      {"type":"tool_result","tool_use_id":"toolu_4","content":[
          {"type":"tool_reference","tool_name":"calendar"}]},
      {"type":"text","text":"And now?","cache_control":{"type":"ephemeral"}}]})");
  EXPECT_EQ(Lines(conversation),
            "tool: 18 degrees\ntool: no clock\ntool: \ntool: calendar\nuser: Here. And now?\n");
  EXPECT_EQ(conversation.messages[1].tool_call_id, "toolu_2");
}

TEST(AnthropicRequest, EveryTextBlockIsAPartOfItsOwn) {
  const std::string two = R"([{"type":"text","text":"a"},{"type":"text","text":"b"}])";
  Conversation conversation =
      Parse(R"({"system":)" + two + R"(,"messages":[{"role":"user","content":)" + two +
            R"(},{"role":"assistant","content":)" + two +
            R"(},{"role":"user","content":[{"type":"tool_result",)" +
            R"("tool_use_id":"t","content":)" + two + "}]}]}");
  JoinTextParts({}, &conversation);
  EXPECT_EQ(Lines(conversation), "system: a\nb\nuser: a\nb\nassistant: a\nb\ntool: a\nb\n");
}

TEST(AnthropicRequest, ToolResultsAloneMakeNoUserMessage) {
  EXPECT_EQ(Lines(ParseOne(R"({"role":"user","content":[
      {"type":"tool_result","tool_use_id":"toolu_1","content":"done"}]})")),
            "tool: done\n");
  EXPECT_EQ(Lines(ParseOne(R"({"role":"user","content":[]})")), "user: \n");
}

TEST(AnthropicRequest, ToolsTakeOpenAisFormAndThoseThatTheServiceRunsAreLeftOut) {
  const std::string body = R"({"messages":[{"role":"user","content":"hi"}],"tools":[
      {"name":"weather","description":"Tells it.","cache_control":{"type":"ephemeral"},
       "input_schema":{"type":"object","properties":{"city":{"type":"string"}}}},
      {"type":"web_search_20250305","name":"web_search","max_uses":3},
      {"type":"custom","name":"other","input_schema":{"type":"object"}}])";
  const std::string expected =
      R"([{"type":"function","function":{"name":"weather","description":"Tells it.",)"
      R"("parameters":{"type":"object","properties":{"city":{"type":"string"}}}}},)"
      R"({"type":"function","function":{"name":"other","parameters":{"type":"object"}}}])";
  EXPECT_EQ(Parse(body + "}").tools.text(), expected);
  EXPECT_EQ(Parse(body + "}").left_out, (std::vector<std::string>{"web_search_20250305"}));
  for (const char* choice :
       {R"({"type":"auto","disable_parallel_tool_use":true})", R"({"type":"any"})",
        R"({"type":"tool","name":"weather"})", R"({"type":"none"})"}) {
    EXPECT_EQ(Parse(body + R"(,"tool_choice":)" + choice + "}").tools.text(), expected) << choice;
  }
}

TEST(AnthropicRequest, AToolThatNoOtherModelKnowsIsRefusedWithoutASchema) {
  const auto error_of = [](const std::string& tool) {
    return ErrorOf(R"({"max_tokens":1,"messages":[{"role":"user","content":"hi"}],"tools":[)" +
                   tool + "]}");
  };
  for (const char* type : {"bash_20250124", "text_editor_20250728", "computer_20251124",
                           "memory_20250818", "of_the_future"}) {
    const std::string error = error_of(R"({"type":")" + std::string(type) + R"(","name":"x"})");
    EXPECT_TRUE(error.starts_with("'tools[0].type' must be 'custom'")) << error;
    EXPECT_NE(error.find(type), std::string::npos) << error;
  }
  EXPECT_EQ(error_of(R"({"name":"x"})"), "'tools[0].input_schema' must be an object");
}

// A tool that is there, and two that are deferred; `more` is another one.
std::string DeferringTools(const std::string& more = "") {
  return R"("tools":[{"name":"find","input_schema":{}},
      {"name":"mail","description":"Sends.","input_schema":{"type":"object"},
       "defer_loading":true},
      {"name":"chart","input_schema":{},"defer_loading":true})" +
         more + "]";
}

std::string NamesOf(const Tools& tools) {
  std::string names;
  for (const Json& tool : tools.list()) names += tool["function"]["name"].text() + " ";
  return names;
}

TEST(AnthropicRequest, ADeferredToolIsShownWhereAResultRefersToIt) {
  const std::string asked = R"({"role":"user","content":"hi"})";
  const std::string found = R"({"role":"assistant","content":[
        {"type":"tool_use","id":"t","name":"find","input":{}}]},
      {"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[
          {"type":"tool_reference","tool_name":"mail"},
          {"type":"tool_reference","tool_name":"find"},
          {"type":"tool_reference","tool_name":"mail"}]}]})";
  const Conversation before = Parse(R"({"messages":[)" + asked + "]," + DeferringTools() + "}");
  EXPECT_EQ(NamesOf(before.tools), "find ");
  EXPECT_EQ(NamesOf(before.loaded_tools), "");
  Conversation after =
      Parse(R"({"messages":[)" + asked + "," + found + "]," + DeferringTools() + "}");
  EXPECT_EQ(after.tools.text(), before.tools.text());
  EXPECT_EQ(NamesOf(after.loaded_tools), "mail ");
  JoinTextParts({}, &after);
  const std::string mail =
      R"({"name":"mail","description":"Sends.","parameters":{"type":"object"}})";
  EXPECT_EQ(after.messages.back().content, mail + "\nfind\n" + mail);
}

TEST(AnthropicRequest, DeferredToolsAreThereFromTheBeginningWhereOnlyTheServiceCouldSearch) {
  const std::string hi = R"({"messages":[{"role":"user","content":"hi"}],)";
  const auto names = [&](const std::string& fields) {
    return NamesOf(Parse(hi + fields + "}").tools);
  };
  for (const char* search : {"tool_search_tool_regex_20251119", "tool_search_tool_bm25"}) {
    EXPECT_EQ(names(DeferringTools(R"(,{"type":")" + std::string(search) + R"(","name":"s"})")),
              "find mail chart ");
  }
  EXPECT_EQ(names(DeferringTools() + R"(,"tool_choice":{"type":"tool","name":"chart"})"),
            "find mail chart ");
  EXPECT_TRUE(ErrorOf(R"({"max_tokens":1,"messages":[{"role":"user","content":"hi"}],"tools":[
                          {"name":"a","input_schema":{},"defer_loading":true}]})")
                  .starts_with("'tools' must be with one at least without 'defer_loading'"));
}

// "message: marks", with 'h' for an hour and 'i' for inside.
std::string Marks(const Conversation& conversation) {
  const auto list = [](const std::vector<CacheMark>& marks) {
    std::string text;
    for (const CacheMark& mark : marks) {
      text += std::string(mark.ttl_s == 3600 ? "h" : "m") + (mark.inside ? "i" : "");
    }
    return text;
  };
  std::string all = "tools:" + list(conversation.tools_marks);
  for (const Message& message : conversation.messages) {
    all += " " + std::string(RoleName(message.role)) + ":" + list(message.marks);
  }
  return all;
}

TEST(AnthropicRequest, MarksStayWithTheMessagesTheyAreIn) {
  const std::string m = R"("cache_control":{"type":"ephemeral"})";
  const std::string h = R"("cache_control":{"type":"ephemeral","ttl":"1h"})";
  EXPECT_EQ(Marks(Parse(R"({"tools":[{"name":"f","input_schema":{},)" + h + R"(}],
      "system":[{"type":"text","text":"a",)" +
                        m + R"(},{"type":"text","text":"b",)" + h + R"(}],
      "messages":[{"role":"user","content":[{"type":"text","text":"c","cache_control":null},
      {"type":"text","text":"d",)" +
                        m + R"(}]}]})")),
            "tools:h system:mih user:m");
  EXPECT_EQ(Marks(ParseOne(R"({"role":"user","content":[
      {"type":"text","text":"c",)" +
                           m + R"(},
      {"type":"tool_result","tool_use_id":"t","content":"x",)" +
                           h + R"(},
      {"type":"text","text":"d"}]})")),
            "tools: tool:h user:mi");
  EXPECT_EQ(Marks(ParseOne(R"({"role":"assistant","content":[
      {"type":"text","text":"c",)" +
                           m + R"(},
      {"type":"tool_use","id":"t","name":"f","input":{},)" +
                           m + "}]}")),
            "tools: assistant:mim");
  // At the top: the end of the last message.
  EXPECT_EQ(Marks(Parse(R"({"messages":[{"role":"user","content":"a"},
      {"role":"user","content":"b"}],)" +
                        m + "}")),
            "tools: user: user:m");
}

TEST(AnthropicRequest, MarksNeverReachThePrompt) {
  const std::string mark = R"(,"cache_control":{"type":"ephemeral"})";
  const auto body = [](const std::string& more) {
    return R"({"tools":[{"name":"f","input_schema":{})" + more +
           R"(}],"messages":[{"role":"user","content":[{"type":"text","text":"a")" + more + "}]}]}";
  };
  EXPECT_EQ(Parse(body(mark)).tools.text(), Parse(body("")).tools.text());
  EXPECT_EQ(Lines(Parse(body(mark))), Lines(Parse(body(""))));
}

TEST(AnthropicRequest, MoreThanFourMarksAreRefusedInAnthropicsWords) {
  std::string blocks;
  for (int i = 0; i < 5; ++i) {
    blocks += std::string(i == 0 ? "" : ",") +
              R"({"type":"text","text":"a","cache_control":{"type":"ephemeral"}})";
  }
  EXPECT_EQ(ErrorOf(R"({"max_tokens":1,"messages":[{"role":"user","content":[)" + blocks + "]}]}"),
            "A maximum of 4 blocks with cache_control may be provided. Found 5.");
}

TEST(AnthropicRequest, SamplingAndLimitsAreRead) {
  const ChatRequest request = ParseRequest(
      R"("max_tokens":32000,"temperature":0.5,"top_p":0.25,"top_k":7,"stream":true,
         "stop_sequences":["END","\n\nHuman:"])");
  EXPECT_EQ(request.params.tokens_max, 32000u);
  EXPECT_FLOAT_EQ(request.params.sampling.temperature, 0.5F);
  EXPECT_FLOAT_EQ(request.params.sampling.top_p, 0.25F);
  EXPECT_EQ(request.params.sampling.top_k, 7);
  EXPECT_EQ(request.params.stop_texts, (std::vector<std::string>{"END", "\n\nHuman:"}));
  EXPECT_TRUE(request.stream);
}

TEST(AnthropicRequest, WhatClaudeCodeSendsBesidesIsIgnored) {
  const ChatRequest request = ParseRequest(
      R"("max_tokens":1,"model":"m","metadata":{"user_id":"{}"},"safeguards":[{"type":"x"}],
         "thinking":{"type":"adaptive","display":"omitted"},"output_config":{"effort":"high"},
         "context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]})");
  EXPECT_EQ(request.conversation.template_kwargs_json, "");
  EXPECT_EQ(request.conversation.reasoning, (ReasoningWish{.effort = "high"}));
  EXPECT_FALSE(request.stream);
}

TEST(AnthropicRequest, ThinkingHasASwitchAndABudget) {
  const auto off = ParseRequest(R"("max_tokens":1,"thinking":{"type":"disabled"})");
  EXPECT_EQ(off.conversation.reasoning.enabled, false);
  const auto on =
      ParseRequest(R"("max_tokens":1,"thinking":{"type":"enabled","budget_tokens":1024})");
  EXPECT_EQ(on.conversation.reasoning.enabled, true);
  EXPECT_EQ(on.params.reasoning.tokens_max, 1024u);
}

TEST(AnthropicRequest, AnOutputFormatIsTheGrammarOfChatsResponseFormat) {
  const std::string schema =
      R"({"type":"object","properties":{"warm":{"type":"boolean"}},"required":["warm"]})";
  const std::string format = R"({"type":"json_schema","schema":)" + schema + "}";
  const auto of_chat = ParseChatRequest(
      Json::parse(R"({"messages":[{"role":"user","content":"hi"}],"response_format":
                      {"type":"json_schema","json_schema":{"name":"sky","schema":)" +
                  schema + "}}}"),
      GenerationParams{});
  ASSERT_TRUE(of_chat.has_value());
  EXPECT_FALSE(of_chat->grammar.empty());
  for (const std::string& field :
       {R"("output_config":{"effort":"high","format":)" + format + "}",
        R"("output_config":{"format":null},"output_format":)" + format}) {
    const ChatRequest request = ParseRequest(R"("max_tokens":1,)" + field);
    EXPECT_EQ(request.grammar, of_chat->grammar) << field;
    EXPECT_TRUE(request.grammar_is_format) << field;
  }
  EXPECT_EQ(ParseRequest(R"("max_tokens":1,"output_config":{"effort":"high"})").grammar, "");
  EXPECT_EQ(ParseRequest(R"("max_tokens":1,"output_format":null)").grammar, "");
}

TEST(AnthropicRequest, AMistakeInAnOutputFormatIsNamed) {
  const auto error_of = [](const std::string& field) {
    return ErrorOf(R"({"max_tokens":1,"messages":[{"role":"user","content":"hi"}],)" + field + "}");
  };
  const auto begins = [&](const std::string& field, const std::string& place) {
    const std::string error = error_of(field);
    EXPECT_TRUE(error.starts_with("'" + place + "' must be ")) << error;
  };
  begins(R"("output_config":7)", "output_config");
  begins(R"("output_config":{"format":"json"})", "output_config.format.type");
  begins(R"("output_config":{"format":{"type":"json_schema"}})", "output_config.format.schema");
  begins(R"("output_config":{"format":{"type":"json_schema","schema":{"type":"pile"}}})",
         "output_config.format.schema.type");
  begins(R"("output_format":{"type":"xml"})", "output_format.type");
  EXPECT_EQ(
      error_of(R"("output_config":{"format":{"type":"text"}},"output_format":{"type":"text"})"),
      "'output_format' must be absent with 'output_config.format'");
}

TEST(AnthropicRequest, AnImageIsRefusedWithoutAProjector) {
  EXPECT_EQ(ErrorOfUserBlock(R"({"type":"image","source":{}})"),
            "messages[0].content[0]: this server takes no images: start it with --mmproj FILE");
  EXPECT_EQ(ErrorOfUserBlock(R"({"type":"tool_result","tool_use_id":"t","content":[
                                 {"type":"image","source":{}}]})"),
            "messages[0].content[0].content[0]: this server takes no images: start it with "
            "--mmproj FILE");
}

TEST(AnthropicRequest, DocumentsAndSearchResultsOfTextAreText) {
  EXPECT_EQ(Lines(ParseOne(R"({"role":"user","content":[
      {"type":"document","source":{"type":"text","media_type":"text/plain","data":"plain words"}},
      {"type":"text","text":"sum up"}]})")),
            "user: plain words\nsum up\n");
  EXPECT_EQ(Lines(ParseOne(R"({"role":"user","content":[
      {"type":"document","title":"Stones","context":"c","citations":{"enabled":true},
       "source":{"type":"content","content":[{"type":"text","text":"granite"}]}},
      {"type":"document","source":{"type":"content","content":"slate"}},
      {"type":"search_result","source":"https://a.example","title":"Rocks",
       "content":[{"type":"text","text":"basalt"}],"citations":{"enabled":true}}]})")),
            "user: Stones\ngranite\nslate\nRocks\nhttps://a.example\nbasalt\n\n");
  EXPECT_EQ(Lines(ParseOne(R"({"role":"user","content":[
      {"type":"tool_result","tool_use_id":"t","content":[
          {"type":"search_result","source":"s","title":"T","content":[
              {"type":"text","text":"found"}]},
          {"type":"document","source":{"type":"text","data":"read"}}]}]})")),
            "tool: T\ns\nfound\nread\n\n");
  EXPECT_EQ(ErrorOfUserBlock(R"({"type":"document"})"),
            "'messages[0].content[0].source' must be an object with a 'type'");
  EXPECT_EQ(ErrorOfUserBlock(R"({"type":"document","source":{"type":"text"}})"),
            "'messages[0].content[0].source.data' must be a string");
}

TEST(AnthropicRequest, DocumentsHaveLinesOfTheirOwnAndTheirTextsAreParts) {
  const auto lines = [](const PartSeparators& separators, const std::string& message) {
    Conversation conversation = ParseOne(message);
    JoinTextParts(separators, &conversation);
    return Lines(conversation);
  };
  const std::string asked = R"({"role":"user","content":[
      {"type":"text","text":"Read:"},
      {"type":"document","title":"Stones","source":{"type":"content","content":[
          {"type":"text","text":"granite"},{"type":"text","text":"slate"}]}},
      {"type":"search_result","source":"s","title":"T","content":[
          {"type":"text","text":"basalt"},{"type":"text","text":"tuff"}]},
      {"type":"text","text":"Sum up."}]})";
  EXPECT_EQ(lines({}, asked),
            "user: Read:\nStones\ngranite\nslate\nT\ns\nbasalt\ntuff\n\nSum up.\n");
  EXPECT_EQ(lines({.user = ""}, asked),
            "user: Read:\nStones\ngraniteslate\nT\ns\nbasalt\ntuff\nSum up.\n");
  EXPECT_EQ(lines({}, R"({"role":"assistant","content":[
                {"type":"compaction","content":"So far: stones."},
                {"type":"server_tool_use","id":"s","name":"n","input":{}},
                {"type":"text","text":"On."}]})"),
            "assistant: So far: stones.\nOn.\n");
}

TEST(AnthropicRequest, WhatTheServiceDidItselfIsLeftOutOfAnAnswerAndNamed) {
  const Conversation conversation = ParseOne(R"({"role":"assistant","content":[
      {"type":"text","text":"I search. "},
      {"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}},
      {"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[
          {"type":"web_search_result","url":"u","title":"t","encrypted_content":"e"}]},
      {"type":"server_tool_use","id":"srvtoolu_2","name":"code_execution","input":{}},
      {"type":"code_execution_tool_result","tool_use_id":"srvtoolu_2","content":{}},
      {"type":"mcp_tool_use","id":"m","name":"n","server_name":"s","input":{}},
      {"type":"mcp_tool_result","tool_use_id":"m","content":[]},
      {"type":"of\nthe future"},
      {"type":"text","text":"Found.","citations":[{"type":"web_search_result_location"}]}]})");
  EXPECT_EQ(Lines(conversation), "assistant: I search. Found.\n");
  EXPECT_EQ(conversation.left_out,
            (std::vector<std::string>{"server_tool_use", "web_search_tool_result",
                                      "code_execution_tool_result", "mcp_tool_use",
                                      "mcp_tool_result", "others"}));
  EXPECT_EQ(Lines(ParseOne(R"({"role":"assistant","content":[
      {"type":"compaction","content":"So far: stones."}]})")),
            "assistant: So far: stones.\n");
}

TEST(AnthropicRequest, ArgumentsAreStreamedWhileTheyAreWrittenWhereAToolAsksForIt) {
  const std::string tools = R"("max_tokens":1,"tools":[{"name":"a","input_schema":{}},
      {"name":"b","input_schema":{},"eager_input_streaming":)";
  EXPECT_FALSE(ParseRequest(R"("max_tokens":1)").eager_calls);
  EXPECT_FALSE(ParseRequest(tools + "false}]").eager_calls);
  EXPECT_TRUE(ParseRequest(tools + "true}]").eager_calls);
  EXPECT_TRUE(ParseRequest(R"("max_tokens":1,"eager_input_streaming":true)").eager_calls);
}

TEST(AnthropicRequest, MistakesAreNamed) {
  const std::string hi = R"("messages":[{"role":"user","content":"hi"}])";
  const auto begins = [](const std::string& error, const std::string& field) {
    EXPECT_TRUE(error.starts_with("'" + field + "' must be ")) << error;
  };
  begins(ErrorOf("{" + hi + "}"), "max_tokens");
  begins(ErrorOf(R"({"max_tokens":-1,)" + hi + "}"), "max_tokens");
  begins(ErrorOf(R"({"max_tokens":1})"), "messages");
  begins(ErrorOf(R"({"max_tokens":1,"messages":[7]})"), "messages[0]");
  begins(ErrorOf(R"({"max_tokens":1,"messages":[{"role":"tool","content":""}]})"),
         "messages[0].role");
  begins(ErrorOf(R"({"max_tokens":1,"messages":[{"role":"user"}]})"), "messages[0].content");
  begins(ErrorOf(R"({"max_tokens":1,"system":7,)" + hi + "}"), "system");
  begins(ErrorOf(R"({"max_tokens":1,"tools":[{"input_schema":{}}],)" + hi + "}"), "tools[0].name");
  begins(ErrorOf(R"({"max_tokens":1,"tools":{},)" + hi + "}"), "tools");
  begins(ErrorOf(R"({"max_tokens":1,"tool_choice":"auto",)" + hi + "}"), "tool_choice");
  begins(ErrorOf(R"({"max_tokens":1,"tool_choice":{"type":"tool"},)" + hi + "}"),
         "tool_choice.name");
  begins(ErrorOf(R"({"max_tokens":1,"cache_control":{"type":"x"},)" + hi + "}"),
         "cache_control.type");
  begins(ErrorOfUserBlock(R"({"type":"text","text":"a",
                              "cache_control":{"type":"ephemeral","ttl":"2h"}})"),
         "messages[0].content[0].cache_control.ttl");
  begins(ErrorOf(R"({"max_tokens":1,"stop_sequences":[1],)" + hi + "}"), "stop_sequences");
  begins(ErrorOf(R"({"max_tokens":1,"thinking":true,)" + hi + "}"), "thinking");
  begins(ErrorOfUserBlock(R"({"text":"no type"})"), "messages[0].content[0].type");
  begins(ErrorOfUserBlock(R"({"type":"tool_result","content":"x"})"),
         "messages[0].content[0].tool_use_id");
  begins(ErrorOf(R"({"max_tokens":1,"messages":[{"role":"assistant","content":[
                     {"type":"tool_use","id":"1","name":"n","input":7}]}]})"),
         "messages[0].content[0].input");
}

TEST(AnthropicRequest, AnAnswerThatWasCutComesBack) {
  const auto conversation = ParseMessagesConversation(Json::parse(R"({"messages":[
        {"role":"user","content":"go"},
        {"role":"assistant","content":[
          {"type":"thinking","thinking":"half a thou","signature":""},
          {"type":"tool_use","id":"t1","name":"read","input":"{\"path\": \"AAAA"},
          {"type":"tool_use","id":"t2","name":"","input":null}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"no"}]},
        {"role":"assistant","content":[]},
        {"role":"assistant","content":null}]})"),
                                                      {});
  ASSERT_TRUE(conversation.has_value()) << conversation.error().message;
  ASSERT_EQ(conversation->messages.size(), 5u);
  const Message& cut = conversation->messages[1];
  EXPECT_EQ(cut.reasoning, "half a thou");
  ASSERT_EQ(cut.tool_calls.size(), 2u);
  EXPECT_EQ(cut.tool_calls[0].arguments, R"({"path": "AAAA)");
  EXPECT_EQ(cut.tool_calls[1].arguments, "{}");
  EXPECT_EQ(conversation->messages[3].content, "");
  EXPECT_EQ(conversation->messages[4].content, "");
}

}  // namespace
}  // namespace cairn::anthropic_request_test
