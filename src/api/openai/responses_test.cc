#include "api/openai/responses.h"

#include "api/openai/responses_request.h"
#include "testing/api/api_fixture.h"
#include "testing/api/played_answer.h"
#include "testing/base/golden_file.h"

namespace cairn::responses_test {
namespace {

const AnswerIdentity kIdentity = {"resp_1", "m", 1700000000};

std::string AllEvents(StartedChat chat) {
  ResponseStream stream(std::move(chat), kIdentity,
                        {{"clock", {.name_space = "desk"}}, {"weather", {}}});
  std::string text;
  while (stream.Next(&text)) {
  }
  return text;
}

Json Collect(StartedChat chat) {
  const auto body = CollectResponse(std::move(chat), kIdentity, {{"clock", {.name_space = "desk"}}},
                                    [] { return false; });
  EXPECT_TRUE(body.has_value());
  return body ? Json::parse(*body) : Json();
}

using ResponsesTest = ApiTest;

TEST(ResponsesStream, NumbersItsEventsAndClosesItsItems) {
  const std::string events = AllEvents(Play(ThoughtTextAndTwoCalls()));
  ExpectGolden("responses_stream.txt", events);
  int64_t number = 0;
  const std::string key = "\"sequence_number\":";
  for (size_t at = events.find(key); at != std::string::npos; at = events.find(key, at + 1)) {
    EXPECT_EQ(std::stoll(events.substr(at + key.size())), number++);
  }
  EXPECT_GT(number, 20);
}

TEST(ResponsesStream, AWholeAnswerIsThatOfTheLastEvent) {
  const std::string events = AllEvents(Play(ThoughtTextAndTwoCalls()));
  const size_t last = events.rfind("data: ") + 6;
  const Json event = Json::parse(events.substr(last));
  EXPECT_EQ(event["type"], "response.completed");
  EXPECT_EQ(event["response"], Collect(Play(ThoughtTextAndTwoCalls())));
}

StartedChat CallOf(const std::string& tool, const std::vector<std::string>& arguments,
                   FinishReason reason = FinishReason::kStop) {
  std::vector<AnswerDelta> pieces = {{AnswerDelta::Kind::kCallBegin, tool, 0}};
  for (const std::string& part : arguments) {
    pieces.push_back({AnswerDelta::Kind::kCallArguments, part, 0});
  }
  return Play(pieces, reason);
}

const ResponseTools kPatchAndSearch = {
    {"patch", {.kind = ResponseTool::Kind::kCustom, .name_space = "desk"}},
    {"tool_search", {.kind = ResponseTool::Kind::kSearch}}};

TEST(ResponsesStream, ACallOfACustomToolIsItsText) {
  ResponseStream stream(CallOf("patch", {R"({"inp)", R"(ut":"*** \"a\"\nb"})"}), kIdentity,
                        kPatchAndSearch);
  std::string events;
  while (stream.Next(&events)) {
  }
  EXPECT_EQ(events.find("function_call"), std::string::npos) << events;
  const size_t delta = events.find("event: response.custom_tool_call_input.delta\n");
  const size_t done = events.find("event: response.custom_tool_call_input.done\n");
  EXPECT_LT(delta, done);
  EXPECT_LT(done, events.find("event: response.output_item.done\n"));
  const Json item = Json::parse(*stream.Whole())["output"][0];
  EXPECT_EQ(item, Json::parse(R"({"id":"ctc_1-0","type":"custom_tool_call","status":"completed",
                                  "call_id":"call_1-0","name":"patch","input":"*** \"a\"\nb",
                                  "namespace":"desk"})"));
}

TEST(ResponsesStream, ACallOfACustomToolThatIsCutHasWhatTheModelWrote) {
  const auto item_of = [](StartedChat chat) {
    const auto body =
        CollectResponse(std::move(chat), kIdentity, kPatchAndSearch, [] { return false; });
    return Json::parse(*body)["output"][0];
  };
  const Json cut = item_of(CallOf("patch", {R"({"input":"**)"}, FinishReason::kLength));
  EXPECT_EQ(cut["status"], "incomplete");
  EXPECT_EQ(cut["input"], R"({"input":"**)");
  const Json other = item_of(CallOf("patch", {R"({"text":"a"})"}));
  EXPECT_EQ(other["status"], "completed");
  EXPECT_EQ(other["input"], R"({"text":"a"})");
}

TEST(ResponsesStream, ACallOfTheClientsSearchHasAnObjectOfArguments) {
  const auto body = CollectResponse(CallOf("tool_search", {R"({"goal":"mail"})"}), kIdentity,
                                    kPatchAndSearch, [] { return false; });
  EXPECT_EQ(Json::parse(*body)["output"][0],
            Json::parse(R"({"id":"tsc_1-0","type":"tool_search_call","status":"completed",
                            "execution":"client","call_id":"call_1-0",
                            "arguments":{"goal":"mail"}})"));
}

TEST(ResponsesStream, AnAnswerThatIsCutOffIsIncomplete) {
  const Json response = Collect(Play({{AnswerDelta::Kind::kCallBegin, "weather", 0},
                                      {AnswerDelta::Kind::kCallArguments, R"({"city":"Ro)", 0}},
                                     FinishReason::kLength));
  EXPECT_EQ(response["status"], "incomplete");
  EXPECT_EQ(response["incomplete_details"]["reason"], "max_output_tokens");
  EXPECT_EQ(response["output"][0]["status"], "incomplete");
}

TEST(ResponsesStream, AnAnswerThatIsCancelledSaysSoWhereverItIsSeen) {
  const auto play = [] {
    return Play({{AnswerDelta::Kind::kCallBegin, "weather", 0},
                 {AnswerDelta::Kind::kCallArguments, R"({"city":"Ro)", 0}},
                FinishReason::kCancelled);
  };
  Json stored;
  ResponseContext context;
  context.on_end = [&](const Json& response) { stored = response; };
  ResponseStream stream(play(), kIdentity, {}, context);
  std::string events;
  while (stream.Next(&events)) {
  }
  const Json last = Json::parse(events.substr(events.rfind("data: ") + 6));
  EXPECT_EQ(last["type"], "response.incomplete");
  for (const Json& response : {last["response"], Collect(play()), stored}) {
    EXPECT_EQ(response["status"], "cancelled");
    EXPECT_TRUE(response["incomplete_details"].is_null());
    EXPECT_EQ(response["output"][0]["status"], "incomplete");
  }
}

TEST(ResponsesStream, AFailureIsTheLastEventAndNoAnswer) {
  const std::string events = AllEvents(PlayFailure());
  const size_t last = events.rfind("event: ");
  EXPECT_TRUE(events.substr(last).starts_with("event: response.failed\n")) << events;
  EXPECT_NE(events.find(R"("error":{"code":"server_error","message":"it broke"})", last),
            std::string::npos)
      << events;
  const auto body = CollectResponse(PlayFailure(), kIdentity, {}, [] { return false; });
  ASSERT_FALSE(body.has_value());
  EXPECT_EQ(body.error().status, 500);
}

TEST_F(ResponsesTest, AnExplanationTellsTheKeyOfTheCacheAndWhatIsKept) {
  const auto told = [&](const std::string& fields) {
    const auto request = ParseResponsesRequest(
        Body(R"({"instructions":")" + std::string(600, 's') + R"(","input":")" +
             std::string(300, 'x') + R"(","max_output_tokens":4,"cairn":{"explain":true})" +
             fields + "}"),
        GenerationParams{});
    EXPECT_TRUE(request.has_value());
    auto chat = service_.Start(request->chat, 0);
    EXPECT_TRUE(chat.has_value());
    RequestLog log;
    auto record =
        log.Begin({"resp_1", "/v1/responses", 0, 0}, std::move(chat->explained), &engine_);
    Watch(record, chat->generation.get());
    chat->record = record;
    return Collect(std::move(*chat))["cairn"];
  };
  const Json plain = told("");
  EXPECT_FALSE(plain.contains("prompt_cache_key"));
  EXPECT_FALSE(plain.contains("same_key_slot"));
  EXPECT_FALSE(plain.contains("marked_tokens"));
  const Json kept = told(R"(,"prompt_cache_key":"session","prompt_cache_retention":"24h")");
  EXPECT_EQ(kept["prompt_cache_key"], "session");
  EXPECT_EQ(kept["same_key_slot"], false);
  EXPECT_EQ(told(R"(,"prompt_cache_key":"session")")["same_key_slot"], true);
  EXPECT_GT(kept["marked_tokens"].get<int>(), 900);
  EXPECT_GT(kept["kept_tokens"].get<int>(), 600);
  EXPECT_LE(kept["kept_tokens"].get<int>(), kept["marked_tokens"].get<int>());
}

TEST_F(ResponsesTest, AnExplanationIsInTheLastEventsResponse) {
  const auto request = ParseResponsesRequest(
      Body(R"({"input":"What is a cairn?","max_output_tokens":4,"cairn":{"explain":true}})"),
      GenerationParams{});
  ASSERT_TRUE(request.has_value());
  EXPECT_TRUE(request->chat.options.explain);
  auto chat = service_.Start(request->chat, 0);
  ASSERT_TRUE(chat.has_value());
  RequestLog log;
  auto record = log.Begin({"resp_1", "/v1/responses", 0, 0}, std::move(chat->explained), &engine_);
  Watch(record, chat->generation.get());
  chat->record = record;
  const std::string events = AllEvents(std::move(*chat));
  const Json first = Json::parse(
      events.substr(events.find("data: ") + 6, events.find("\n\n") - events.find("data: ") - 6));
  EXPECT_FALSE(first["response"].contains("cairn"));
  const Json last = Json::parse(events.substr(events.rfind("data: ") + 6));
  EXPECT_EQ(last["type"], "response.incomplete");
  EXPECT_EQ(last["response"]["cairn"]["explanation"]["reason"], "new_prompt");
}

TEST_F(ResponsesTest, ProgressAndTimingsComeWhereTheyAreAskedFor) {
  const auto events_of = [&](const std::string& fields) {
    auto request = ParseResponsesRequest(Body(R"({"input":")" + std::string(2000, 'p') +
                                              R"(","max_output_tokens":4)" + fields + "}"),
                                         GenerationParams{});
    EXPECT_TRUE(request.has_value());
    ResponseContext context;
    context.options = request->chat.options;
    ResponseStream stream(*service_.Start(std::move(request->chat), 0), kIdentity, {}, context);
    std::string text;
    while (stream.Next(&text)) {
    }
    return text;
  };
  const auto count = [](const std::string& text, const std::string& words) {
    size_t found = 0;
    for (size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) {
      ++found;
    }
    return found;
  };
  const std::string told = events_of(R"(,"return_progress":true,"timings_per_token":true)");
  const size_t progress = count(told, "\"prompt_progress\":");
  EXPECT_GT(progress, 1u);
  EXPECT_EQ(count(told, "event: response.in_progress\n"), progress + 1);
  const size_t pieces = count(told, "event: response.output_text.delta\n");
  EXPECT_GT(pieces, 0u);
  EXPECT_EQ(count(told, "\"timings\":"), progress + pieces + 1) << told;
  const std::string quiet = events_of("");
  EXPECT_EQ(count(quiet, "\"timings\":") + count(quiet, "\"prompt_progress\":"), 0u);
}

TEST_F(ResponsesTest, AnAnswerSentBackIsReadFromTheCache) {
  Json body = {{"max_output_tokens", 4},
               {"input", Json::array({{{"role", "user"}, {"content", std::string(300, 'x')}}})}};
  const auto ask = [&] {
    auto request = ParseResponsesRequest(body, GenerationParams{});
    EXPECT_TRUE(request.has_value());
    return Collect(*service_.Start(std::move(request->chat), 0));
  };
  const Json first = ask();
  EXPECT_EQ(first["usage"]["input_tokens_details"]["cached_tokens"], 0);
  for (const Json& item : first["output"]) body["input"].push_back(item);
  body["input"].push_back({{"role", "user"}, {"content", "go on"}});
  const Json second = ask();
  EXPECT_GT(second["usage"]["input_tokens_details"]["cached_tokens"].get<int>(), 300);
  EXPECT_EQ(second["usage"]["total_tokens"].get<int>(),
            second["usage"]["input_tokens"].get<int>() + 4);
}

}  // namespace
}  // namespace cairn::responses_test
