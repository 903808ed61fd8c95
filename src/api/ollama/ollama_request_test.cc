#include "api/ollama/ollama_request.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "testing/api/media_samples.h"

namespace cairn::ollama_request_test {
namespace {

OllamaRequest Chat(const std::string& fields) {
  const auto request = ParseOllamaChat(Json::parse(R"({"model":"m",)" + fields + "}"), {});
  EXPECT_TRUE(request.has_value()) << fields << ": " << (request ? "" : request.error().message);
  return request ? *request : OllamaRequest{};
}

OllamaRequest Generate(const std::string& fields) {
  const auto request = ParseOllamaGenerate(Json::parse(R"({"model":"m",)" + fields + "}"), {});
  EXPECT_TRUE(request.has_value()) << fields << ": " << (request ? "" : request.error().message);
  return request ? *request : OllamaRequest{};
}

const std::string kHi = R"("messages":[{"role":"user","content":"hi"}])";

std::string ChatError(const std::string& fields) {
  const auto request = ParseOllamaChat(Json::parse("{" + fields + "}"), {});
  return request ? "" : request.error().message;
}

std::string GenerateError(const std::string& fields) {
  const auto request =
      ParseOllamaGenerate(Json::parse(R"({"model":"m","prompt":"x",)" + fields + "}"), {});
  return request ? "" : request.error().message;
}

TEST(OllamaRequest, StreamsUnlessItSaysOtherwise) {
  EXPECT_TRUE(Chat(kHi).stream);
  EXPECT_TRUE(Chat(kHi).chat.stream);
  EXPECT_FALSE(Chat(kHi + R"(,"stream":false)").stream);
  EXPECT_FALSE(Generate(R"("prompt":"x","stream":false)").chat.stream);
}

TEST(OllamaRequest, MessagesHaveThinkingCallsAndResultsWithoutIds) {
  const OllamaRequest request = Chat(R"("messages":[
      {"role":"system","content":"s"},
      {"role":"user","content":"weather?"},
      {"role":"assistant","content":"","thinking":"t","tool_calls":[
        {"function":{"name":"weather","arguments":{"city":"Rome"}}},
        {"function":{"name":"time","arguments":{}}},
        {"function":{"name":"weather","arguments":{"city":"Oslo"}}}]},
      {"role":"tool","tool_name":"time","content":"noon"},
      {"role":"tool","tool_name":"weather","content":"sunny"},
      {"role":"tool","content":"cold"}])");
  const std::vector<Message>& messages = request.chat.conversation.messages;
  ASSERT_EQ(messages.size(), 6u);
  EXPECT_EQ(messages[2].reasoning, "t");
  ASSERT_EQ(messages[2].tool_calls.size(), 3u);
  EXPECT_EQ(messages[2].tool_calls[0].arguments, R"({"city":"Rome"})");
  EXPECT_EQ(messages[3].tool_call_id, messages[2].tool_calls[1].id);
  EXPECT_EQ(messages[4].tool_call_id, messages[2].tool_calls[0].id);
  EXPECT_EQ(messages[5].tool_call_id, messages[2].tool_calls[2].id);
  EXPECT_EQ(messages[5].name, "weather");
  EXPECT_NE(messages[2].tool_calls[0].id, messages[2].tool_calls[2].id);
}

// As its integration writes it, with our own texts: no ids, results without a tool's name, and
// numbers from a slider.
TEST(OllamaRequest, HomeAssistantsIsTaken) {
  const OllamaRequest request = Chat(R"("stream":true,"keep_alive":-1,"think":false,
      "options":{"num_ctx":8192.0},
      "tools":[{"type":"function","function":{"name":"HassTurnOn","description":"Turns on.",
        "parameters":{"type":"object","properties":{"name":{"type":"string"}},"required":[]}}},
        {"type":"function","function":{"name":"HassTurnOff","parameters":{"type":"object",
        "properties":{"domain":{"type":"array","items":{"type":"string"}}}}}}],
      "messages":[{"role":"system","content":"You are a voice assistant. It is 18:04:05."},
        {"role":"user","content":"Light on, heating off."},
        {"role":"assistant","content":"","tool_calls":[
          {"function":{"name":"HassTurnOn","arguments":{"name":"Lamp"}}},
          {"function":{"name":"HassTurnOff","arguments":{"domain":["climate"]}}}]},
        {"role":"tool","content":"{\"data\": {\"success\": [\"Lamp\"]}, \"error\": null}"},
        {"role":"tool","content":"{\"data\": {}, \"error\": null}"}])");
  const Conversation& conversation = request.chat.conversation;
  EXPECT_EQ(conversation.tools.size(), 2u);
  EXPECT_FALSE(request.unloads);
  ASSERT_EQ(conversation.messages.size(), 5u);
  const auto& calls = conversation.messages[2].tool_calls;
  EXPECT_EQ(conversation.messages[3].tool_call_id, calls[0].id);
  EXPECT_EQ(conversation.messages[3].name, "HassTurnOn");
  EXPECT_EQ(conversation.messages[4].tool_call_id, calls[1].id);
}

TEST(OllamaRequest, IdsOfNewerClientsStay) {
  const OllamaRequest request = Chat(R"("messages":[
      {"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":{}}},
                                        {"id":"b","function":{"name":"f","arguments":{}}}]},
      {"role":"tool","tool_call_id":"b","content":"2"}])");
  EXPECT_EQ(request.chat.conversation.messages[1].tool_call_id, "b");
}

TEST(OllamaRequest, OptionsAreSamplingAndLimits) {
  const OllamaRequest request = Chat(kHi + R"(,"options":{"num_predict":7,"temperature":0.5,
      "top_k":3,"top_p":0.5,"min_p":0.25,"seed":9,"stop":["a","b"],"repeat_penalty":1.5,
      "num_keep":4,"num_ctx":8192.0,"num_gpu":-1,"use_mmap":true,"unknown":"x"})");
  const GenerationParams& params = request.chat.params;
  EXPECT_EQ(params.tokens_max, 7u);
  EXPECT_EQ(params.keep_tokens, 4);
  EXPECT_EQ(params.sampling.temperature, 0.5F);
  EXPECT_EQ(params.sampling.top_k, 3);
  EXPECT_EQ(params.sampling.min_p, 0.25F);
  EXPECT_EQ(params.sampling.seed, 9u);
  EXPECT_EQ(params.sampling.repeat_penalty, 1.5F);
  EXPECT_EQ(params.stop_texts, (std::vector<std::string>{"a", "b"}));
  for (const char* none : {"-1", "-2"}) {
    EXPECT_EQ(Chat(kHi + R"(,"options":{"num_predict":)" + none + "}").chat.params.tokens_max,
              SIZE_MAX);
  }
}

TEST(OllamaRequest, OptionsOfAnotherTypeAreNamed) {
  for (const auto& [option, expected] : std::vector<std::pair<std::string, std::string>>{
           {R"("temperature":"hot")", "'options.temperature' must be a number"},
           {R"("num_predict":"many")", "'options.num_predict' must be a whole number"},
           {R"("num_ctx":"4096")", "'options.num_ctx' must be a whole number"},
           {R"("use_mmap":1)", "'options.use_mmap' must be true or false"},
           {R"("stop":7)", "'options.stop' must be a string"}}) {
    const std::string error = ChatError(R"("model":"m",)" + kHi + R"(,"options":{)" + option + "}");
    EXPECT_TRUE(error.starts_with(expected)) << error;
  }
  EXPECT_EQ(ChatError(R"("model":"m","options":[])"), "'options' must be an object");
}

TEST(OllamaRequest, KeepAliveIsSecondsOrATime) {
  const auto unloads = [](const std::string& value) {
    const auto read = ReadKeepAlive(Json::parse(R"({"keep_alive":)" + value + "}"));
    return read ? (*read ? "yes" : "no") : "error";
  };
  for (const char* value : {"-1", "300", R"("5m")", R"("-1s")", R"("1h30m")", R"("1.5h")",
                            R"("-1")", "null", R"("250ms")", "0.5"}) {
    EXPECT_STREQ(unloads(value), "no") << value;
  }
  for (const char* value : {"0", R"("0")", R"("0s")", R"("0m0s")", "0.0"}) {
    EXPECT_STREQ(unloads(value), "yes") << value;
  }
  for (const char* value : {"true", R"("")", R"("soon")", R"("5 m")", R"("m")", R"("1.2.3s")",
                            R"("5m3")", "[]", R"(".s")"}) {
    EXPECT_STREQ(unloads(value), "error") << value;
  }
}

TEST(OllamaRequest, ThinkIsASwitchOrAnEffort) {
  EXPECT_EQ(Chat(kHi).chat.conversation.reasoning, ReasoningWish{});
  EXPECT_TRUE(*Chat(kHi + R"(,"think":true)").chat.conversation.reasoning.enabled);
  const OllamaRequest off = Chat(kHi + R"(,"think":false)");
  EXPECT_FALSE(*off.chat.conversation.reasoning.enabled);
  EXPECT_FALSE(off.thinks);
  const OllamaRequest low = Chat(kHi + R"(,"think":"low")");
  EXPECT_EQ(low.chat.conversation.reasoning.effort, "low");
  EXPECT_TRUE(low.thinks);
  EXPECT_TRUE(ChatError(R"("model":"m",)" + kHi + R"(,"think":"a bit")")
                  .starts_with("'think' must be true, false, or one of 'none'"));
}

TEST(OllamaRequest, FormatIsJsonOrASchema) {
  EXPECT_EQ(Chat(kHi + R"(,"format":"")").chat.grammar, "");
  EXPECT_NE(Chat(kHi + R"(,"format":"json")").chat.grammar, "");
  const OllamaRequest schema = Chat(kHi + R"(,"format":{"type":"integer"})");
  EXPECT_NE(schema.chat.grammar, "");
  EXPECT_TRUE(schema.chat.grammar_is_format);
  EXPECT_EQ(ChatError(R"("model":"m","format":"xml")"), "'format' must be 'json' or a JSON schema");
  const std::string error = ChatError(R"("model":"m","format":{"type":"pile"})");
  EXPECT_TRUE(error.starts_with("'format.type'")) << error;
}

TEST(OllamaRequest, WithoutMessagesOrPromptAsksForTheModelAlone) {
  for (const char* fields : {R"("messages":[])", R"("messages":null)", R"("keep_alive":5)"}) {
    EXPECT_TRUE(Chat(fields).is_empty) << fields;
    EXPECT_FALSE(Chat(fields).unloads) << fields;
  }
  EXPECT_TRUE(Chat(R"("keep_alive":0)").unloads);
  EXPECT_TRUE(Generate(R"("prompt":"")").is_empty);
  EXPECT_TRUE(Generate(R"("keep_alive":"0s")").unloads);
  EXPECT_FALSE(Generate(R"("prompt":"","suffix":"x")").is_empty);
}

TEST(OllamaRequest, GenerateMakesAConversationOfThePrompt) {
  const OllamaRequest request = Generate(R"("prompt":"p","system":"s")");
  const std::vector<Message>& messages = request.chat.conversation.messages;
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[0].role, Role::kSystem);
  EXPECT_EQ(messages[0].content, "s");
  EXPECT_EQ(messages[1].content, "p");
  EXPECT_EQ(Generate(R"("prompt":"p","context":[1,2])").context, (Tokens{1, 2}));
}

TEST(OllamaRequest, FieldsThatGoNotTogetherAreRefused) {
  EXPECT_TRUE(GenerateError(R"("template":"{{ .Prompt }}")").starts_with("'template' must be abs"));
  EXPECT_EQ(GenerateError(R"("template":"")"), "");
  EXPECT_TRUE(GenerateError(R"("suffix":"s","raw":true)").starts_with("'suffix' must be absent"));
  EXPECT_TRUE(GenerateError(R"("context":[1],"raw":true)").starts_with("'context' must be absent"));
  EXPECT_TRUE(GenerateError(R"("context":[-1])").starts_with("'context' must be the list"));
  EXPECT_TRUE(GenerateError(R"("context":"x")").starts_with("'context' must be the list"));
}

TEST(OllamaRequest, AWrongFieldIsNamed) {
  EXPECT_EQ(ChatError(kHi), "'model' must be the name of a model");
  EXPECT_EQ(ChatError(R"("model":"m","messages":"hi")"), "'messages' must be a list of messages");
  EXPECT_EQ(ChatError(R"("model":"m","messages":[{"role":"robot","content":"x"}])"),
            "'messages[0].role' must be 'system', 'user', 'assistant' or 'tool'");
  EXPECT_EQ(ChatError(R"("model":"m","messages":[{"role":"user","content":["x"]}])"),
            "'messages[0].content' must be a string");
  EXPECT_EQ(ChatError(R"("model":"m","messages":[{"role":"user","images":"x"}])"),
            "'messages[0].images' must be a list of images as base64");
  EXPECT_EQ(ChatError(R"("model":"m","messages":[{"role":"assistant","tool_calls":[)"
                      R"({"function":{"arguments":7}}]}])"),
            "'messages[0].tool_calls[0].function.arguments' must be an object");
}

TEST(OllamaRequest, ImagesStandBeforeTheText) {
  const MediaRules rules = test::TakingRules();
  const std::string first = EncodeBase64(test::PngFile("a"));
  const auto request = ParseOllamaChat(
      {{"model", "m"},
       {"messages", Json::array({{{"role", "user"},
                                  {"content", "What is it?"},
                                  {"images", Json::array({first, test::PngUrl("b")})}}})}},
      {}, rules);
  ASSERT_TRUE(request.has_value()) << request.error().message;
  const Message& message = request->chat.conversation.messages[0];
  EXPECT_EQ(message.content, test::PngMarker("a") + test::PngMarker("b") + "What is it?");
  const auto refused = ParseOllamaChat(
      Json::parse(R"({"model":"m","messages":[{"role":"user","images":["AAAA"]}]})"), {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(refused.error().message.starts_with("messages[0].images[0]: "))
      << refused.error().message;
}

}  // namespace
}  // namespace cairn::ollama_request_test
