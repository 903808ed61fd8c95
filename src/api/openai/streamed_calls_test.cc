// Arguments of calls in the streams of all APIs while the model writes them, where a client asks
// for that, and calls that break off.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/anthropic/anthropic.h"
#include "api/anthropic/anthropic_request.h"
#include "api/openai/openai.h"
#include "api/openai/responses.h"
#include "api/openai/responses_request.h"
#include "api/request/chat_request.h"
#include "testing/chat/test_templates.h"

namespace cairn::streamed_calls_test {
namespace {

const std::vector<std::string> kCall = {"I look.\n<tool_call>{\"name\": \"weather\", ",
                                        "\"arguments\": {\"city\"", ": \"Ro", "me\"}}</tool",
                                        "_call>"};
const std::vector<std::string> kBrokenOff = {"<tool_call>{\"name\": \"weather\", \"arguments\": ",
                                             "{\"city\": \"Ro"};

// An answer that was given these parts of text, read by a client that offered the tool `weather`.
StartedChat Answer(const std::vector<std::string>& parts, bool stream, LogSink log = {}) {
  auto generation = std::make_shared<Generation>();
  for (const std::string& part : parts) {
    GenerationEvent event;
    event.text = part;
    generation->Push(event);
  }
  GenerationEvent done;
  done.kind = GenerationEvent::Kind::kDone;
  generation->Push(done);
  AnswerFormat format = FindAnswerFormat(
      *test::Builtin("chatml"), "",
      Tools::Parse(R"([{"type":"function","function":{"name":"weather"}}])").value());
  EXPECT_EQ(format.calls, CallFormat::kLearned);
  format.stream_arguments = stream;
  StartedChat chat{generation, MakeAnswerParser(format)};
  chat.log = std::move(log);
  return chat;
}

// The `data` of each event.
template <typename Stream>
std::vector<Json> Events(Stream stream) {
  std::string text;
  while (stream.Next(&text)) {
  }
  std::vector<Json> events;
  for (size_t at = text.find("data: "); at != std::string::npos; at = text.find("data: ", at)) {
    at += 6;
    const std::string line = text.substr(at, text.find('\n', at) - at);
    if (line != "[DONE]") events.push_back(Json::parse(line));
  }
  return events;
}

TEST(StreamedCalls, ChatHasADeltaForEachPart) {
  std::vector<std::string> deltas;
  for (const Json& event : Events(ChatStream(Answer(kCall, true), {"chatcmpl-1", "m", 0}, {}))) {
    const Json delta = event["choices"][0]["delta"];
    if (!delta.contains("tool_calls")) continue;
    deltas.push_back(delta["tool_calls"][0]["function"]["arguments"].text());
  }
  EXPECT_EQ(deltas, (std::vector<std::string>{"", "{\"city\"", ": \"Ro", "me\"}"}));
}

TEST(StreamedCalls, MessagesHaveADeltaForEachPart) {
  std::vector<std::string> deltas;
  for (const Json& event : Events(MessageStream(Answer(kCall, true), {"msg_1", "m", 0}))) {
    if (event["type"] != "content_block_delta") continue;
    if (event["delta"]["type"] != "input_json_delta") continue;
    deltas.push_back(event["delta"]["partial_json"].text());
  }
  EXPECT_EQ(deltas, (std::vector<std::string>{"{\"city\"", ": \"Ro", "me\"}"}));
}

TEST(StreamedCalls, ResponsesHaveADeltaForEachPart) {
  std::vector<std::string> deltas;
  Json done;
  for (const Json& event : Events(ResponseStream(Answer(kCall, true), {"resp_1", "m", 0}, {}))) {
    if (event["type"] == "response.function_call_arguments.delta") {
      deltas.push_back(event["delta"].text());
    }
    if (event["type"] == "response.output_item.done") done = event["item"];
  }
  EXPECT_EQ(deltas, (std::vector<std::string>{"{\"city\"", ": \"Ro", "me\"}"}));
  EXPECT_EQ(done["arguments"], "{\"city\": \"Rome\"}");
  EXPECT_EQ(done["status"], "completed");
}

TEST(StreamedCalls, OneThatBreaksOffStaysOpenAndIsLoggedOnce) {
  std::vector<std::string> lines;
  const LogSink log = [&](LogLevel, std::string_view line) { lines.emplace_back(line); };
  std::string arguments;
  for (const Json& event :
       Events(ChatStream(Answer(kBrokenOff, true, log), {"chatcmpl-1", "m", 0}, {}))) {
    const Json delta = event["choices"][0]["delta"];
    if (!delta.contains("tool_calls")) continue;
    arguments += delta["tool_calls"][0]["function"]["arguments"].text();
  }
  EXPECT_EQ(arguments, "{\"city\": \"Ro");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("begin like a tool call"), std::string::npos) << lines[0];
  for (const Json& event :
       Events(ResponseStream(Answer(kBrokenOff, true), {"resp_1", "m", 0}, {}))) {
    if (event["type"] != "response.output_item.done") continue;
    EXPECT_EQ(event["item"]["status"], "incomplete");
  }
}

TEST(StreamedCalls, WithoutPartsOneThatBreaksOffIsTextAndNoCall) {
  std::vector<std::string> lines;
  const LogSink log = [&](LogLevel, std::string_view line) { lines.emplace_back(line); };
  std::string content;
  for (const Json& event :
       Events(ChatStream(Answer(kBrokenOff, false, log), {"chatcmpl-1", "m", 0}, {}))) {
    const Json delta = event["choices"][0]["delta"];
    EXPECT_FALSE(delta.contains("tool_calls"));
    if (delta.contains("content") && delta["content"].is_string()) {
      content += delta["content"].text();
    }
  }
  EXPECT_EQ(content, kBrokenOff[0] + kBrokenOff[1]);
  EXPECT_EQ(lines.size(), 1u);
}

TEST(StreamedCalls, OneThatWasMendedIsLoggedOnce) {
  std::vector<std::string> lines;
  const LogSink log = [&](LogLevel, std::string_view line) { lines.emplace_back(line); };
  const auto answer =
      CollectChat(Answer({"<tool_call>{\"name\": \"weather\"}", "</tool_call>"}, false, log),
                  {"chatcmpl-1", "m", 0}, [] { return false; });
  const Json message = Json::parse(*answer)["choices"][0]["message"];
  EXPECT_EQ(message["tool_calls"][0]["function"]["arguments"], "{}");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("1 tool calls that deviate"), std::string::npos) << lines[0];
}

TEST(StreamedCalls, AnAnswerThatIsNotStreamedHasTheTextOfOneThatBreaksOff) {
  std::vector<std::string> lines;
  const LogSink log = [&](LogLevel, std::string_view line) { lines.emplace_back(line); };
  const auto answer =
      CollectChat(Answer(kBrokenOff, false, log), {"chatcmpl-1", "m", 0}, [] { return false; });
  const Json message = Json::parse(*answer)["choices"][0]["message"];
  EXPECT_EQ(message["content"], kBrokenOff[0] + kBrokenOff[1]);
  EXPECT_FALSE(message.contains("tool_calls"));
  EXPECT_EQ(lines.size(), 1u);
}

TEST(StreamedCalls, EachIsToldToWhoKeepsTheModelsSpelling) {
  for (const bool stream : {true, false}) {
    std::vector<std::string> told;
    StartedChat chat =
        Answer({kCall[0] + kCall[1] + kCall[2] + kCall[3] + kCall[4],
                "\n<tool_call>{\"name\": \"weather\", \"arguments\": {}}</tool_call>"},
               stream);
    chat.on_call = [&](std::string_view name, std::string_view arguments) {
      told.push_back(std::string(name) + " " + std::string(arguments));
    };
    Events(ChatStream(std::move(chat), {"chatcmpl-1", "m", 0}, {}));
    EXPECT_EQ(told, (std::vector<std::string>{R"(weather {"city": "Rome"})", "weather {}"}));
  }
}

TEST(StreamedCalls, NothingIsLoggedOfACallThatIsWhole) {
  const LogSink log = [](LogLevel, std::string_view line) { ADD_FAILURE() << line; };
  Events(ChatStream(Answer(kCall, true, log), {"chatcmpl-1", "m", 0}, {}));
}

// A prompt of a template that needs objects, in which the call that was cut comes back.
void ExpectTakenBack(const Conversation& conversation, const std::string& shown) {
  const auto wants = test::Parsed(test::kOpenThink);
  ASSERT_TRUE(wants->caps().object_arguments);
  const auto text = wants->Render(conversation, true);
  ASSERT_TRUE(text.has_value()) << text.error().message;
  EXPECT_NE(text->find(shown), std::string::npos) << *text;
}

const std::string kShownBrokenOff = "<function=weather><parameter=city>Ro</parameter>";

TEST(StreamedCalls, OneThatBreaksOffIsTakenBackByChat) {
  Json call = {{"type", "function"}, {"function", {{"arguments", ""}}}};
  for (const Json& event :
       Events(ChatStream(Answer(kBrokenOff, true), {"chatcmpl-1", "m", 0}, {}))) {
    const Json delta = event["choices"][0]["delta"];
    if (!delta.contains("tool_calls")) continue;
    const Json& part = delta["tool_calls"][0];
    if (part.contains("id")) call["id"] = part["id"];
    if (part["function"].contains("name")) call["function"]["name"] = part["function"]["name"];
    call["function"]["arguments"] =
        call["function"]["arguments"].text() + part["function"]["arguments"].text();
  }
  const Json answer = {
      {"role", "assistant"}, {"content", nullptr}, {"tool_calls", Json::array({call})}};
  const Json result = {{"role", "tool"}, {"tool_call_id", call["id"]}, {"content", "error"}};
  const Json body = {
      {"messages", Json::array({{{"role", "user"}, {"content", "go"}}, answer, result})}};
  const auto conversation = ParseConversation(body);
  ASSERT_TRUE(conversation.has_value()) << conversation.error().message;
  ExpectTakenBack(*conversation, kShownBrokenOff);
}

TEST(StreamedCalls, OneThatBreaksOffIsTakenBackByMessagesAsATextOrAsClientsCloseIt) {
  std::string partial;
  Json block;
  for (const Json& event : Events(MessageStream(Answer(kBrokenOff, true), {"msg_1", "m", 0}))) {
    if (event["type"] == "content_block_start") block = event["content_block"];
    if (event["type"] != "content_block_delta") continue;
    partial += event["delta"]["partial_json"].text();
  }
  EXPECT_EQ(block["type"], "tool_use");
  const Json closed = {{"city", "Ro"}};
  for (const Json& input : {Json(partial), closed}) {
    block["input"] = input;
    const Json answer = {{"role", "assistant"}, {"content", Json::array({block})}};
    const Json result = {
        {"type", "tool_result"}, {"tool_use_id", block["id"]}, {"content", "error"}};
    const Json body = {
        {"messages", Json::array({{{"role", "user"}, {"content", "go"}},
                                  answer,
                                  {{"role", "user"}, {"content", Json::array({result})}}})}};
    const auto conversation = ParseMessagesConversation(body, {});
    ASSERT_TRUE(conversation.has_value()) << conversation.error().message;
    ExpectTakenBack(*conversation, kShownBrokenOff);
  }
}

TEST(StreamedCalls, OneThatBreaksOffIsTakenBackByResponses) {
  Json items = Json::array({{{"role", "user"}, {"content", "go"}}});
  for (const Json& event :
       Events(ResponseStream(Answer(kBrokenOff, true), {"resp_1", "m", 0}, {}))) {
    if (event["type"] == "response.output_item.done") items.push_back(event["item"]);
  }
  ASSERT_EQ(items.size(), 2u);
  items.push_back(
      {{"type", "function_call_output"}, {"call_id", items[1]["call_id"]}, {"output", "error"}});
  const Json body = {{"input", items}};
  const auto request = ParseResponsesRequest(body, GenerationParams{});
  ASSERT_TRUE(request.has_value()) << request.error().message;
  ExpectTakenBack(request->chat.conversation, kShownBrokenOff);
}

TEST(StreamedCalls, AnAnswerThatIsNotStreamedIsTakenBackAsTheTextItWasSentAs) {
  const auto answer =
      CollectChat(Answer(kBrokenOff, false), {"chatcmpl-1", "m", 0}, [] { return false; });
  const Json message = Json::parse(*answer)["choices"][0]["message"];
  const Json body = {{"messages", Json::array({{{"role", "user"}, {"content", "go"}}, message})}};
  const auto conversation = ParseConversation(body);
  ASSERT_TRUE(conversation.has_value()) << conversation.error().message;
  ExpectTakenBack(*conversation, kBrokenOff[0] + kBrokenOff[1]);
}

}  // namespace
}  // namespace cairn::streamed_calls_test
