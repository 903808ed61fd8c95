#include "api/openai/openai.h"

#include "api/json.h"
#include "testing/api/api_fixture.h"
#include "testing/api/played_answer.h"

namespace cairn::openai_test {
namespace {

const AnswerIdentity kIdentity = {"chatcmpl-1", "m", 1700000000};

using OpenAiTest = ApiTest;

std::vector<std::string> Events(ChatStream* stream) {
  std::string text;
  while (stream->Next(&text)) {
  }
  std::vector<std::string> events;
  const std::string prefix = "data: ";
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find("\n\n", begin);
    EXPECT_EQ(text.substr(begin, prefix.size()), prefix);
    events.push_back(text.substr(begin + prefix.size(), end - begin - prefix.size()));
    begin = end + 2;
  }
  return events;
}

TEST_F(OpenAiTest, AStreamComesInTheOrderClientsExpect) {
  auto chat =
      Start(R"({"messages":[{"role":"user","content":"hi"}],"max_tokens":3,"stream":true})");
  ASSERT_TRUE(chat.has_value());
  ChatStream stream(std::move(*chat), kIdentity, {.include_usage = true});
  const std::vector<std::string> events = Events(&stream);
  ASSERT_EQ(events.size(), 7u);
  const Json first = Json::parse(events[0]);
  EXPECT_EQ(first["object"], "chat.completion.chunk");
  EXPECT_EQ(first["choices"][0]["delta"]["role"], "assistant");
  for (size_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(Json::parse(events[i])["choices"][0]["delta"]["content"].get<std::string>().size(),
              1u);
  }
  const Json finish = Json::parse(events[4]);
  EXPECT_EQ(finish["choices"][0]["finish_reason"], "length");
  EXPECT_FALSE(finish.contains("timings"));
  const Json usage = Json::parse(events[5]);
  EXPECT_TRUE(usage["choices"].empty());
  EXPECT_EQ(usage["usage"]["completion_tokens"], 3);
  EXPECT_EQ(usage["timings"]["predicted_n"], 3);
  EXPECT_EQ(events[6], "[DONE]");
}

TEST_F(OpenAiTest, AnAnswerThatIsCancelledIsCutOffAndSaysSo) {
  const auto play = [](FinishReason reason) {
    return Play({{AnswerDelta::Kind::kCallBegin, "weather", 0},
                 {AnswerDelta::Kind::kCallArguments, R"({"city":"Ro)", 0}},
                reason);
  };
  const auto choice_of = [&](FinishReason reason) {
    const auto never = [] { return false; };
    return Json::parse(*CollectChat(play(reason), kIdentity, never))["choices"][0];
  };
  const auto streamed = [&](FinishReason reason) {
    ChatStream stream(play(reason), kIdentity, {});
    const std::vector<std::string> events = Events(&stream);
    return Json::parse(events.at(events.size() - 2))["choices"][0];
  };
  for (const Json& choice :
       {choice_of(FinishReason::kCancelled), streamed(FinishReason::kCancelled)}) {
    EXPECT_EQ(choice["finish_reason"], "length") << "nobody may run the call";
    EXPECT_EQ(choice["cancelled"], true);
  }
  for (const Json& choice : {choice_of(FinishReason::kLength), streamed(FinishReason::kLength)}) {
    EXPECT_EQ(choice["finish_reason"], "length");
    EXPECT_FALSE(choice.contains("cancelled"));
  }
  EXPECT_EQ(choice_of(FinishReason::kStop)["finish_reason"], "tool_calls");
}

TEST_F(OpenAiTest, TimingsComeWithTheEndWhenUsageIsNotAskedFor) {
  auto chat = Start(R"({"messages":[{"role":"user","content":"hi"}],"max_tokens":1})");
  ASSERT_TRUE(chat.has_value());
  ChatStream stream(std::move(*chat), kIdentity, {});
  const std::vector<std::string> events = Events(&stream);
  ASSERT_EQ(events.size(), 4u);
  EXPECT_TRUE(Json::parse(events[2]).contains("timings"));
}

TEST_F(OpenAiTest, AWholeAnswerCountsWhatWasReused) {
  const std::string body = R"({"messages":[{"role":"user","content":")" + std::string(300, 'x') +
                           R"("}],"max_tokens":4})";
  const auto never = [] { return false; };
  const Json first = Json::parse(*CollectChat(std::move(*Start(body)), kIdentity, never));
  const Json second = Json::parse(*CollectChat(std::move(*Start(body)), kIdentity, never));
  EXPECT_EQ(first["choices"][0]["message"], second["choices"][0]["message"]);
  EXPECT_EQ(first["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
  const int cached = second["usage"]["prompt_tokens_details"]["cached_tokens"].get<int>();
  EXPECT_GT(cached, 0);
  EXPECT_EQ(second["timings"]["cache_n"], cached);
  EXPECT_EQ(second["timings"]["prompt_n"].get<int>() + cached,
            second["usage"]["prompt_tokens"].get<int>());
}

TEST_F(OpenAiTest, APromptThatIsTooLongIsToldTheSizes) {
  auto chat =
      Start(R"({"messages":[{"role":"user","content":")" + std::string(5000, 'x') + R"("}]})");
  ASSERT_FALSE(chat.has_value());
  const Json error = Json::parse(ErrorBody(chat.error()))["error"];
  EXPECT_EQ(error["code"], 400);
  EXPECT_EQ(error["type"], "exceed_context_size_error");
  EXPECT_EQ(error["n_ctx"], 4096);
  EXPECT_GT(error["n_prompt_tokens"].get<int>(), 5000);
}

TEST_F(OpenAiTest, ReasoningIsSplitFromTheContent) {
  auto generation = std::make_shared<Generation>();
  for (const char* text : {"let me", " see</thi", "nk>\n\nfor", "ty-two"}) {
    GenerationEvent event;
    event.text = text;
    generation->Push(event);
  }
  GenerationEvent done;
  done.kind = GenerationEvent::Kind::kDone;
  generation->Push(done);
  const auto answer =
      CollectChat({generation, MakeReasoningParser(true)}, kIdentity, [] { return false; });
  const Json message = Json::parse(*answer)["choices"][0]["message"];
  EXPECT_EQ(message["reasoning_content"], "let me see");
  EXPECT_EQ(message["content"], "forty-two");
}

// An answer that was given these parts of text, read by a client that offered the tool `weather`.
StartedChat Answer(const std::vector<std::string>& parts, CallFormat calls) {
  auto generation = std::make_shared<Generation>();
  for (const std::string& part : parts) {
    GenerationEvent event;
    event.text = part;
    generation->Push(event);
  }
  GenerationEvent done;
  done.kind = GenerationEvent::Kind::kDone;
  generation->Push(done);
  const AnswerFormat format = {
      .calls = calls,
      .tools = Tools::Parse(R"([{"type":"function","function":{"name":"weather"}}])").value()};
  return {generation, MakeAnswerParser(format)};
}

const std::vector<std::string> kTwoCalls = {
    "I look.\n<tool_", "call>{\"name\": \"weather\", \"argum",
    "ents\": {\"city\": \"Rome\"}}</tool_call>",
    "\n<tool_call>{\"name\": \"weather\", \"arguments\": {}}</tool_call>"};

TEST_F(OpenAiTest, CallsComeNumberedWithIdsAndArgumentsAsText) {
  const auto answer =
      CollectChat(Answer(kTwoCalls, CallFormat::kHermes), kIdentity, [] { return false; });
  const Json choice = Json::parse(*answer)["choices"][0];
  EXPECT_EQ(choice["finish_reason"], "tool_calls");
  EXPECT_EQ(choice["message"]["content"], "I look.");
  const Json calls = choice["message"]["tool_calls"];
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0]["type"], "function");
  EXPECT_EQ(calls[0]["function"]["name"], "weather");
  EXPECT_EQ(calls[0]["function"]["arguments"], R"({"city": "Rome"})");
  EXPECT_EQ(calls[1]["function"]["arguments"], "{}");
  EXPECT_NE(calls[0]["id"], calls[1]["id"]);
}

TEST_F(OpenAiTest, AStreamOfCallsPutTogetherIsTheSame) {
  ChatStream stream(Answer(kTwoCalls, CallFormat::kHermes), kIdentity, {});
  const std::vector<std::string> events = Events(&stream);
  std::string content;
  std::vector<std::string> names;
  std::vector<std::string> arguments;
  for (size_t i = 0; i + 2 < events.size(); ++i) {
    const Json choice = Json::parse(events[i])["choices"][0];
    EXPECT_TRUE(choice["finish_reason"].is_null());
    const Json& delta = choice["delta"];
    if (delta.contains("content") && delta["content"].is_string())
      content += delta["content"].text();
    if (!delta.contains("tool_calls")) continue;
    const Json& call = delta["tool_calls"][0];
    if (call.contains("id")) {
      EXPECT_EQ(call["index"], names.size());
      names.push_back(call["function"]["name"].text());
      arguments.emplace_back();
    }
    arguments.at(call["index"].get<size_t>()) += call["function"]["arguments"].text();
  }
  EXPECT_EQ(content, "I look.");
  EXPECT_EQ(names, (std::vector<std::string>{"weather", "weather"}));
  EXPECT_EQ(arguments, (std::vector<std::string>{R"({"city": "Rome"})", "{}"}));
  const Json finish = Json::parse(events[events.size() - 2]);
  EXPECT_EQ(finish["choices"][0]["finish_reason"], "tool_calls");
  EXPECT_EQ(events.back(), "[DONE]");
}

TEST_F(OpenAiTest, ACallThatDoesNotParseIsContentAndNoError) {
  const std::string broken = "<tool_call>{\"name\": \"weather\", \"arguments\": {\"city\": \"Ro";
  const auto answer =
      CollectChat(Answer({broken}, CallFormat::kHermes), kIdentity, [] { return false; });
  const Json choice = Json::parse(*answer)["choices"][0];
  EXPECT_EQ(choice["finish_reason"], "stop");
  EXPECT_EQ(choice["message"]["content"], broken);
  EXPECT_FALSE(choice["message"].contains("tool_calls"));
}

TEST_F(OpenAiTest, AnEngineFailureIsAnErrorAndNotAnEmptyAnswer) {
  auto generation = std::make_shared<Generation>();
  GenerationEvent failed;
  failed.kind = GenerationEvent::Kind::kFailed;
  failed.error = {ErrorCode::kInternal, "it broke"};
  generation->Push(failed);
  const auto answer =
      CollectChat({generation, MakeReasoningParser(false)}, kIdentity, [] { return false; });
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().status, 500);
}

TEST_F(OpenAiTest, CallsOfTheOlderFormAreFunctionCalls) {
  const Json whole = Json::parse(*CollectChat(
      Play(ThoughtTextAndTwoCalls()), kIdentity, [] { return false; },
      /*legacy_calls=*/true))["choices"][0];
  EXPECT_EQ(whole["message"]["function_call"]["name"], "weather");
  EXPECT_EQ(whole["message"]["function_call"]["arguments"], R"({"city":"Rome"})");
  EXPECT_FALSE(whole["message"].contains("tool_calls"));
  EXPECT_EQ(whole["finish_reason"], "function_call");
  ChatStream stream(Play(ThoughtTextAndTwoCalls()), kIdentity, {.legacy_calls = true});
  std::string arguments;
  std::string names;
  std::string finish;
  for (const std::string& event : Events(&stream)) {
    if (event == "[DONE]") continue;
    const Json choice = Json::parse(event)["choices"][0];
    EXPECT_FALSE(choice["delta"].contains("tool_calls")) << event;
    if (choice["finish_reason"].is_string()) finish = choice["finish_reason"].text();
    const Json call = choice["delta"].value("function_call", Json::object());
    names += call.value("name", Json("")).text();
    arguments += call.value("arguments", Json("")).text();
  }
  EXPECT_EQ(names, "weather");
  EXPECT_EQ(arguments, R"({"city":"Rome"})");
  EXPECT_EQ(finish, "function_call");
}

}  // namespace
}  // namespace cairn::openai_test
