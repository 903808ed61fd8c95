#include "api/anthropic/anthropic.h"

#include "api/anthropic/anthropic_request.h"
#include "api/json.h"
#include "api/request/apply_tool_choice.h"
#include "testing/api/api_fixture.h"
#include "testing/api/played_answer.h"
#include "testing/base/golden_file.h"

namespace cairn::anthropic_test {
namespace {

const AnswerIdentity kIdentity = {"msg_1", "m", 1700000000};

std::string AllEvents(StartedChat chat) {
  MessageStream stream(std::move(chat), kIdentity);
  std::string text;
  while (stream.Next(&text)) {
  }
  return text;
}

Json Collect(StartedChat chat) {
  const auto body = CollectMessage(std::move(chat), kIdentity, [] { return false; });
  EXPECT_TRUE(body.has_value());
  return body ? Json::parse(*body) : Json();
}

class AnthropicTest : public ApiTest {
 protected:
  using ApiTest::ApiTest;

  ApiResult<StartedChat> StartMessages(const std::string& body) {
    auto request = ParseMessagesRequest(Body(body), GenerationParams{});
    if (!request) return tl::unexpected(request.error());
    return service_.Start(std::move(*request), 0);
  }
};

// A model that can be cut anywhere and needs no checkpoints.
class AnthropicOnAttentionTest : public AnthropicTest {
 protected:
  AnthropicOnAttentionTest() : AnthropicTest(MemoryClass::kAttention) {}
};

TEST_F(AnthropicTest, AStreamNamesItsEventsAndClosesItsBlocks) {
  ExpectGolden("anthropic_stream.txt", AllEvents(Play(ThoughtTextAndTwoCalls())));
}

TEST_F(AnthropicTest, AWholeAnswerHoldsTheSameBlocks) {
  const Json message = Collect(Play(ThoughtTextAndTwoCalls()));
  ExpectGolden("anthropic_message.json", message.dump(2) + "\n");
}

TEST_F(AnthropicTest, AThinkingBlockIsSignedStreamedOrNot) {
  const auto play = [](const std::string& thought) {
    return Play(
        {{AnswerDelta::Kind::kReasoning, thought, 0}, {AnswerDelta::Kind::kContent, "A", 0}});
  };
  const Json block = Collect(play("Let me see."))["content"][0];
  EXPECT_EQ(block["type"], "thinking");
  const std::string signature = block["signature"].get<std::string>();
  EXPECT_NE(signature, "");
  EXPECT_NE(Collect(play("Hm."))["content"][0]["signature"], signature);
  const std::string events = AllEvents(play("Let me see."));
  const std::string signed_then_closed =
      R"("delta":{"type":"signature_delta","signature":")" + signature +
      "\"}}\n\nevent: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}";
  EXPECT_NE(events.find(signed_then_closed), std::string::npos) << events;
}

TEST_F(AnthropicTest, ASignatureComesBackFromAnyServiceAndNeverReachesThePrompt) {
  const auto prompt = [&](const std::string& blocks) {
    const auto conversation = ParseMessagesConversation(
        Body(R"({"messages":[{"role":"user","content":"U"},{"role":"assistant","content":[)" +
             blocks + R"({"type":"tool_use","id":"t","name":"f","input":{}}]},)" +
             R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"t",)" +
             R"("content":"T"}]}]})"));
    EXPECT_TRUE(conversation.has_value());
    return *service_.Render(*conversation);
  };
  const std::string thought = R"({"type":"thinking","thinking":"Look.")";
  const std::string plain = prompt(thought + "},");
  EXPECT_NE(plain.find("Look."), std::string::npos) << plain;
  for (const char* signature :
       {"", "EqQBCgIYAhIkZm9yZWlnbg==", "39aaff7dc8da5fae40a33cd3efb7b2cb"}) {
    EXPECT_EQ(prompt(thought + R"(,"signature":")" + signature + "\"},"), plain);
  }
  EXPECT_EQ(prompt(thought + R"(},{"type":"redacted_thinking","data":"c2VjcmV0"},)"), plain);
}

TEST_F(AnthropicTest, AnAnswerThatIsCancelledIsCutOff) {
  const auto play = [] {
    return Play({{AnswerDelta::Kind::kContent, "The", 0},
                 {AnswerDelta::Kind::kCallBegin, "weather", 0},
                 {AnswerDelta::Kind::kCallArguments, R"({"city":"Ro)", 0}},
                FinishReason::kCancelled);
  };
  const Json message = Collect(play());
  EXPECT_EQ(message["stop_reason"], "max_tokens");
  EXPECT_EQ(message["content"].size(), 1u) << "a call that was cut is none";
  EXPECT_NE(AllEvents(play()).find(R"("stop_reason":"max_tokens")"), std::string::npos);
}

TEST_F(AnthropicTest, AFailureInAStreamIsAnErrorEvent) {
  const std::string events = AllEvents(PlayFailure());
  EXPECT_EQ(events,
            "event: error\n"
            R"(data: {"type":"error","error":{"type":"api_error","message":"it broke"}})"
            "\n\n");
}

TEST_F(AnthropicTest, AFailureIsNoEmptyAnswer) {
  const auto body = CollectMessage(PlayFailure(), kIdentity, [] { return false; });
  ASSERT_FALSE(body.has_value());
  EXPECT_EQ(body.error().status, 500);
}

TEST_F(AnthropicTest, StopReasonsSayWhyItEnded) {
  const std::vector<AnswerDelta> text = {{AnswerDelta::Kind::kContent, "hi", 0}};
  EXPECT_EQ(Collect(Play(text))["stop_reason"], "end_turn");
  EXPECT_EQ(Collect(Play(text, FinishReason::kLength))["stop_reason"], "max_tokens");
  const Json stopped = Collect(Play(text, FinishReason::kStop, "END"));
  EXPECT_EQ(stopped["stop_reason"], "stop_sequence");
  EXPECT_EQ(stopped["stop_sequence"], "END");
  EXPECT_EQ(Collect(Play(ThoughtTextAndTwoCalls()))["stop_reason"], "tool_use");
}

TEST_F(AnthropicTest, HalfACallIsNotHandedOut) {
  const Json message = Collect(Play({{AnswerDelta::Kind::kCallBegin, "weather", 0},
                                     {AnswerDelta::Kind::kCallArguments, R"({"city":"Ro)", 0}},
                                    FinishReason::kLength));
  EXPECT_EQ(message["content"], Json::array());
  EXPECT_EQ(message["stop_reason"], "max_tokens");
}

TEST_F(AnthropicTest, TheSamePromptAgainIsReadFromTheCache) {
  const std::string body = R"({"max_tokens":4,"messages":[{"role":"user","content":")" +
                           std::string(300, 'x') + R"("}]})";
  const Json first = Collect(std::move(*StartMessages(body)));
  const Json second = Collect(std::move(*StartMessages(body)));
  EXPECT_EQ(first["content"], second["content"]);
  EXPECT_EQ(first["stop_reason"], "max_tokens");
  EXPECT_EQ(first["usage"]["cache_read_input_tokens"], 0);
  EXPECT_EQ(first["usage"]["output_tokens"], 4);
  EXPECT_GT(second["usage"]["cache_read_input_tokens"].get<int>(), 300);
  EXPECT_EQ(second["usage"]["cache_read_input_tokens"].get<int>() +
                second["usage"]["input_tokens"].get<int>(),
            first["usage"]["input_tokens"].get<int>());
}

// The data of the first event of that name.
Json FirstEvent(const std::string& events, const std::string& name) {
  const std::string begin = "event: " + name + "\ndata: ";
  const size_t at = events.find(begin);
  EXPECT_NE(at, std::string::npos) << events;
  const size_t data = at + begin.size();
  return Json::parse(events.substr(data, events.find('\n', data) - data));
}

TEST_F(AnthropicTest, TheBeginOfAStreamTellsTheSameOfThePromptAsItsEnd) {
  const std::string body = R"({"max_tokens":4,"messages":[{"role":"user","content":[{"type":"text",
      "cache_control":{"type":"ephemeral"},"text":")" +
                           std::string(600, 'x') + R"("}]}]})";
  for (int run = 0; run < 2; ++run) {
    auto chat = StartMessages(body);
    ASSERT_TRUE(chat.has_value());
    const std::string events = AllEvents(std::move(*chat));
    Json start = FirstEvent(events, "message_start")["message"]["usage"];
    Json end = FirstEvent(events, "message_delta")["usage"];
    EXPECT_EQ(start["output_tokens"], 0);
    EXPECT_EQ(end["output_tokens"], 4);
    start.erase("output_tokens");
    end.erase("output_tokens");
    EXPECT_EQ(start, end);
    EXPECT_EQ(start["cache_read_input_tokens"].get<int>() > 600, run == 1) << start;
    EXPECT_EQ(start["cache_creation_input_tokens"].get<int>() > 600, run == 0) << start;
    EXPECT_TRUE(events.starts_with("event: message_start\n")) << events;
    EXPECT_LT(events.find("event: ping\ndata: {\"type\":\"ping\"}\n\n"),
              events.find("event: content_block_start"));
  }
}

// What the route does with a request that asks for an explanation.
StartedChat Explained(StartedChat chat, RequestLog* log, const Engine& engine) {
  auto record = log->Begin({"msg_1", "/v1/messages", 0, 0}, std::move(chat.explained), &engine);
  Watch(record, chat.generation.get());
  chat.record = record;
  return chat;
}

TEST_F(AnthropicTest, AnExplanationIsInTheMessageAndInTheStreamsDelta) {
  const std::string body = R"({"max_tokens":4,"cairn":{"explain":true},
      "messages":[{"role":"user","content":"What is a cairn?"}]})";
  const auto request = ParseMessagesRequest(Body(body), GenerationParams{});
  ASSERT_TRUE(request.has_value());
  EXPECT_TRUE(request->options.explain);
  RequestLog log;
  auto whole = StartMessages(body);
  ASSERT_TRUE(whole.has_value());
  const Json told = Collect(Explained(std::move(*whole), &log, engine_))["cairn"];
  EXPECT_EQ(told["explanation"]["reason"], "new_prompt");
  auto streamed = StartMessages(body);
  ASSERT_TRUE(streamed.has_value());
  const std::string events = AllEvents(Explained(std::move(*streamed), &log, engine_));
  EXPECT_EQ(FirstEvent(events, "message_delta")["cairn"]["explanation"]["reason"], "all_known");
  EXPECT_FALSE(FirstEvent(events, "message_start")["message"].contains("cairn"));
}

TEST_F(AnthropicTest, NobodyIsToldWhatTheyDidNotAskFor) {
  auto chat = StartMessages(R"({"max_tokens":4,"messages":[{"role":"user","content":"Hi"}]})");
  ASSERT_TRUE(chat.has_value());
  EXPECT_FALSE(Collect(std::move(*chat)).contains("cairn"));
  const auto wrong = StartMessages(
      R"({"max_tokens":4,"cairn":{"explain":1},"messages":[{"role":"user","content":"Hi"}]})");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_NE(wrong.error().message.find("cairn.explain"), std::string::npos);
}

TEST_F(AnthropicOnAttentionTest, MarksAreAccountedForAllTheSame) {
  const auto usage = [&](const std::string& end) {
    auto chat = StartMessages(R"({"max_tokens":1,"system":[{"type":"text","text":")" +
                              std::string(500, 's') +
                              R"(","cache_control":{"type":"ephemeral","ttl":"1h"}}],
                              "messages":[{"role":"user","content":")" +
                              std::string(200, 'x') + end + R"("}]})");
    EXPECT_TRUE(chat.has_value());
    return Collect(std::move(*chat))["usage"];
  };
  const Json first = usage("a");
  EXPECT_GT(first["cache_creation_input_tokens"], 500);
  EXPECT_LT(first["cache_creation_input_tokens"], 600);
  EXPECT_EQ(first["cache_creation"]["ephemeral_1h_input_tokens"],
            first["cache_creation_input_tokens"]);
  EXPECT_GT(first["input_tokens"], 200);
  const Json second = usage("b");
  EXPECT_GT(second["cache_read_input_tokens"], 600);
  EXPECT_EQ(second["cache_creation_input_tokens"], 0);
  const auto sum = [](const Json& all) {
    return all["cache_read_input_tokens"].get<int>() +
           all["cache_creation_input_tokens"].get<int>() + all["input_tokens"].get<int>();
  };
  EXPECT_EQ(sum(first), sum(second));
}

TEST_F(AnthropicTest, AToolThatMustBeCalledIsForced) {
  const std::string body = R"({"max_tokens":4,"messages":[{"role":"user","content":"hi"}],
      "tools":[{"name":"f","input_schema":{"type":"object"}}],"tool_choice":)";
  EXPECT_TRUE(StartMessages(body + R"({"type":"tool","name":"f"}})").has_value());
  EXPECT_EQ(StartMessages(body + R"({"type":"tool","name":"g"}})").error().field, "tool_choice");
  EXPECT_EQ(StartMessages(body + R"({"type":"any"},"x":0})").has_value(), true);
}

TEST_F(AnthropicTest, AToolThatAResultReferredToMayBeCalledAndIsNotInThePromptsList) {
  const std::string body = R"({"max_tokens":4,"messages":[
      {"role":"user","content":"hi"},
      {"role":"assistant","content":[{"type":"tool_use","id":"t","name":"find","input":{}}]},
      {"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[
          {"type":"tool_reference","tool_name":"mail"}]}]}],
      "tools":[{"name":"find","input_schema":{"type":"object"}},
               {"name":"mail","input_schema":{"type":"object"},"defer_loading":true},
               {"name":"chart","input_schema":{"type":"object"},"defer_loading":true}]})";
  auto request = ParseMessagesRequest(Body(body), GenerationParams{});
  ASSERT_TRUE(request.has_value()) << request.error().message;
  const auto prompt = service_.Render(request->conversation);
  ASSERT_TRUE(prompt.has_value());
  const size_t mail = prompt->find(R"({"name":"mail","parameters":{"type":"object"}})");
  EXPECT_GT(mail, prompt->find("hi")) << *prompt;
  EXPECT_NE(mail, std::string::npos) << *prompt;
  EXPECT_EQ(prompt->find("chart"), std::string::npos);
  const auto callable = ApplyToolChoice(*template_, &*request, service_.grammars());
  ASSERT_TRUE(callable.has_value());
  EXPECT_NE(callable->FindFunction("mail"), nullptr);
  EXPECT_EQ(callable->FindFunction("chart"), nullptr);
}

TEST_F(AnthropicTest, WhatIsLeftOutIsTold) {
  auto chat = StartMessages(R"({"max_tokens":4,"messages":[{"role":"user","content":"hi"}],
      "tools":[{"type":"web_search_20250305","name":"web_search"}]})");
  ASSERT_TRUE(chat.has_value());
  RequestLog log;
  auto record = log.Begin({"msg_1", "/v1/messages", 0, 0}, std::move(chat->explained), &engine_);
  EXPECT_TRUE(record->Tells(false));
  chat->record = record;
  EXPECT_EQ(Collect(std::move(*chat))["cairn"],
            Json::parse(R"({"left_out":["web_search_20250305"]})"));
}

// Marks at 300 tokens for an hour and at 950 for five minutes, of the 1,000 of Play.
TEST_F(AnthropicTest, UsageIsSplitAtTheMarks) {
  const auto usage = [](const std::vector<ClientMark>& marks, size_t reused) {
    auto generation = std::make_shared<Generation>();
    GenerationEvent done;
    done.kind = GenerationEvent::Kind::kDone;
    done.cost.prompt_tokens = 1000;
    done.cost.reused_tokens = reused;
    generation->Push(done);
    const std::vector<AnswerDelta> none;
    Json all = Collect({generation, std::make_unique<PlayedParser>(none), {}, marks})["usage"];
    return Json::array({all["cache_read_input_tokens"], all["cache_creation_input_tokens"],
                        all["input_tokens"], all["cache_creation"]["ephemeral_1h_input_tokens"],
                        all["cache_creation"]["ephemeral_5m_input_tokens"]})
        .get<std::vector<int>>();
  };
  const std::vector<ClientMark> marks = {{300, 3'600'000}, {950, 300'000}};
  EXPECT_EQ(usage({}, 0), (std::vector<int>{0, 0, 1000, 0, 0}));
  EXPECT_EQ(usage({}, 900), (std::vector<int>{900, 0, 100, 0, 0}));
  EXPECT_EQ(usage(marks, 0), (std::vector<int>{0, 950, 50, 300, 650}));
  EXPECT_EQ(usage(marks, 200), (std::vector<int>{200, 750, 50, 100, 650}));
  EXPECT_EQ(usage(marks, 400), (std::vector<int>{400, 550, 50, 0, 550}));
  EXPECT_EQ(usage(marks, 960), (std::vector<int>{960, 0, 40, 0, 0}));
}

TEST_F(AnthropicTest, AnAnswerThatFillsTheContextSaysSo) {
  auto chat = StartMessages(R"({"max_tokens":5000,"messages":[{"role":"user","content":")" +
                            std::string(3900, 'x') + R"("}]})");
  ASSERT_TRUE(chat.has_value());
  EXPECT_EQ(Collect(std::move(*chat))["stop_reason"], "model_context_window_exceeded");
}

TEST_F(AnthropicTest, BetweenItsEventsAStreamIsPinged) {
  auto generation = std::make_shared<Generation>();
  MessageStream stream({generation, std::make_unique<PlayedParser>(std::vector<AnswerDelta>())},
                       kIdentity);
  EXPECT_EQ(stream.ping(), ": ping\n\n");
  GenerationEvent progress;
  progress.kind = GenerationEvent::Kind::kProgress;
  progress.cost.prompt_tokens = 10;
  generation->Push(progress);
  std::string chunk;
  EXPECT_TRUE(stream.Next(&chunk));
  EXPECT_EQ(FirstEvent(chunk, "message_start")["message"]["usage"]["input_tokens"], 10);
  EXPECT_EQ(stream.ping(), "event: ping\ndata: {\"type\":\"ping\"}\n\n");
}

TEST_F(AnthropicTest, CountedTokensAreThosePromptsHave) {
  const std::string fields = R"("system":"Be brief.","messages":[{"role":"user","content":"hi"}])";
  const auto counted = CountTokensBody(service_, "{" + fields + "}", 0);
  ASSERT_TRUE(counted.has_value());
  auto chat = StartMessages(R"({"max_tokens":1,)" + fields + "}");
  ASSERT_TRUE(chat.has_value());
  EXPECT_EQ(Json::parse(*counted)["input_tokens"],
            Collect(std::move(*chat))["usage"]["input_tokens"]);
  EXPECT_EQ(CountTokensBody(service_, "{}", 0).error().field, "messages");
  EXPECT_EQ(CountTokensBody(service_, "[]", 0).error().status, 400);
}

TEST_F(AnthropicTest, APromptThatIsTooLongIsToldInTheWordsClientsLookFor) {
  const auto chat = StartMessages(R"({"max_tokens":1,"messages":[{"role":"user","content":")" +
                                  std::string(5000, 'x') + R"("}]})");
  ASSERT_FALSE(chat.has_value());
  EXPECT_EQ(chat.error().status, 400);
  const std::string tokens = std::to_string(chat.error().prompt_tokens);
  EXPECT_EQ(MessagesErrorBody(chat.error()),
            R"({"type":"error","error":{"type":"invalid_request_error",)"
            R"("message":"prompt is too long: )" +
                tokens + R"( tokens > 4096 maximum"}})");
}

TEST_F(AnthropicTest, ErrorsHaveAnthropicsTypes) {
  const auto type_of = [](int status) {
    ApiError error;
    error.status = status;
    return Json::parse(MessagesErrorBody(error))["error"]["type"].get<std::string>();
  };
  EXPECT_EQ(type_of(400), "invalid_request_error");
  EXPECT_EQ(type_of(401), "authentication_error");
  EXPECT_EQ(type_of(403), "permission_error");
  EXPECT_EQ(type_of(404), "not_found_error");
  EXPECT_EQ(type_of(413), "request_too_large");
  EXPECT_EQ(type_of(429), "rate_limit_error");
  EXPECT_EQ(type_of(500), "api_error");
  EXPECT_EQ(type_of(503), "overloaded_error");
}

}  // namespace
}  // namespace cairn::anthropic_test
