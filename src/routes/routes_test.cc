// Tests the routes on a FakeEngine, over a real socket.

#include "routes/routes.h"

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "api/json.h"
#include "routes/request_routes.h"
#include "testing/api/api_fixture.h"
#include "testing/base/memory_fs.h"
#include "testing/http/server_fixture.h"

namespace cairn {
namespace {

class RoutesTest : public ApiTest {
 protected:
  RoutesTest() : server_(ServerOptions()) {
    served_.model.alias = "m";
    AddRoutes(&server_, &served_);
    EXPECT_TRUE(server_.Bind());
    server_thread_ = std::thread([this] { server_.Serve(); });
  }
  ~RoutesTest() override {
    server_.Stop();
    server_thread_.join();
  }

  HttpServerOptions ServerOptions() {
    HttpServerOptions options;
    options.port = 0;
    options.error_body = HttpErrorBody;
    options.answer_headers = [this](std::string_view path) {
      return AnswerHeaders(&served_, path);
    };
    options.on_refusal = NoteIn(&served_.refusals);
    return options;
  }

  void ServeSlotFiles() {
    EXPECT_TRUE(fs_.MakeFolders("/slots").has_value());
    SlotFilesOptions options;
    options.folder = "/slots";
    options.saved_as.name_spaces = {{0, 0}};
    options.needs_snapshots = engine_.traits().NeedsSnapshots();
    slot_files_ =
        std::make_unique<SlotFiles>(&fs_, &scheduler_.slots(), &clock_, std::move(options));
    served_.slot_files = slot_files_.get();
  }
  void FinishLoading() { served_.service.store(&service_, std::memory_order_release); }

  std::string Get(const std::string& path) {
    RawClient client(server_.port());
    client.Send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    return client.ReadAll();
  }
  std::string Delete(const std::string& path) {
    RawClient client(server_.port());
    client.Send("DELETE " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    return client.ReadAll();
  }
  std::string Post(const std::string& path, const std::string& body) {
    RawClient client(server_.port());
    client.Send("POST " + path +
                " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: " +
                std::to_string(body.size()) + "\r\n\r\n" + body);
    return client.ReadAll();
  }

  MemoryFs fs_;
  std::unique_ptr<SlotFiles> slot_files_;
  Served served_;
  HttpServer server_;
  std::thread server_thread_;
};

TEST_F(RoutesTest, AThumbnailIsAPictureThatNoCacheKeepsAndNoOtherSiteShows) {
  FinishLoading();
  const auto thumbnail = std::make_shared<const Bytes>(Bytes{0x89, 'P', 'N', 'G', 0, '\n'});
  PlacedMedium medium{.begin = 1, .end = 7, .medium = MakeMedium(MediumKind::kImage, {}, "")};
  medium.preview.thumbnail = thumbnail;
  ExplainedPrompt prompt;
  prompt.media.push_back(std::move(medium));
  served_.request_log.Begin({"r1", "/test", 0, 0}, std::move(prompt), &engine_)->OnReport({});
  const std::string answer = Get("/cairn/requests/r1/thumbnails/0");
  EXPECT_EQ(StatusOf(answer), 200);
  EXPECT_EQ(BodyOf(answer), std::string(thumbnail->begin(), thumbnail->end()));
  for (const char* header :
       {"Content-Type: image/png", "Cache-Control: no-store", "X-Content-Type-Options: nosniff",
        "Cross-Origin-Resource-Policy: same-origin"}) {
    EXPECT_NE(answer.find(std::string("\r\n") + header + "\r\n"), std::string::npos) << header;
  }
  EXPECT_EQ(StatusOf(Get("/cairn/requests/r1/thumbnails/1")), 404);
  EXPECT_EQ(StatusOf(Get("/cairn/requests/r2/thumbnails/0")), 404);
}

const std::string kMessages = R"("max_tokens":3,"messages":[{"role":"user","content":"hi"}])";

TEST_F(RoutesTest, AnImageWithoutAProjectorIsRefusedInEachApisForm) {
  FinishLoading();
  const std::string why = ".content[0]: this server takes no images: start it with --mmproj FILE";
  const auto refused = [this](const std::string& path, const std::string& list,
                              const std::string& part) {
    const std::string answer =
        Post(path, R"({"max_tokens":1,")" + list + R"(":[{"role":"user","content":[{"type":")" +
                       part + R"("}]}]})");
    EXPECT_EQ(StatusOf(answer), 400) << answer;
    return Json::parse(BodyOf(answer));
  };
  const Json chat = refused("/v1/chat/completions", "messages", "image_url");
  EXPECT_EQ(chat["error"]["message"], "messages[0]" + why);
  EXPECT_EQ(chat["error"]["param"], "messages[0].content[0]");
  const Json responses = refused("/v1/responses", "input", "input_image");
  EXPECT_EQ(responses["error"]["message"], "input[0]" + why);
  const Json messages = refused("/v1/messages", "messages", "image");
  EXPECT_EQ(messages["type"], "error");
  EXPECT_EQ(messages["error"]["type"], "invalid_request_error");
  EXPECT_EQ(messages["error"]["message"], "messages[0]" + why);
}

TEST_F(RoutesTest, MessagesAnswerWholeAndInEvents) {
  FinishLoading();
  const std::string whole = Post("/v1/messages?beta=true", "{" + kMessages + "}");
  ASSERT_EQ(StatusOf(whole), 200) << whole;
  const Json message = Json::parse(BodyOf(whole));
  EXPECT_TRUE(message["id"].get<std::string>().starts_with("msg_"));
  EXPECT_EQ(message["model"], "m");
  EXPECT_EQ(message["usage"]["output_tokens"], 3);

  const std::string events = Post("/v1/messages?beta=true", R"({"stream":true,)" + kMessages + "}");
  EXPECT_NE(events.find("Content-Type: text/event-stream\r\n"), std::string::npos) << events;
  EXPECT_NE(events.find("event: message_start\ndata: {"), std::string::npos) << events;
  EXPECT_NE(events.find("event: message_stop\ndata: {"), std::string::npos) << events;
}

TEST_F(RoutesTest, ResponsesAnswerWholeAndInEvents) {
  FinishLoading();
  const std::string whole = Post("/v1/responses", R"({"input":"hi","max_output_tokens":3})");
  ASSERT_EQ(StatusOf(whole), 200) << whole;
  const Json response = Json::parse(BodyOf(whole));
  EXPECT_EQ(response["status"], "incomplete");
  EXPECT_EQ(response["usage"]["output_tokens"], 3);
  EXPECT_EQ(response["output"][0]["content"][0]["text"].get<std::string>().size(), 3u);

  const std::string events =
      Post("/v1/responses", R"({"input":"hi","max_output_tokens":3,"stream":true})");
  EXPECT_NE(events.find("event: response.created\ndata: {"), std::string::npos) << events;
  EXPECT_NE(events.find("event: response.incomplete\ndata: {"), std::string::npos) << events;
  EXPECT_EQ(StatusOf(Post("/v1/responses", R"({"previous_response_id":"r","input":"hi"})")), 400);
}

TEST_F(RoutesTest, TokensAreCountedWithoutAnAnswer) {
  FinishLoading();
  const std::string counted = Post("/v1/messages/count_tokens?beta=true", "{" + kMessages + "}");
  ASSERT_EQ(StatusOf(counted), 200) << counted;
  EXPECT_GT(Json::parse(BodyOf(counted))["input_tokens"].get<int>(), 2);
}

TEST_F(RoutesTest, HealthSaysWhyTheServerIsNotReady) {
  EXPECT_NE(Get("/health").find("\"Loading model\""), std::string::npos);
  served_.not_ready = "Loading model: it measures";
  const std::string measuring = Get("/health");
  EXPECT_EQ(StatusOf(measuring), 503);
  EXPECT_NE(measuring.find("it measures"), std::string::npos) << measuring;
  EXPECT_NE(measuring.find("Retry-After"), std::string::npos) << measuring;
  FinishLoading();
  EXPECT_EQ(StatusOf(Get("/health")), 200);
}

TEST_F(RoutesTest, ErrorsOfMessagesHaveAnthropicsShape) {
  for (const char* path : {"/v1/messages", "/v1/messages/count_tokens"}) {
    const std::string loading = Post(path, "{" + kMessages + "}");
    EXPECT_EQ(StatusOf(loading), 503);
    EXPECT_NE(loading.find("Loading model"), std::string::npos) << loading;
    EXPECT_EQ(Json::parse(BodyOf(loading))["error"]["type"], "overloaded_error");
  }
  FinishLoading();
  for (const char* path : {"/v1/messages", "/v1/messages/count_tokens"}) {
    for (const char* body : {"{", R"({"max_tokens":1})"}) {
      const std::string answer = Post(path, body);
      EXPECT_EQ(StatusOf(answer), 400);
      const Json json = Json::parse(BodyOf(answer));
      EXPECT_EQ(json["type"], "error");
      EXPECT_EQ(json["error"]["type"], "invalid_request_error");
    }
  }
}

TEST_F(RoutesTest, PromptsAreCountedForBothOfOpenAisForms) {
  FinishLoading();
  const Json chat = Json::parse(BodyOf(Post("/v1/chat/completions", "{" + kMessages + "}")));
  const Json counted =
      Json::parse(BodyOf(Post("/v1/chat/completions/input_tokens", "{" + kMessages + "}")));
  EXPECT_EQ(counted["input_tokens"], chat["usage"]["prompt_tokens"]);
  const Json input = Json::parse(BodyOf(Post("/v1/responses/input_tokens", R"({"input":"hi"})")));
  EXPECT_EQ(input["input_tokens"], counted["input_tokens"]);
  EXPECT_EQ(StatusOf(Post("/v1/chat/completions/input_tokens", "{}")), 400);
}

TEST_F(RoutesTest, ASlotIsErasedAndWhatNeedsAFolderSaysSo) {
  FinishLoading();
  Post("/completion", R"({"prompt":"abc","n_predict":2})");
  const std::string erased = Post("/slots/0?action=erase", "");
  ASSERT_EQ(StatusOf(erased), 200) << erased;
  EXPECT_EQ(Json::parse(BodyOf(erased))["id_slot"], 0);
  EXPECT_EQ(Json::parse(BodyOf(erased))["n_erased"], 4);
  EXPECT_EQ(Json::parse(BodyOf(Post("/slots/0?action=erase", "")))["n_erased"], 0);
  for (const char* path :
       {"/slots/7?action=erase", "/slots/x?action=erase", "/slots/0", "/slots/0?action=forget"}) {
    EXPECT_EQ(StatusOf(Post(path, "")), 400) << path;
  }
  for (const char* path : {"/slots/0?action=save", "/slots/0?action=restore"}) {
    const std::string refused = Post(path, R"({"filename":"f"})");
    EXPECT_EQ(StatusOf(refused), 501) << path;
    EXPECT_NE(BodyOf(refused).find("--slot-save-path"), std::string::npos);
  }
}

TEST_F(RoutesTest, ASlotIsSavedToAFileAndRestored) {
  ServeSlotFiles();
  FinishLoading();
  Post("/completion", R"({"prompt":"abc","n_predict":2})");
  const std::string saved = Post("/slots/0?action=save", R"({"filename":"f.bin"})");
  ASSERT_EQ(StatusOf(saved), 200) << saved;
  const Json save = Json::parse(BodyOf(saved));
  EXPECT_EQ(save["n_saved"], 4);
  EXPECT_EQ(save["n_written"], fs_.Stat("/slots/f.bin")->bytes);
  Post("/slots/0?action=erase", "");
  const std::string restored = Post("/slots/0?action=restore", R"({"filename":"f.bin"})");
  ASSERT_EQ(StatusOf(restored), 200) << restored;
  const Json restore = Json::parse(BodyOf(restored));
  EXPECT_EQ(restore["filename"], "f.bin");
  EXPECT_EQ(restore["n_restored"], 4);
  EXPECT_EQ(restore["n_read"], save["n_written"]);
  EXPECT_TRUE(restore["timings"]["restore_ms"].is_number());
}

TEST_F(RoutesTest, WhatIsWrongWithASlotsFileIsSaid) {
  ServeSlotFiles();
  FinishLoading();
  Post("/completion", R"({"prompt":"abc","n_predict":2})");
  for (const char* body :
       {"", "[]", "{}", R"({"filename":""})", R"({"filename":7})", R"({"filename":"../f"})",
        R"({"filename":"a/b"})", R"({"filename":"a\\b"})", R"({"filename":"a\u0000b"})"}) {
    for (const char* path : {"/slots/0?action=save", "/slots/0?action=restore"}) {
      const std::string refused = Post(path, body);
      EXPECT_EQ(StatusOf(refused), 400) << path << " " << body << "\n" << refused;
    }
  }
  EXPECT_EQ(StatusOf(Post("/slots/7?action=save", R"({"filename":"f"})")), 400);
  EXPECT_EQ(StatusOf(Post("/slots/0?action=restore", R"({"filename":"none"})")), 400);
  EXPECT_TRUE(fs_.Files().empty());
  fs_.FailAll(FsCall::kAppend, ErrorCode::kNoSpace);
  const std::string full = Post("/slots/0?action=save", R"({"filename":"f"})");
  EXPECT_EQ(StatusOf(full), 500) << full;
  EXPECT_EQ(StatusOf(Post("/completion", R"({"prompt":"abc","n_predict":2})")), 200);
}

TEST_F(RoutesTest, EveryApiHasItsPathsWithAndWithoutTheVersion) {
  FinishLoading();
  const std::string messages = Post("/messages", "{" + kMessages + R"(,"max_tokens":2})");
  EXPECT_EQ(StatusOf(messages), 200) << messages;
  EXPECT_EQ(Json::parse(BodyOf(messages))["type"], "message");
  // Errors have the shape of the API too.
  const std::string refused = Post("/messages", "{}");
  EXPECT_EQ(Json::parse(BodyOf(refused))["type"], "error") << refused;
  EXPECT_NE(refused.find("request-id:"), std::string::npos) << refused;
  EXPECT_EQ(StatusOf(Post("/responses", R"({"input":"hi","max_output_tokens":2})")), 200);
  EXPECT_EQ(StatusOf(Post("/chat/completions/input_tokens", "{" + kMessages + "}")), 200);
  EXPECT_EQ(StatusOf(Get("/v1/props")), 200);
  EXPECT_EQ(StatusOf(Post("/v1/tokenize", R"({"content":"hi"})")), 200);
}

TEST_F(RoutesTest, AModelIsFoundByItsName) {
  FinishLoading();
  const std::string name = Json::parse(BodyOf(Get("/v1/models")))["data"][0]["id"].text();
  EXPECT_EQ(Json::parse(BodyOf(Get("/v1/models/" + name)))["id"], name);
  EXPECT_EQ(Json::parse(BodyOf(Get("/models/" + name)))["id"], name);
  EXPECT_EQ(StatusOf(Get("/v1/models/none")), 404);
  EXPECT_EQ(StatusOf(Get("/v1/models/no/model")), 404);
}

TEST_F(RoutesTest, ACompletionWithASuffixNeedsTheTokens) {
  FinishLoading();
  const std::string refused = Post("/v1/completions", R"({"prompt":"a","suffix":"b"})");
  EXPECT_EQ(StatusOf(refused), 400) << refused;
  EXPECT_NE(BodyOf(refused).find("fill-in-the-middle"), std::string::npos) << refused;
}

TEST_F(RoutesTest, EmbeddingsAreMadeOnlyWhereTheyWereAskedFor) {
  FinishLoading();
  for (const char* path : {"/v1/embeddings", "/embeddings", "/embedding"}) {
    const std::string refused = Post(path, R"({"input":"hi"})");
    EXPECT_EQ(StatusOf(refused), 501) << path;
    EXPECT_NE(BodyOf(refused).find("--embeddings"), std::string::npos);
  }
}

TEST_F(RoutesTest, AServersGrammarHoldsWhereARequestHasNone) {
  // FakeEngine ignores grammars, but an invalid one is reported.
  served_.grammar = "root ::= missing";
  FinishLoading();
  EXPECT_EQ(StatusOf(Post("/v1/chat/completions", "{" + kMessages + "}")), 400);
  EXPECT_EQ(StatusOf(Post("/v1/completions", R"({"prompt":"a"})")), 400);
  EXPECT_EQ(StatusOf(Post("/v1/completions", R"({"prompt":"a","grammar":"root ::= \"a\""})")), 200);
}

TEST_F(RoutesTest, ACallThatWasCutIsTakenBackByEachApi) {
  FinishLoading();
  const std::string cut = R"("{\"path\": \"AAAA")";
  const auto status = [&](const std::string& path, const std::string& fields) {
    const std::string answer = Post(path, "{" + fields + "}");
    EXPECT_EQ(StatusOf(answer), 200) << path << ": " << answer;
  };
  status("/v1/chat/completions",
         R"("max_tokens":1,"messages":[{"role":"user","content":"go"},{"role":"assistant",)"
         R"("content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f",)"
         R"("arguments":)" +
             cut + R"(}}]},{"role":"tool","tool_call_id":"c","content":"error"}])");
  status("/v1/messages",
         R"("max_tokens":1,"messages":[{"role":"user","content":"go"},{"role":"assistant",)"
         R"("content":[{"type":"tool_use","id":"c","name":"f","input":)" +
             cut +
             R"(}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c",)"
             R"("content":"error"}]}])");
  status("/v1/responses",
         R"("max_output_tokens":1,"input":[{"role":"user","content":"go"},)"
         R"({"type":"function_call","call_id":"c","name":"f","status":"incomplete","arguments":)" +
             cut + R"(},{"type":"function_call_output","call_id":"c","output":"error"}])");
}

TEST_F(RoutesTest, AServersSchemaLeavesCallsPossibleAndItsGrammarDoesNot) {
  served_.grammar = "root ::= \"7\"";
  FinishLoading();
  const std::string forced =
      "{" + kMessages +
      R"(,"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"required"})";
  EXPECT_EQ(StatusOf(Post("/v1/chat/completions", forced)), 400);
  served_.grammar_is_format = true;
  EXPECT_EQ(StatusOf(Post("/v1/chat/completions", forced)), 200);
}

// FakeEngine ignores grammars; which answers they allow is tested beside them.
TEST_F(RoutesTest, ToolsAndAFormatGoTogetherWhateverIsForced) {
  FinishLoading();
  const std::string parameters =
      R"("parameters":{"type":"object","properties":{"x":{"not":{"const":1}}}})";
  const std::string format = R"({"type":"json_schema","name":"n","schema":{"type":"object"},)"
                             R"("json_schema":{"name":"n","schema":{"type":"object"}}})";
  for (const char* choice : {"\"auto\"", "\"none\""}) {
    EXPECT_EQ(StatusOf(Post("/v1/chat/completions",
                            "{" + kMessages + R"(,"tools":[{"type":"function","function":)" +
                                R"({"name":"f",)" + parameters + R"(}}],"tool_choice":)" + choice +
                                R"(,"response_format":)" + format + "}")),
              200)
        << choice;
  }
  for (const char* choice :
       {"\"auto\"", "\"none\"", "\"required\"", R"({"type":"function","name":"f"})"}) {
    const std::string answer =
        Post("/v1/responses",
             R"({"input":"x","max_output_tokens":3,"tools":[{"type":"function","name":"f"}],)"
             R"("tool_choice":)" +
                 std::string(choice) + R"(,"text":{"format":)" + format + "}}");
    EXPECT_EQ(StatusOf(answer), 200) << choice << ": " << answer;
  }
}

TEST_F(RoutesTest, WhatTheServerRefusesByItselfHasTheShapeOfTheApi) {
  FinishLoading();
  const auto get = [&](const std::string& path) {
    RawClient client(server_.port());
    client.Send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    return client.ReadAll();
  };
  const Json method = Json::parse(BodyOf(get("/v1/messages")));
  EXPECT_EQ(method["type"], "error") << method;
  EXPECT_EQ(method["error"]["type"], "invalid_request_error");
  const Json nothing = Json::parse(BodyOf(get("/v1/messages/batches/1")));
  EXPECT_EQ(nothing["error"]["type"], "not_found_error") << nothing;
  const Json other = Json::parse(BodyOf(get("/v1/messagesx")));
  EXPECT_EQ(other["error"]["code"], 404) << other;
}

TEST_F(RoutesTest, AnAnswerOnItsWayIsEndedByItsId) {
  FinishLoading();
  const auto end = [&](const std::string& path) {
    RawClient client(server_.port());
    client.Send("DELETE " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    return client.ReadAll();
  };
  const auto generation = std::make_shared<Generation>();
  served_.running.Add("chatcmpl-7", 0, generation);
  EXPECT_EQ(StatusOf(end("/v1/chat/completions/chatcmpl-8")), 404);
  EXPECT_FALSE(generation->cancelled());
  EXPECT_EQ(StatusOf(end("/v1/chat/completions/chatcmpl-7")), 200);
  EXPECT_TRUE(generation->cancelled());
}

TEST_F(RoutesTest, EveryAnswerHasAnIdOfItsOwn) {
  FinishLoading();
  const std::string first = Post("/v1/messages", "{" + kMessages + "}");
  const std::string second = Post("/v1/messages", "{");
  EXPECT_NE(first.find("\r\nrequest-id: req_0-1\r\n"), std::string::npos) << first;
  EXPECT_NE(second.find("\r\nrequest-id: req_0-2\r\n"), std::string::npos) << second;
  const std::string chat = Post("/nowhere", "");
  EXPECT_NE(chat.find("\r\nx-request-id: req_0-3\r\n"), std::string::npos) << chat;
}

TEST_F(RoutesTest, ADrainRefusesWhatComputesAndNothingElse) {
  FinishLoading();
  const std::string before = Get("/cairn/drain");
  EXPECT_EQ(Json::parse(BodyOf(before))["draining"], false);
  const Json begun = Json::parse(BodyOf(Post("/cairn/drain", "")));
  EXPECT_EQ(begun["draining"], true);
  EXPECT_EQ(begun["drained"], true);
  const std::pair<const char*, std::string> computing[] = {
      {"/v1/chat/completions", "{" + kMessages + "}"},
      {"/v1/messages", "{" + kMessages + "}"},
      {"/v1/responses", R"({"input":"hi"})"},
      {"/v1/completions", R"({"prompt":"a"})"},
      {"/completion", R"({"prompt":"a"})"},
      {"/infill", "{}"},
      {"/v1/embeddings", R"({"input":"a"})"},
      {"/v1/rerank", "{}"},
      {"/cairn/cache/prefetch", R"({"prompt":"a"})"}};
  for (const auto& [path, body] : computing) {
    const std::string refused = Post(path, body);
    EXPECT_EQ(StatusOf(refused), 503) << path << "\n" << refused;
    EXPECT_NE(refused.find("\r\nRetry-After: "), std::string::npos) << refused;
    EXPECT_NE(BodyOf(refused).find("draining"), std::string::npos) << refused;
  }
  const Json messages = Json::parse(BodyOf(Post("/v1/messages", "{" + kMessages + "}")));
  EXPECT_EQ(messages["error"]["type"], "overloaded_error");
  for (const char* path : {"/health", "/v1/health"}) {
    const std::string health = Get(path);
    EXPECT_EQ(StatusOf(health), 503);
    EXPECT_EQ(Json::parse(BodyOf(health))["status"], "draining");
    EXPECT_EQ(Json::parse(BodyOf(health))["error"]["type"], "unavailable_error");
  }
  EXPECT_NE(Get("/metrics").find("\ncairn_draining 1\n"), std::string::npos);
  for (const char* path :
       {"/v1/models", "/props", "/slots", "/cairn/cache", "/cairn/requests", "/cairn/doctor"}) {
    EXPECT_EQ(StatusOf(Get(path)), 200) << path;
  }
  EXPECT_EQ(StatusOf(Post("/tokenize", R"({"content":"a"})")), 200);
}

TEST_F(RoutesTest, ADrainIsTakenBackUnlessTheProcessEnds) {
  FinishLoading();
  Post("/cairn/drain", "");
  const std::string ended = Delete("/cairn/drain");
  EXPECT_EQ(StatusOf(ended), 200);
  EXPECT_EQ(Json::parse(BodyOf(ended))["draining"], false);
  EXPECT_EQ(StatusOf(Get("/health")), 200);
  EXPECT_EQ(StatusOf(Post("/v1/messages", "{" + kMessages + "}")), 200);
  EXPECT_NE(Get("/metrics").find("\ncairn_draining 0\n"), std::string::npos);
  served_.drain.Stop();
  EXPECT_EQ(StatusOf(Delete("/cairn/drain")), 503);
  EXPECT_EQ(StatusOf(Get("/health")), 503);
}

TEST_F(RoutesTest, ADrainAnswersWhatHasBegunToItsLastByte) {
  FinishLoading();
  RawClient client(server_.port());
  const std::string body = R"({"stream":true,"max_tokens":2000,)" +
                           std::string(R"("messages":[{"role":"user","content":"hi"}]})");
  client.Send(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
      "Content-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body);
  while (served_.drain.state().requests == 0) std::this_thread::yield();
  Post("/cairn/drain", "");
  EXPECT_EQ(StatusOf(Post("/v1/messages", "{" + kMessages + "}")), 503);
  const std::string answer = client.ReadAll();
  EXPECT_EQ(StatusOf(answer), 200);
  EXPECT_NE(answer.find(R"("finish_reason":"length")"), std::string::npos);
  EXPECT_NE(answer.find("data: [DONE]"), std::string::npos);
  served_.drain.WaitForRequests(1e9);
  EXPECT_EQ(Json::parse(BodyOf(Get("/cairn/drain")))["drained"], true);
}

// Session headers and model names that the server does not know.
TEST_F(RoutesTest, WhatClientsSayOfTheirSessionAndModelChangesNothing) {
  FinishLoading();
  const std::string body = R"({"model":"claude-of-another-year",)" + kMessages + "}";
  RawClient client(server_.port());
  client.Send(
      "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
      "X-Claude-Code-Session-Id: 1\r\nx-session-affinity: \"\r\nsession-id: ../..\r\n"
      "x-session-id: " +
      std::string(4000, 'x') + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
      body);
  const std::string answer = client.ReadAll();
  EXPECT_EQ(StatusOf(answer), 200) << answer;
  const Json plain = Json::parse(BodyOf(Post("/v1/messages", "{" + kMessages + "}")));
  EXPECT_EQ(Json::parse(BodyOf(answer))["content"], plain["content"]);
}

TEST_F(RoutesTest, RefusedRequestsAreInTheListOfRequestsAndCounted) {
  FinishLoading();
  EXPECT_EQ(StatusOf(Post("/v1/chat/completions", R"({"messages":7})")), 400);
  const std::string lost = Post("/api/messages", "{}");
  EXPECT_EQ(StatusOf(lost), 404);
  EXPECT_NE(BodyOf(lost).find("did you mean POST /v1/messages?"), std::string::npos) << lost;
  const std::string answered =
      Post("/v1/chat/completions", R"({"messages":[{"role":"user","content":"hi"}]})");
  EXPECT_EQ(StatusOf(answered), 200) << answered;

  const Json listed = Json::parse(BodyOf(Get("/cairn/requests")))["requests"];
  ASSERT_EQ(listed.size(), 3u) << listed.dump();
  std::map<int, Json> refused;
  for (const Json& row : listed) {
    if (row["state"].text() == "refused") refused[row["status"].get<int>()] = row;
  }
  ASSERT_EQ(refused.size(), 2u) << listed.dump();
  EXPECT_EQ(refused[400]["api"].text(), "/v1/chat/completions");
  EXPECT_NE(refused[400]["message"].text().find("'messages'"), std::string::npos);
  EXPECT_EQ(refused[404]["method"].text(), "POST");
  EXPECT_EQ(Json::parse(BodyOf(Get("/cairn/requests?limit=2")))["requests"].size(), 2u);
  EXPECT_EQ(Json::parse(BodyOf(Get("/cairn/requests/" + refused[404]["id"].text()))), refused[404]);

  const std::string metrics = Get("/metrics");
  EXPECT_NE(
      metrics.find(R"(cairn_http_refused_total{status="400",route="POST /v1/chat/completions"} 1)"),
      std::string::npos);
  EXPECT_NE(metrics.find(R"(cairn_http_refused_total{status="404",route="none"} 1)"),
            std::string::npos);
}

}  // namespace
}  // namespace cairn
