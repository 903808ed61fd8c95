#include "api/request/chat_request.h"

#include <gtest/gtest.h>

#include <cmath>

#include "chat/text/text_parts.h"

namespace cairn::chat_request_test {
namespace {

ApiResult<ChatRequest> Parse(const std::string& text) {
  const auto body = ParseBody(text);
  if (!body) return tl::unexpected(body.error());
  return ParseChatRequest(*body, GenerationParams{});
}

std::string WithField(const std::string& field) {
  return R"({"messages":[{"role":"user","content":"hi"}],)" + field + "}";
}

// What a client is told, and about which field.
void ExpectRefused(const std::string& body, const std::string& field, const std::string& expected) {
  const auto request = Parse(body);
  ASSERT_FALSE(request.has_value()) << body;
  EXPECT_EQ(request.error().status, 400) << body;
  EXPECT_EQ(request.error().field, field) << body;
  EXPECT_NE(request.error().message.find(expected), std::string::npos) << request.error().message;
}

TEST(ChatRequest, ReadsWhatClientsSend) {
  const auto request = Parse(R"({
    "model": "any", "stream": true, "stream_options": {"include_usage": true},
    "temperature": 0, "top_p": 0.5, "seed": 7, "max_tokens": 12, "stop": ["END", "\n\n"],
    "unknown_field": {"of": "any kind"}, "user": null,
    "messages": [
      {"role": "system", "content": "be brief"},
      {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
      {"role": "assistant", "content": null, "reasoning_content": "hm",
       "tool_calls": [{"id": "c1", "type": "function",
                       "function": {"name": "ls", "arguments": "{\"p\":1}"}}]},
      {"role": "tool", "tool_call_id": "c1", "content": "x"}]})");
  ASSERT_TRUE(request.has_value()) << request.error().message;
  EXPECT_TRUE(request->stream);
  EXPECT_TRUE(request->options.include_usage);
  EXPECT_EQ(request->params.sampling.temperature, 0.0F);
  EXPECT_EQ(request->params.sampling.seed, 7u);
  EXPECT_EQ(request->params.tokens_max, 12u);
  EXPECT_EQ(request->params.stop_texts, (std::vector<std::string>{"END", "\n\n"}));
  const std::vector<Message>& messages = request->conversation.messages;
  ASSERT_EQ(messages.size(), 4u);
  EXPECT_EQ(messages[1].content, "ab");
  EXPECT_EQ(messages[2].reasoning, "hm");
  EXPECT_EQ(messages[2].tool_calls.at(0).arguments, "{\"p\":1}");
  EXPECT_EQ(messages[3].tool_call_id, "c1");
}

// What differs in form alone must not part two prompts.
TEST(ChatRequest, EqualContentInDifferentFormsIsTheSameConversation) {
  const auto plain = Parse(R"({"messages": [
      {"role": "system", "content": "S"}, {"role": "user", "content": "U"},
      {"role": "assistant", "content": "",
       "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{\"a\":1}"}}]},
      {"role": "tool", "tool_call_id": "c", "content": "T"}]})");
  const auto parts = Parse(R"({"metadata": {"session": "x"}, "messages": [
      {"role": "system", "id": "i1",
       "content": [{"type": "text", "text": "S", "cache_control": {"type": "ephemeral"}}]},
      {"content": [{"text": "U", "type": "text", "id": "i2"}], "role": "user", "name": null,
       "metadata": {"turn": 1}, "cache_control": {"type": "ephemeral"}},
      {"role": "assistant", "content": null, "reasoning_content": null,
       "tool_calls": [{"type": "function", "id": "c", "index": 0,
                       "function": {"arguments": {"a": 1}, "name": "f"}}]},
      {"role": "tool", "content": [{"type": "text", "text": "T"}], "tool_call_id": "c"}]})");
  ASSERT_TRUE(plain.has_value() && parts.has_value());
  const std::vector<Message>& a = plain->conversation.messages;
  const std::vector<Message>& b = parts->conversation.messages;
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].role, b[i].role);
    EXPECT_EQ(a[i].content, b[i].content);
    EXPECT_EQ(a[i].reasoning, b[i].reasoning);
    EXPECT_EQ(a[i].name, b[i].name);
    EXPECT_EQ(a[i].tool_call_id, b[i].tool_call_id);
    ASSERT_EQ(a[i].tool_calls.size(), b[i].tool_calls.size());
  }
  EXPECT_EQ(a[2].tool_calls[0].arguments, b[2].tool_calls[0].arguments);
  EXPECT_EQ(plain->conversation.template_kwargs_json, parts->conversation.template_kwargs_json);
}

TEST(ChatRequest, EveryTextIsAPartOfItsOwnInEveryRole) {
  for (const char* role : {"system", "developer", "user", "assistant", "tool"}) {
    auto request = Parse(R"({"messages": [{"role": ")" + std::string(role) + R"(", "content": [
        {"type": "text", "text": "What is"}, {"type": "text", "text": "the best"}]}]})");
    ASSERT_TRUE(request.has_value()) << role;
    JoinTextParts({}, &request->conversation);
    EXPECT_EQ(request->conversation.messages[0].content, "What is\nthe best") << role;
  }
}

TEST(ChatRequest, ReasoningComesBackInAnyFormThatServersHaveForIt) {
  for (const char* form :
       {R"("content": "A", "reasoning_content": "R")", R"("content": "A", "reasoning": "R")",
        R"("content": "A", "thinking": "R")", R"("content": "A", "reasoning_content": "R",
        "reasoning": "R")",
        R"("content": [{"type": "thinking", "thinking": "R"}, {"type": "text", "text": "A"}])",
        R"("content": [{"type": "thinking", "thinking": [{"type": "text", "text": "R"}]},
                       {"type": "text", "text": "A"}])"}) {
    const auto request =
        Parse(R"({"messages": [{"role": "assistant", )" + std::string(form) + "}]}");
    ASSERT_TRUE(request.has_value()) << form;
    EXPECT_EQ(request->conversation.messages[0].content, "A") << form;
    EXPECT_EQ(request->conversation.messages[0].reasoning, "R") << form;
  }
  ExpectRefused(R"({"messages":[{"role":"assistant","content":[{"type":"thinking"}]}]})",
                "messages[0].content[0].thinking", "a string or a list of texts");
  ExpectRefused(
      R"({"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":[7]}]}]})",
      "messages[0].content[0].thinking", "a string or a list of texts");
}

TEST(ChatRequest, LeavesWhatIsNotSaidToTheServersDefaults) {
  GenerationParams defaults;
  defaults.sampling.temperature = 0.3F;
  defaults.tokens_max = 99;
  const auto request =
      ParseChatRequest(*ParseBody(WithField(R"("max_tokens":-1,"stop":null)")), defaults);
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->params.sampling.temperature, 0.3F);
  EXPECT_EQ(request->params.tokens_max, 99u);
  EXPECT_FALSE(request->stream);
  EXPECT_TRUE(request->reuse);
}

TEST(ChatRequest, NamesTheFieldThatIsWrongAndWhatItTakes) {
  ExpectRefused("{}", "messages", "a list of at least one message");
  ExpectRefused(R"({"messages":[]})", "messages", "a list of at least one message");
  ExpectRefused(R"({"messages":"hi"})", "messages", "a list");
  ExpectRefused(R"({"messages":[3]})", "messages[0]", "an object");
  ExpectRefused(R"({"messages":[{"role":"king","content":"x"}]})", "messages[0].role",
                "'user', 'assistant' or 'tool', not 'king'");
  ExpectRefused(R"({"messages":[{"role":"user"}]})", "messages[0].content", "a string or a list");
  ExpectRefused(R"({"messages":[{"role":"user","content":7}]})", "messages[0].content",
                "a string or a list");
  ExpectRefused(WithField(R"("temperature":"hot")"), "temperature", "a number from 0 to");
  ExpectRefused(WithField(R"("max_tokens":1.5)"), "max_tokens", "a whole number from -2");
  ExpectRefused(WithField(R"("stream":"yes")"), "stream", "true or false");
  ExpectRefused(WithField(R"("stop":[1])"), "stop", "a list of strings");
  ExpectRefused(WithField(R"("tools":{})"), "tools", "a list");
  ExpectRefused(WithField(R"("logit_bias":{"x":"y"})"), "logit_bias", "token ids");
  ExpectRefused(WithField(R"("n":0)"), "n", "from 1 to 128");
  ExpectRefused(WithField(R"("n":129)"), "n", "from 1 to 128");
  ExpectRefused(WithField(R"("logprobs":5)"), "logprobs", "true or false");
  ExpectRefused(WithField(R"("logprobs":true,"top_logprobs":21)"), "top_logprobs", "from 0 to 20");
  ExpectRefused(WithField(R"("id_slot":-2)"), "id_slot", "from -1 to");
  ExpectRefused(WithField(R"("return_progress":1)"), "return_progress", "true or false");
  ExpectRefused(WithField(R"("prompt_cache_key":7)"), "prompt_cache_key", "a string");
  ExpectRefused(WithField(R"("prompt_cache_retention":7)"), "prompt_cache_retention", "a string");
  ExpectRefused(WithField(R"("stream_options":{"include_usage":1})"),
                "stream_options.include_usage", "true or false");
}

TEST(ChatRequest, StopTextsAreFewAndShort) {
  const auto read = [](const Json& stop) {
    return ParseGenerationParams({{"stop", stop}}, GenerationParams());
  };
  EXPECT_TRUE(read(Json(std::vector<std::string>(256, std::string(1024, 'a')))));
  for (const Json& bad : {Json(std::vector<std::string>(257, "a")), Json(std::string(1025, 'a'))}) {
    const auto refused = read(bad);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().status, 400);
    EXPECT_EQ(refused.error().message, "'stop' must be at most 256 strings of at most 1024 bytes");
  }
}

TEST(ChatRequest, ReadsWhatIsAskedForBesideTheText) {
  const auto plain = Parse(WithField(R"("prompt_cache_key":"k","prompt_cache_retention":"24h")"));
  EXPECT_EQ(plain->options.answers, 1u);
  EXPECT_FALSE(plain->options.logprobs.has_value());
  EXPECT_FALSE(plain->options.slot.has_value());
  const auto asked = Parse(
      WithField(R"("n":3,"logprobs":true,"top_logprobs":5,"id_slot":2,"return_progress":true)"));
  EXPECT_EQ(asked->options.answers, 3u);
  EXPECT_EQ(asked->options.logprobs, std::optional<size_t>(5));
  EXPECT_EQ(asked->options.slot, std::optional<size_t>(2));
  EXPECT_TRUE(asked->options.progress);
  EXPECT_FALSE(asked->options.timings_per_token);
  EXPECT_EQ(Parse(WithField(R"("logprobs":true,"id_slot":-1)"))->options.logprobs,
            std::optional<size_t>(0));
}

TEST(ChatRequest, AnAnswerOfAnotherServiceIsReadAsFarAsItIsText) {
  const auto request = Parse(R"({"messages":[
      {"role":"assistant","content":[{"type":"refusal","refusal":"No."}]},
      {"role":"assistant","content":null,"refusal":"Never."},
      {"role":"assistant","content":"I would.","refusal":"But no.","audio":{"id":"audio_1"}},
      {"role":"assistant","content":[{"type":"thinking","thinking":[]},
                                     {"type":"output_text","text":"So."},{"type":"of\nme"}]},
      {"role":"user","content":[{"type":"input_text","text":"go"}],"refusal":null}]})");
  ASSERT_TRUE(request.has_value()) << request.error().message;
  std::vector<std::string> contents;
  for (const Message& message : request->conversation.messages) contents.push_back(message.content);
  EXPECT_EQ(contents,
            (std::vector<std::string>{"No.", "Never.", "I would.\nBut no.", "So.", "go"}));
  EXPECT_EQ(request->conversation.left_out, (std::vector<std::string>{"audio", "others"}));
}

TEST(ChatRequest, TextsAndRefusalsArePartsWhateverIsLeftOutBetweenThem) {
  auto request = Parse(R"({"messages":[{"role":"assistant","content":[
      {"type":"text","text":"I would."},{"type":"image_of_mine"},
      {"type":"thinking","thinking":[{"type":"text","text":"Hm."},
                                     {"type":"reference","reference_ids":[1]},
                                     {"type":"text","text":"No."}]},
      {"type":"refusal","refusal":"But no."},{"type":"output_text","text":"Sorry."}]}]})");
  ASSERT_TRUE(request.has_value()) << request.error().message;
  JoinTextParts({}, &request->conversation);
  EXPECT_EQ(request->conversation.messages[0].content, "I would.\nBut no.\nSorry.");
  EXPECT_EQ(request->conversation.messages[0].reasoning, "Hm.\nNo.");
  EXPECT_EQ(request->conversation.left_out,
            (std::vector<std::string>{"image_of_mine", "reference"}));
}

TEST(ChatRequest, AFunctionsCallAndResultInTheOlderFormAreThoseOfATool) {
  const auto request = Parse(R"({"messages":[
      {"role":"user","content":"go"},
      {"role":"assistant","content":null,"function_call":{"name":"now","arguments":"{\"a\":1}"}},
      {"role":"function","name":"now","content":"10"},
      {"role":"function","name":"other","content":null}]})");
  ASSERT_TRUE(request.has_value()) << request.error().message;
  const auto& messages = request->conversation.messages;
  ASSERT_EQ(messages[1].tool_calls.size(), 1u);
  EXPECT_EQ(messages[1].tool_calls[0].name, "now");
  EXPECT_EQ(messages[1].tool_calls[0].arguments, R"({"a":1})");
  EXPECT_EQ(messages[2].role, Role::kTool);
  EXPECT_EQ(messages[2].content, "10");
  EXPECT_EQ(messages[2].name, "now");
  EXPECT_FALSE(messages[2].tool_call_id.empty());
  EXPECT_EQ(messages[2].tool_call_id, messages[1].tool_calls[0].id);
  EXPECT_EQ(messages[3].role, Role::kTool);
  EXPECT_EQ(messages[3].tool_call_id, "");
  ExpectRefused(R"({"messages":[{"role":"assistant","function_call":"now"}]})",
                "messages[0].function_call", "an object with 'name' and 'arguments'");
  ExpectRefused(R"({"messages":[{"role":"assistant","function_call":{"name":7}}]})",
                "messages[0].function_call.name", "a string");
}

TEST(ChatRequest, HalfAnEmojiIsTheReplacementCharacterWhereverItStands) {
  const auto request = Parse(
      R"({"messages":[{"role":"user","content":"cut \ud83d here"},
          {"role":"assistant","tool_calls":[{"id":"c\udfff","function":{"name":"f",
           "arguments":{"\ud83d":["\ude00"]}}}]}]})");
  ASSERT_TRUE(request.has_value()) << request.error().message;
  const std::string lost = "\xEF\xBF\xBD";
  EXPECT_EQ(request->conversation.messages[0].content, "cut " + lost + " here");
  const ToolCall& call = request->conversation.messages[1].tool_calls.at(0);
  EXPECT_EQ(call.id, "c" + lost);
  EXPECT_EQ(call.arguments, "{\"" + lost + "\":[\"" + lost + "\"]}");
}

TEST(ChatRequest, RefusesPartsItCannotRead) {
  ExpectRefused(R"({"messages":[{"role":"user","content":[{"type":"file","file":{}}]}]})",
                "messages[0].content[0].type", "'image_url' or 'input_audio', not 'file'");
  ExpectRefused(R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":{}}]}]})",
                "messages[0].content[0]", "this server takes no images");
  ExpectRefused(R"({"messages":[{"role":"user","content":[{"text":"no type"}]}]})",
                "messages[0].content[0]", "'type'");
}

TEST(ChatRequest, RefusesWhatWouldChangeTheAnswerAndIsNotThere) {
  ExpectRefused(WithField(R"("best_of":2)"), "best_of", "absent or equal to 'n'");
  ExpectRefused(WithField(R"("top_logprobs":2)"), "top_logprobs", "'logprobs' must be true");
  ExpectRefused(WithField(R"("tool_choice":"always")"), "tool_choice", "'required'");
}

TEST(ChatRequest, ReadsWhatTheAnswerMustBe) {
  EXPECT_EQ(Parse(WithField(R"("temperature":1)"))->grammar, "");
  EXPECT_EQ(Parse(WithField(R"("response_format":{"type":"text"})"))->grammar, "");
  EXPECT_NE(Parse(WithField(R"("response_format":{"type":"json_object"})"))->grammar, "");
  EXPECT_EQ(Parse(WithField(R"("grammar":"root ::= \"a\"")"))->grammar, "root ::= \"a\"");
  const std::string schema = R"("schema":{"type":"integer"})";
  const std::string plain = Parse(WithField(R"("json_schema":{"type":"integer"})"))->grammar;
  EXPECT_NE(plain, "");
  for (const std::string& format :
       {R"({"type":"json_schema","json_schema":{"name":"n","strict":true,)" + schema + "}}",
        R"({"type":"json_schema",)" + schema + "}", R"({"type":"json_object",)" + schema + "}"}) {
    EXPECT_EQ(Parse(WithField(R"("response_format":)" + format))->grammar, plain) << format;
  }
}

TEST(ChatRequest, NamesKeywordsThatAreNotEnforced) {
  const auto request =
      Parse(WithField(R"("response_format":{"type":"json_schema","json_schema":{"schema":
      {"type":"object","properties":{"a":{"type":"array","uniqueItems":true}}}}})"));
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->loosened,
            Loosened{"response_format.json_schema.schema.properties.a.uniqueItems"});
  EXPECT_TRUE(Parse(WithField(R"("json_schema":{"type":"integer"})"))->loosened.empty());
}

TEST(ChatRequest, RefusesWhatItCannotMakeAnAnswerBe) {
  ExpectRefused(WithField(R"("response_format":{"type":"xml"})"), "response_format.type",
                "'json_schema'");
  ExpectRefused(WithField(R"("response_format":7)"), "response_format.type", "'text'");
  ExpectRefused(WithField(R"("response_format":{"type":"json_schema"})"), "response_format.schema",
                "a JSON schema");
  ExpectRefused(WithField(R"("response_format":{"type":"json_schema","json_schema":{"schema":
                          {"properties":{"a":{"multipleOf":"2"}}}}})"),
                "response_format.json_schema.schema.properties.a.multipleOf", "a number");
  ExpectRefused(WithField(R"("grammar":"root ::= (")"), "grammar", "line 1");
  ExpectRefused(WithField(R"("grammar":7)"), "grammar", "a string");
  ExpectRefused(WithField(R"("grammar":"root ::= \"a\"","json_schema":{})"), "grammar",
                "absent with 'json_schema'");
  ExpectRefused(WithField(R"("json_schema":{"allOf":[{"type":"null"},{"type":"string"}]})"),
                "json_schema", "some value fits");
}

TEST(ChatRequest, ReadsTheRarerSamplingFields) {
  const auto request = Parse(WithField(
      R"("typical_p":0.5,"top_n_sigma":1.5,"xtc_probability":0.25,"xtc_threshold":0.125,
         "dynatemp_range":0.5,"dynatemp_exponent":2,"mirostat":2,"mirostat_tau":4,
         "mirostat_eta":0.25,"min_keep":3,"dry_multiplier":0.5,"dry_base":2,"dry_allowed_length":4,
         "dry_penalty_last_n":7,"dry_sequence_breakers":["x"],"samplers":["top_p","temperature"],
         "logit_bias":[[5,1.5],[6,false]])"));
  ASSERT_TRUE(request.has_value()) << request.error().message;
  const SamplingParams& sampling = request->params.sampling;
  EXPECT_EQ(sampling.typical_p, 0.5F);
  EXPECT_EQ(sampling.top_n_sigma, 1.5F);
  EXPECT_EQ(sampling.xtc_probability, 0.25F);
  EXPECT_EQ(sampling.xtc_threshold, 0.125F);
  EXPECT_EQ(sampling.dynatemp_range, 0.5F);
  EXPECT_EQ(sampling.dynatemp_exponent, 2.0F);
  EXPECT_EQ(sampling.mirostat, 2);
  EXPECT_EQ(sampling.mirostat_tau, 4.0F);
  EXPECT_EQ(sampling.mirostat_eta, 0.25F);
  EXPECT_EQ(sampling.min_keep, 3);
  EXPECT_EQ(sampling.dry.multiplier, 0.5F);
  EXPECT_EQ(sampling.dry.base, 2.0F);
  EXPECT_EQ(sampling.dry.allowed_length, 4);
  EXPECT_EQ(sampling.dry.last_n, 7);
  EXPECT_EQ(sampling.dry.breakers, std::vector<std::string>{"x"});
  EXPECT_EQ(sampling.order,
            (std::vector<SamplingStep>{SamplingStep::kTopP, SamplingStep::kTemperature}));
  EXPECT_EQ(sampling.logit_bias.at(0), (std::pair<Token, float>(5, 1.5F)));
  EXPECT_TRUE(std::isinf(sampling.logit_bias.at(1).second));
  ExpectRefused(WithField(R"("samplers":["top_p",7])"), "samplers", "a list of names");
  ExpectRefused(WithField(R"("samplers":7)"), "samplers", "a list of names");
  const std::string longest(100, 'k');
  ExpectRefused(WithField(R"("samplers":")" + longest + R"(k")"), "samplers", "at most 100");
  ExpectRefused(WithField(R"("samplers":["top_k",")" + longest + R"(k"])"), "samplers", "at most");
  ExpectRefused(WithField(R"("adaptive_target":1.5)"), "adaptive_target", "1");
  ExpectRefused(WithField(R"("adaptive_decay":1)"), "adaptive_decay", "0.99");
  ExpectRefused(WithField(R"("mirostat":3)"), "mirostat", "from 0 to 2");
  ExpectRefused(WithField(R"("dry_sequence_breakers":[1])"), "dry_sequence_breakers", "strings");
  ExpectRefused(WithField(R"("logit_bias":[[1]])"), "logit_bias", "a list of");
  ExpectRefused(WithField(R"("logit_bias":[[1,1e300]])"), "logit_bias", "a list of");
}

TEST(ChatRequest, AFormatIsToldFromAGrammarOfTheClients) {
  for (const char* format : {R"("response_format":{"type":"json_object"})",
                             R"("json_schema":{"type":"integer"},"grammar":"")"}) {
    EXPECT_TRUE(Parse(WithField(format))->grammar_is_format) << format;
  }
  EXPECT_FALSE(Parse(WithField(R"("grammar":"root ::= \"a\"")"))->grammar_is_format);
}

// SillyTavern's default preset, which it sends to servers of several kinds.
TEST(ChatRequest, LeavesUnknownSamplingStepsOut) {
  using Step = SamplingStep;
  const auto order = [](const std::string& samplers) {
    const auto request = Parse(WithField("\"samplers\":" + samplers));
    EXPECT_TRUE(request.has_value()) << samplers;
    return request->params.sampling.order;
  };
  EXPECT_EQ(order(R"(["penalties","dry","top_n_sigma","top_k","typ_p","tfs_z","typical_p","xtc",
                      "top_p","min_p","temperature"])"),
            (std::vector<Step>{Step::kPenalties, Step::kDry, Step::kTopNSigma, Step::kTopK,
                               Step::kTypicalP, Step::kXtc, Step::kTopP, Step::kMinP,
                               Step::kTemperature}));
  EXPECT_EQ(order(R"(["typical_p","nucleus","top-k","top_k","temp"])"),
            (std::vector<Step>{Step::kTypicalP, Step::kTopP, Step::kTopK, Step::kTemperature}));
  EXPECT_EQ(order(R"("edskypmxtia")"), AllSamplingSteps());
  EXPECT_EQ(order(R"("k?t")"), (std::vector<Step>{Step::kTopK, Step::kTemperature}));
  EXPECT_TRUE(order("[]").empty());
}

TEST(ChatRequest, TakesBreakersAsTextAndBiasesOfTexts) {
  const auto request = Parse(WithField(R"("dry_sequence_breakers":"[\"\\n\",\":\"]",
                                          "logit_bias":[["ab",-1],[7,2],[" c",false]])"));
  ASSERT_TRUE(request.has_value()) << request.error().message;
  EXPECT_EQ(request->params.sampling.dry.breakers, (std::vector<std::string>{"\n", ":"}));
  ASSERT_EQ(request->params.text_biases.size(), 2u);
  EXPECT_EQ(request->params.text_biases[0], (std::pair<std::string, float>("ab", -1.0F)));
  EXPECT_TRUE(std::isinf(request->params.text_biases[1].second));
  EXPECT_EQ(request->params.sampling.logit_bias.size(), 1u);
  const auto object = Parse(WithField(R"("logit_bias":{"50":1,"word":-2})"));
  EXPECT_EQ(object->params.sampling.logit_bias.at(0), (std::pair<Token, float>(50, 1.0F)));
  EXPECT_EQ(object->params.text_biases.at(0).first, "word");
  ExpectRefused(WithField(R"("dry_sequence_breakers":"[")"), "dry_sequence_breakers", "a list");
  const std::string deep(1'000'000, '[');
  ExpectRefused(WithField("\"dry_sequence_breakers\":\"" + deep + "\""), "dry_sequence_breakers",
                "a list");
  ExpectRefused(WithField("\"logit_bias\":[[\"" + std::string(70'000, 'x') + "\",1]]"),
                "logit_bias", "65536 bytes");
}

TEST(ChatRequest, TakesTheNumbersThatLlamaServerTakes) {
  EXPECT_EQ(Parse(WithField(R"("n_predict":-2)"))->params.tokens_max, SIZE_MAX);
  EXPECT_EQ(Parse(WithField(R"("seed":18446744073709551615)"))->params.sampling.seed, 0xFFFFFFFFU);
  EXPECT_EQ(Parse(WithField(R"("seed":9007199254740993)"))->params.sampling.seed, 1U);
  EXPECT_EQ(Parse(WithField(R"("seed":-1)"))->params.sampling.seed, 0xFFFFFFFFU);
  ExpectRefused(WithField(R"("seed":1.5)"), "seed", "a whole number");
}

std::string Repeated(const std::string& text, size_t times) {
  std::string list = text;
  for (size_t i = 1; i < times; ++i) list += "," + text;
  return list;
}

TEST(ChatRequest, SamplingThatWouldHoldUpAllAnswersIsRefused) {
  ExpectRefused(WithField("\"logit_bias\":[" + Repeated("[1,2]", 10'001) + "]"), "logit_bias",
                "10000");
  ExpectRefused(WithField("\"dry_sequence_breakers\":[" + Repeated("\"x\"", 65) + "]"),
                "dry_sequence_breakers", "at most 64");
  const std::string long_text = "\"" + std::string(513, 'x') + "\"";
  ExpectRefused(WithField("\"dry_sequence_breakers\":[" + Repeated(long_text, 2) + "]"),
                "dry_sequence_breakers", "1024 bytes");
}

TEST(ChatRequest, SaysThatABodyIsNoJson) {
  ExpectRefused("nope", "", "not valid JSON");
  ExpectRefused("[1]", "", "must be a JSON object");
  ExpectRefused("", "", "not valid JSON");
  ExpectRefused(std::string(100000, '['), "", "");
}

TEST(ChatRequest, AnyToolChoiceLeavesTheToolsInThePrompt) {
  const std::string tools = R"("tools":[{"type":"function","function":{"name":"ls"}}])";
  const Tools shown = Parse(WithField(tools))->conversation.tools;
  EXPECT_FALSE(shown.empty());
  for (const std::string choice : {"none", "auto", "required"}) {
    const auto request = Parse(WithField(tools + R"(,"tool_choice":")" + choice + "\""));
    EXPECT_EQ(request->conversation.tools, shown);
  }
}

TEST(ChatRequest, FunctionsAreToolsInTheirOlderForm) {
  const auto parse = [](const std::string& fields) {
    return ParseChatRequest(
        Json::parse(R"({"messages":[{"role":"user","content":"hi"}],"functions":[{"name":"f",)"
                    R"("description":"d","parameters":{"type":"object"}},{"name":"g"}])" +
                    fields + "}"),
        GenerationParams{});
  };
  const auto plain = parse("");
  ASSERT_TRUE(plain.has_value());
  EXPECT_EQ(plain->conversation.tools.size(), 2u);
  EXPECT_TRUE(plain->options.legacy_calls);
  EXPECT_EQ(plain->tool_choice.kind, ToolChoice::Kind::kAuto);
  const auto forced = parse(R"(,"function_call":{"name":"g"})");
  EXPECT_EQ(forced->tool_choice.kind, ToolChoice::Kind::kRequired);
  EXPECT_EQ(forced->tool_choice.names, std::vector<std::string>{"g"});
  EXPECT_FALSE(forced->tool_choice.several);
  EXPECT_EQ(parse(R"(,"function_call":"none")")->tool_choice.kind, ToolChoice::Kind::kNone);
  EXPECT_EQ(parse(R"(,"function_call":"some")").error().message,
            "'function_call' must be 'none', 'auto', or an object with a 'name'");
  EXPECT_EQ(ParseChatRequest(Json::parse(R"({"messages":[{"role":"user","content":"x"}],
                                             "functions":[7]})"),
                             GenerationParams{})
                .error()
                .message,
            "'functions[0]' must be an object");
}

}  // namespace
}  // namespace cairn::chat_request_test
