// Responses that are continued by `previous_response_id`: the second turn reads its new items
// alone, as the answer before them is the tokens that it was generated as.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "api/openai/response_items.h"
#include "api/openai/responses.h"
#include "api/openai/responses_request.h"
#include "sched/scheduler.h"
#include "testing/api/pair_engine.h"
#include "testing/chat/test_templates.h"
#include "testing/engine/one_answer_engine.h"

namespace cairn::responses_continued_test {
namespace {

// Texts are tokenised in pairs, so an answer that is tokenised again has other tokens than it was
// generated as.
using SpellingEngine = test::OneAnswerEngine<test::PairEngine>;

class ContinuedServer {
 public:
  ContinuedServer(std::string template_source, std::string answer)
      : engine_(EngineOptions(), std::move(answer)),
        cache_(CacheOptions{}, *MakePlacement("auto"), *MakeEviction("value"), MakeRamStore()),
        scheduler_(&engine_, &cache_, &clock_, {}),
        template_(test::Parsed(std::move(template_source))),
        service_(&engine_, template_.get(), &scheduler_),
        context_thread_([this] { scheduler_.Run(); }) {}
  ~ContinuedServer() {
    scheduler_.Stop();
    context_thread_.join();
  }

  // As the route does it.
  Json Ask(Json body) {
    body["max_output_tokens"] = 1000;
    auto previous = FindPreviousResponse(body, 0, &stored_);
    EXPECT_TRUE(previous.has_value()) << previous.error().message;
    auto request = ParseResponsesRequest(body, GenerationParams{},
                                         *previous ? (*previous)->turns() : ResponseTurns());
    EXPECT_TRUE(request.has_value()) << request.error().message;
    auto chat = service_.Start(std::move(request->chat), 0);
    EXPECT_TRUE(chat.has_value()) << chat.error().message;
    const std::string id = "resp_" + std::to_string(++answers_);
    ResponseContext context;
    context.repeated = request->repeated;
    context.on_end = [&](const Json& response) {
      const Json input = ListedInput(body["input"], ResponseNumber(id));
      stored_.Store(0, {id, ToText(input), ToText(response)}, previous->get());
    };
    const auto answer = CollectResponse(
        std::move(*chat), {id, "m", 0}, {}, [] { return false; }, std::move(context));
    EXPECT_TRUE(answer.has_value());
    return answer ? Json::parse(*answer) : Json();
  }

 private:
  static FakeEngineOptions EngineOptions() {
    FakeEngineOptions options;
    options.memory_class = MemoryClass::kHybrid;
    options.context_tokens = 8192;
    return options;
  }

  SteadyClock clock_;
  StoredResponses stored_{&clock_, {}};
  SpellingEngine engine_;
  CheckpointCache cache_;
  Scheduler scheduler_;
  const std::unique_ptr<ChatTemplate> template_;
  ChatService service_;
  std::thread context_thread_;
  size_t answers_ = 0;
};

size_t InputTokens(const Json& response) {
  return response["usage"]["input_tokens"].get<size_t>();
}
size_t ReadTokens(const Json& response) {
  return InputTokens(response) -
         response["usage"]["input_tokens_details"]["cached_tokens"].get<size_t>();
}
size_t OutputTokens(const Json& response) {
  return response["usage"]["output_tokens"].get<size_t>();
}

const char* const kTools =
    R"([{"type":"function","name":"weather","parameters":{"type":"object",
         "properties":{"city":{"type":"string"}}}}])";

Json FirstTurn() {
  return {{"instructions", std::string(300, 'i')},
          {"input", "Is it warm in Rome?" + std::string(300, 'q')},
          {"tools", Json::parse(kTools)}};
}

// The second turn of a conversation whose first answer called a tool.
Json WithResult(const Json& first) {
  Json output;
  for (const Json& item : first["output"]) {
    if (item["type"] != "function_call") continue;
    output = {
        {"type", "function_call_output"}, {"call_id", item["call_id"]}, {"output", "18 degrees"}};
  }
  Json body = FirstTurn();
  body["previous_response_id"] = first["id"];
  body["input"] = Json::array({output});
  return body;
}

// All of the first turn is there but for its last token, which nobody decoded, and what the
// template closes it with; what is read anew is the result and what stands around it.
void ExpectOnlyTheNewIsRead(const Json& first, const Json& second) {
  EXPECT_GT(InputTokens(second), InputTokens(first) + OutputTokens(first));
  EXPECT_LE(ReadTokens(second), 80u) << ToText(second["usage"]);
  EXPECT_GE(InputTokens(second) - ReadTokens(second), InputTokens(first) + OutputTokens(first) - 2);
}

TEST(ContinuedResponses, ReasoningAndACallComeBackAsTheModelWroteThem) {
  ContinuedServer server(
      std::string(*BuiltinTemplate("qwen")),
      "<think>\nWhere is that?\n</think>\n\nI look it up.\n<tool_call>\n"
      "{\"name\": \"weather\", \"arguments\": {\"city\": \"Rome\"}}\n</tool_call>");
  const Json first = server.Ask(FirstTurn());
  ASSERT_EQ(first["output"].size(), 3u) << ToText(first);
  ExpectOnlyTheNewIsRead(first, server.Ask(WithResult(first)));
}

TEST(ContinuedResponses, ReasoningThatThePromptOpenedComesBackToo) {
  ContinuedServer server(
      std::string("{%- if tools %}{{- tools | tojson }}{%- endif %}") + test::kOpenThink,
      "Where is that?\n</think>\n\n<tool_call><function=weather>"
      "<parameter=city>Rome</parameter></function></tool_call>");
  const Json first = server.Ask(FirstTurn());
  ASSERT_EQ(first["output"].size(), 2u) << ToText(first);
  ExpectOnlyTheNewIsRead(first, server.Ask(WithResult(first)));
}

TEST(ContinuedResponses, EveryTurnOfALongConversationReadsItsOwnItemsAlone) {
  ContinuedServer server(std::string(*BuiltinTemplate("qwen")), "It is warm there, as ever.");
  Json last = server.Ask(FirstTurn());
  for (int turn = 0; turn < 5; ++turn) {
    Json body = FirstTurn();
    body["previous_response_id"] = last["id"];
    body["input"] = "And now?";
    const Json next = server.Ask(body);
    EXPECT_EQ(next["previous_response_id"], last["id"]);
    ExpectOnlyTheNewIsRead(last, next);
    last = next;
  }
}

TEST(ContinuedResponses, AContinuedPromptIsThatOfTheWholeConversation) {
  ContinuedServer server(std::string(*BuiltinTemplate("qwen")), "It is warm.");
  const Json first = server.Ask({{"instructions", "Be brief."}, {"input", "Is it warm?"}});
  // Their instructions are not carried over, as in OpenAI's API.
  const Json second = server.Ask({{"previous_response_id", first["id"]}, {"input", "Sure?"}});
  Json whole = Json::array({{{"role", "user"}, {"content", "Is it warm?"}}});
  whole.push_back(first["output"][0]);
  whole.push_back({{"role", "user"}, {"content", "Sure?"}});
  EXPECT_EQ(InputTokens(second), InputTokens(server.Ask({{"input", whole}})));
}

}  // namespace
}  // namespace cairn::responses_continued_test
