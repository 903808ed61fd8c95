// A router whose models are servers in this process: they answer with what they were asked.

#include "fleet/router/router_routes.h"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <set>
#include <stdexcept>
#include <thread>

#include "base/json.h"
#include "http/http_client.h"
#include "routes/request_routes.h"
#include "routes/routes.h"
#include "testing/base/golden_file.h"
#include "testing/http/openapi_operations.h"
#include "testing/http/server_fixture.h"

namespace cairn {
namespace {

// Plays the process of a model.
class InProcessModel final : public Child {
 public:
  InProcessModel(std::string name, const std::shared_ptr<const ApiKeys>& keys,
                 std::atomic<int>* gone, ChildCallbacks callbacks)
      : name_(std::move(name)), gone_(gone), callbacks_(std::move(callbacks)) {
    HttpServerOptions options;
    options.port = 0;
    options.keys = keys;
    options.error_body = HttpErrorBody;
    server_ = std::make_unique<HttpServer>(std::move(options));
    AddHandlers();
    EXPECT_TRUE(server_->Bind().has_value());
    thread_ = std::thread([this] {
      callbacks_.on_line("loading");
      callbacks_.on_ready(server_->port());
      server_->Serve();
      callbacks_.on_end({0, "it exited with code 0"});
    });
  }
  ~InProcessModel() override {
    server_->Stop();
    thread_.join();
  }
  void Signal(int /*number*/) override { server_->Stop(); }

 private:
  void AddHandlers() {
    const auto echo = [this](const HttpRequest& request) {
      HttpResponse response;
      Json headers = Json::object();
      for (const auto& [name, value] : request.headers) headers[name] = value;
      response.body = Json({{"by", name_},
                            {"target", request.target},
                            {"body", request.body},
                            {"key", request.key_number},
                            {"headers", headers}})
                          .dump();
      response.headers = {{"X-Cairn-Test", "kept"}};
      return response;
    };
    for (const char* path :
         {"/v1/completions", "/tokenize", "/slots/:id", "/api/generate", "/api/show"}) {
      server_->Handle("POST", path, echo);
    }
    for (const char* path : {"/slots", "/props"}) server_->Handle("GET", path, echo);
    server_->Handle(
        "GET", "/v1/models",
        [this](const HttpRequest&) {
          HttpResponse response;
          response.body =
              R"({"data":[{"id":"no","meta":{"n_ctx":7}}],"models":[{"slug":")" + name_ + R"("}]})";
          return response;
        },
        HttpAccess::kPublic);
    for (const char* path : {"/api/tags", "/api/ps"}) {
      server_->Handle("GET", path, [this](const HttpRequest&) {
        HttpResponse response;
        response.body = R"({"models":[{"name":")" + name_ + R"(:latest","size":7}]})";
        return response;
      });
    }
    server_->Handle("GET", "/metrics", [](const HttpRequest&) {
      HttpResponse response;
      response.body = "# TYPE cairn_x gauge\ncairn_x 1\n";
      return response;
    });
    server_->Handle("GET", "/cairn/requests", [this](const HttpRequest&) {
      HttpResponse response;
      response.body = R"({"requests":[{"id":"of-)" + name_ + R"(","begun":1,"state":"done"}]})";
      return response;
    });
    server_->Handle("GET", "/v1/responses/:id", [this](const HttpRequest& request) {
      HttpResponse response;
      response.status = request.captures.at("id") == "of-" + name_ ? 200 : 404;
      response.body = name_;
      return response;
    });
    AddStreams();
  }

  void AddStreams() {
    // Three events, then an end, a death, or a wait for the client to go.
    server_->Handle("POST", "/v1/chat/completions", [this](const HttpRequest& request) {
      HttpResponse response;
      response.content_type = "text/event-stream";
      const bool dies = request.body.find("die") != std::string::npos;
      const bool waits = request.body.find("wait") != std::string::npos;
      response.stream.next = [dies, waits, count = 0](std::string* chunk) mutable {
        if (count == 3 && waits) {
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
          return true;
        }
        if (count == 3 && dies) throw std::runtime_error("died");
        if (count == 3) return false;
        *chunk = "data: " + std::to_string(count++) + "\n\n";
        return true;
      };
      response.stream.on_gone = [this] { ++*gone_; };
      return response;
    });
    server_->Handle("POST", "/v1/messages", [](const HttpRequest&) -> HttpResponse {
      HttpResponse response;
      response.content_type = "text/event-stream";
      response.stream.next = [](std::string*) -> bool { throw std::runtime_error("died"); };
      return response;
    });
  }

  const std::string name_;
  std::atomic<int>* const gone_;
  const ChildCallbacks callbacks_;
  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
};

class RouterRoutes : public ::testing::Test {
 protected:
  ~RouterRoutes() override {
    if (server_ == nullptr) return;
    models_->Drain(kPatienceMs);
    server_->Stop();
    thread_.join();
    models_->StopAll();
  }

  void Serve(size_t models_max = 4, const ApiKeys::Texts& keys = {}) {
    if (keys != ApiKeys::Texts{}) keys_ = *ApiKeys::Make(keys);
    ModelSetOptions options;
    for (const char* name : {"qwen", "gemma"}) {
      ModelEntry entry;
      entry.name = name;
      entry.aliases = {std::string(name) + "-alias"};
      entry.arguments = {"serve", "--model=/models/file"};
      options.models.push_back(entry);
    }
    options.limits.models = models_max;
    options.clock = &clock_;
    options.start = [this](const ModelEntry& model, size_t /*running*/, ChildCallbacks callbacks) {
      return std::make_unique<InProcessModel>(model.name, keys_, &gone_, std::move(callbacks));
    };
    models_ = std::make_unique<ModelSet>(std::move(options));
    proxy_ = std::make_unique<Proxy>(keys_);
    parts_ = {models_.get(), proxy_.get(), keys_, models_max, true, "1.2", &refusals_};
    HttpServerOptions http;
    http.port = 0;
    http.keys = keys_;
    http.error_body = HttpErrorBody;
    http.on_refusal = NoteIn(&refusals_);
    server_ = std::make_unique<HttpServer>(std::move(http));
    AddRouterRoutes(server_.get(), &parts_);
    ASSERT_TRUE(server_->Bind().has_value());
    thread_ = std::thread([this] { server_->Serve(); });
  }

  HttpClient Client(const std::string& key = "") const {
    HttpClientOptions options;
    if (!key.empty()) options.headers = {{"Authorization", "Bearer " + key}};
    return HttpClient("http://127.0.0.1:" + std::to_string(server_->port()), options);
  }
  HttpReply Post(const std::string& path, const std::string& body,
                 const std::string& key = "") const {
    auto reply = Client(key).Post(path, body);
    EXPECT_TRUE(reply.has_value());
    return reply.value_or(HttpReply{});
  }
  HttpReply Get(const std::string& path, const std::string& key = "") const {
    auto reply = Client(key).Get(path);
    EXPECT_TRUE(reply.has_value());
    return reply.value_or(HttpReply{});
  }
  static std::string MessageOf(const HttpReply& reply) {
    return Json::parse(reply.body)["error"]["message"].text();
  }
  static std::string By(const HttpReply& reply) {
    return reply.status == 200 ? Json::parse(reply.body)["by"].text() : reply.body;
  }
  std::string StatusOf(const std::string& name) const {
    const Json list = Json::parse(Get("/v1/models").body);
    for (const Json& model : list["data"]) {
      if (model["id"].text() == name) return model["status"]["value"].text();
    }
    return "absent";
  }

  const SteadyClock clock_;
  std::atomic<int> gone_ = 0;
  Refusals refusals_{&clock_};
  std::shared_ptr<ApiKeys> keys_;
  std::unique_ptr<ModelSet> models_;
  std::unique_ptr<Proxy> proxy_;
  RouterParts parts_;
  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
};

TEST_F(RouterRoutes, AnswerEveryPathOfAModelsServer) {
  HttpServer model({.port = 0, .error_body = HttpErrorBody, .log = {}});
  Served served;
  AddRoutes(&model, &served);
  HttpServer router({.port = 0, .error_body = HttpErrorBody, .log = {}});
  AddRouterRoutes(&router, &parts_);
  const auto names = router.RouteNames();
  const std::set<std::string> known(names.begin(), names.end());
  for (const std::string& name : model.RouteNames()) EXPECT_TRUE(known.contains(name)) << name;
}

TEST_F(RouterRoutes, AreDescribedInOpenApi) {
  HttpServer router({.port = 0, .error_body = HttpErrorBody, .log = {}});
  AddRouterRoutes(&router, &parts_);
  const auto operations = test::ReadOperations(ReadSourceFile("docs/openapi.yaml"));
  std::set<std::string> own;
  for (const std::string& name : router.RouteNames()) {
    if (!operations.every.contains(name)) own.insert(name);
  }
  EXPECT_EQ(test::Joined(operations.several), test::Joined(own));
}

TEST_F(RouterRoutes, RouteByTheModelInTheBody) {
  Serve();
  EXPECT_EQ(By(Post("/v1/completions", R"({"model":"qwen"})")), "qwen");
  EXPECT_EQ(By(Post("/tokenize", R"({"content":"x","model":"gemma-alias"})")), "gemma");
}

TEST_F(RouterRoutes, RouteByTheModelInTheQuery) {
  Serve();
  const HttpReply reply = Get("/slots?model=qwen&a=b+c");
  EXPECT_EQ(By(reply), "qwen");
  EXPECT_EQ(Json::parse(reply.body)["target"].text(), "/slots?model=qwen&a=b+c");
  EXPECT_EQ(By(Post("/slots/0?action=erase&model=gemma", "")), "gemma");
  EXPECT_EQ(By(Get("/props?model=gemma")), "gemma");
}

TEST_F(RouterRoutes, PassTheRequestAndTheAnswerOnAsTheyAre) {
  Serve();
  const std::string body = R"({"model":"qwen","prompt":"ä\n"})";
  const HttpReply reply = Post("/v1/completions", body);
  const Json echo = Json::parse(reply.body);
  EXPECT_EQ(echo["body"].text(), body);
  EXPECT_EQ(echo["headers"]["Content-Type"].text(), "application/json");
  EXPECT_EQ(reply.Header("X-Cairn-Test"), "kept");
}

TEST_F(RouterRoutes, RouteOllamasRequestsByNamesWithAndWithoutATag) {
  Serve();
  EXPECT_EQ(By(Post("/api/generate", R"({"model":"qwen:latest","prompt":"x"})")), "qwen");
  EXPECT_EQ(By(Post("/api/generate", R"({"model":"gemma-alias","prompt":"x"})")), "gemma");
  const HttpReply unknown = Post("/api/generate", R"({"model":"llama3","prompt":"x"})");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(Json::parse(unknown.body)["error"].text(),
            "model 'llama3' not found; this server has qwen, gemma");
  EXPECT_EQ(Post("/api/pull", R"({"model":"qwen:latest"})").body, "{\"status\":\"success\"}\n");
  EXPECT_EQ(Post("/api/pull", R"({"model":"llama3"})").status, 404);
}

TEST_F(RouterRoutes, OllamasListsAreOfAllModelsAndShowLoadsNone) {
  Serve();
  const Json shown = Json::parse(Post("/api/show", R"({"model":"qwen"})").body);
  EXPECT_EQ(shown["model_info"]["general.architecture"].text(), "unknown");
  EXPECT_EQ(StatusOf("qwen"), "unloaded");
  EXPECT_EQ(Json::parse(Get("/api/ps").body)["models"].size(), 0u);
  Post("/v1/completions", R"({"model":"qwen"})");
  EXPECT_EQ(By(Post("/api/show", R"({"model":"qwen"})")), "qwen");
  const Json tags = Json::parse(Get("/api/tags").body)["models"];
  ASSERT_EQ(tags.size(), 2u);
  std::set<std::string> names;
  for (const Json& model : tags) names.insert(model["name"].text());
  EXPECT_EQ(names, (std::set<std::string>{"gemma:latest", "qwen:latest"}));
  EXPECT_EQ(Json::parse(Get("/api/ps").body)["models"].size(), 1u);
}

TEST_F(RouterRoutes, AnEmptyRequestOfOllamasUnloadsItsModel) {
  Serve();
  Post("/v1/completions", R"({"model":"qwen"})");
  EXPECT_EQ(StatusOf("qwen"), "loaded");
  const HttpReply reply = Post("/api/generate", R"({"model":"qwen:latest","keep_alive":0})");
  EXPECT_EQ(Json::parse(reply.body)["done_reason"].text(), "unload");
  EXPECT_EQ(reply.Header("Content-Type"), "application/x-ndjson");
  EXPECT_NE(StatusOf("qwen"), "loaded");
  EXPECT_EQ(Post("/api/chat", R"({"model":"gemma","keep_alive":"0s"})").status, 200);
  EXPECT_EQ(StatusOf("gemma"), "unloaded") << "one that is not loaded stays so";
}

TEST_F(RouterRoutes, OnlyAdminsUnloadThroughOllamasApiWhereThereAreKeys) {
  Serve(4, ApiKeys::Texts{.keys = {"a", "b"}});
  EXPECT_EQ(Post("/api/chat", R"({"model":"qwen","keep_alive":0})", "a").status, 403);
}

TEST_F(RouterRoutes, ShowAModelByEachOfItsNames) {
  Serve();
  const Json list = Json::parse(Get("/v1/models").body);
  for (const char* path : {"/v1/models/gemma", "/models/gemma-alias"}) {
    const HttpReply reply = Get(path);
    ASSERT_EQ(reply.status, 200) << reply.body;
    EXPECT_EQ(Json::parse(reply.body)["id"].text(), "gemma");
    EXPECT_EQ(Json::parse(reply.body)["aliases"], list["data"][1]["aliases"]);
  }
  const HttpReply unknown = Get("/v1/models/org/none");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(MessageOf(unknown), "there is no model 'org/none' here; the models are qwen, gemma");
}

TEST_F(RouterRoutes, SayWhichModelsThereAre) {
  Serve();
  const HttpReply unknown = Post("/v1/completions", R"({"model":"gpt-4"})");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(MessageOf(unknown), "there is no model 'gpt-4' here; the models are qwen, gemma");
  const HttpReply none = Post("/v1/completions", "{}");
  EXPECT_EQ(none.status, 400);
  EXPECT_EQ(MessageOf(none),
            "the request names no model, and none is loaded; set 'model' to one of qwen, gemma");
  EXPECT_EQ(Post("/v1/completions", R"({"model":3})").status, 400);
}

TEST_F(RouterRoutes, GiveARequestWithoutAModelToTheOnlyOneLoaded) {
  Serve();
  Post("/v1/completions", R"({"model":"gemma"})");
  EXPECT_EQ(By(Post("/v1/completions", "{}")), "gemma");
  EXPECT_EQ(By(Get("/slots")), "gemma");
  Post("/v1/completions", R"({"model":"qwen"})");
  EXPECT_NE(MessageOf(Post("/v1/completions", "{}")).find("several are loaded"), std::string::npos);
}

TEST_F(RouterRoutes, PassStreamsOn) {
  Serve();
  const HttpReply reply = Post("/v1/chat/completions", R"({"model":"qwen"})");
  EXPECT_EQ(reply.body, "data: 0\n\ndata: 1\n\ndata: 2\n\n");
  EXPECT_EQ(reply.Header("Content-Type"), "text/event-stream");
}

TEST_F(RouterRoutes, EndAStreamWithAnErrorWhenItsProcessDies) {
  Serve();
  const HttpReply reply = Post("/v1/chat/completions", R"({"model":"qwen","user":"die"})");
  EXPECT_TRUE(reply.body.starts_with("data: 0\n\ndata: 1\n\ndata: 2\n\ndata: {\"error\":"))
      << reply.body;
  const HttpReply message = Post("/v1/messages", R"({"model":"qwen"})");
  EXPECT_TRUE(message.body.starts_with("event: error\ndata: {\"type\":\"error\"")) << message.body;
}

TEST_F(RouterRoutes, CancelAtTheProcessWhenTheClientGoes) {
  Serve();
  int status = 0;
  std::string error;
  std::string seen;
  const Status posted = Client().PostStream(
      "/v1/chat/completions", R"({"model":"qwen","user":"wait"})",
      [&](std::string_view chunk) {
        seen += chunk;
        return seen.find("data: 2") == std::string::npos;
      },
      &status, &error);
  EXPECT_TRUE(posted.has_value());
  EXPECT_TRUE(Eventually([&] { return gone_ == 1; }));
  EXPECT_TRUE(Eventually([&] { return models_->List().front().in_use == 0; }));
}

TEST_F(RouterRoutes, CheckKeysOnceAndPassTheClientsKeyOn) {
  Serve(4, {{"first", "sec%41ond"}});
  EXPECT_EQ(Post("/v1/completions", R"({"model":"qwen"})").status, 401);
  EXPECT_EQ(Post("/v1/completions", R"({"model":"qwen"})", "wrong").status, 401);
  const HttpReply reply = Post("/v1/completions", R"({"model":"qwen"})", "sec%41ond");
  ASSERT_EQ(reply.status, 200);
  EXPECT_EQ(Json::parse(reply.body)["key"].get<int>(), 2);
  EXPECT_EQ(Post("/models/load", R"({"model":"gemma"})").status, 401);
}

TEST_F(RouterRoutes, WhatActsOnAllClientsNeedsAnAdminsKey) {
  Serve(4, {{"client"}, {"boss"}});
  const char* const gemma = R"({"model":"gemma"})";
  for (const char* path :
       {"/models/load", "/models/unload", "/lora-adapters", "/cairn/drain", "/cairn/cache/flush"}) {
    EXPECT_EQ(Post(path, gemma, "client").status, 403) << path;
  }
  EXPECT_EQ(Client("client").Delete("/cairn/drain?model=gemma")->status, 403);
  EXPECT_EQ(Post("/models/load", gemma, "boss").status, 200);
  EXPECT_TRUE(keys_->Replace(std::vector<std::string>{"client", "boss"}).has_value());
  const HttpReply refused = Post("/models/unload", gemma, "boss");
  EXPECT_EQ(refused.status, 403);
  EXPECT_NE(MessageOf(refused).find("admin NAME KEY"), std::string::npos) << refused.body;
}

TEST_F(RouterRoutes, TheOnlyKeyLoadsAndUnloads) {
  Serve(4, {{"only"}});
  const char* const gemma = R"({"model":"gemma"})";
  int reloads = 0;
  parts_.reload = [&] {
    ++reloads;
    return Status();
  };
  EXPECT_EQ(Post("/models/load", gemma, "only").status, 200);
  EXPECT_EQ(Post("/models/unload", gemma, "only").status, 200);
  EXPECT_EQ(Get("/models?reload=1", "only").status, 200);
  EXPECT_EQ(reloads, 1);
  EXPECT_EQ(Post("/cairn/drain", gemma, "only").status, 403);
}

TEST_F(RouterRoutes, WhatTheRouterRefusesIsListedAmongTheRequests) {
  Serve(4, {{"mine", "other"}, {"boss"}});
  refusals_.SetIdTag("router-");
  const auto listed = [&](const std::string& query, const std::string& key) {
    const Json body = Json::parse(Get("/cairn/requests" + query, key).body);
    std::string ids;
    for (const Json& row : body["requests"]) ids += row["id"].text() + " ";
    return ids;
  };
  EXPECT_EQ(listed("", "mine"), "");
  EXPECT_EQ(Post("/v1/completions", R"({"model":"gpt-4"})", "mine").status, 404);
  EXPECT_EQ(Post("/nothing", "{}", "mine").status, 404);
  EXPECT_EQ(Post("/nothing", "{}", "wrong").status, 404);
  EXPECT_EQ(listed("", "mine"), "refused-router-2 refused-router-1 ");
  EXPECT_EQ(listed("?limit=1", "mine"), "refused-router-2 ");
  EXPECT_EQ(listed("", "other"), "");
  EXPECT_EQ(listed("", "boss"), "refused-router-3 ") << "of clients without a key";
  Post("/v1/completions", R"({"model":"gemma"})", "mine");
  Post("/v1/completions", R"({"model":"qwen"})", "mine");
  EXPECT_EQ(listed("", "mine"), "refused-router-2 refused-router-1 of-gemma of-qwen ");
  EXPECT_EQ(listed("?model=qwen", "mine"), "refused-router-2 refused-router-1 of-qwen ");
  EXPECT_EQ(Get("/cairn/requests?limit=0", "mine").status, 400);

  const HttpReply one = Get("/cairn/requests/refused-router-1", "mine");
  ASSERT_EQ(one.status, 200);
  EXPECT_EQ(Json::parse(one.body)["status"].get<int>(), 404);
  EXPECT_EQ(Json::parse(one.body)["api"].text(), "/v1/completions");
  EXPECT_EQ(Get("/cairn/requests/refused-router-1", "other").status, 404);
}

TEST_F(RouterRoutes, WhatTheRouterRefusesIsNotedOnceAndWhatAModelRefusesIsNot) {
  Serve();
  EXPECT_EQ(Post("/v1/completions", R"({"model":"nobody"})").status, 404);
  EXPECT_EQ(Post("/completion/", "{}").status, 404);
  const RefusalCounts counts = refusals_.counts();
  EXPECT_EQ(counts.at({404, "POST /v1/completions"}), 1u);
  EXPECT_EQ(counts.at({404, "none"}), 1u);
  EXPECT_NE(Get("/metrics")
                .body.find(R"(cairn_http_refused_total{model="",status="404",route="none"} 1)"),
            std::string::npos)
      << Get("/metrics").body;
}

TEST_F(RouterRoutes, ListModelsWithTheirStatus) {
  Serve();
  EXPECT_EQ(StatusOf("qwen"), "unloaded");
  Post("/v1/completions", R"({"model":"qwen"})");
  const Json list = Json::parse(Get("/models").body);
  const Json& model = list["data"][0];
  EXPECT_EQ(model["id"].text(), "qwen");
  EXPECT_EQ(model["object"].text(), "model");
  EXPECT_EQ(model["aliases"][0].text(), "qwen-alias");
  EXPECT_EQ(model["status"]["value"].text(), "loaded");
  EXPECT_EQ(model["status"]["args"][1].text(), "--model=/models/file");
  EXPECT_EQ(model["meta"]["n_ctx"].get<int>(), 7);
  EXPECT_EQ(list["data"][1]["status"]["value"].text(), "unloaded");
  EXPECT_EQ(list["models"].size(), 1u);
}

TEST_F(RouterRoutes, ShowNoPathsWithoutAKey) {
  Serve(4, ApiKeys::Texts{{"key"}});
  EXPECT_FALSE(Json::parse(Get("/models").body)["data"][0]["status"].contains("args"));
  EXPECT_TRUE(Json::parse(Get("/models", "key").body)["data"][0]["status"].contains("args"));
}

TEST_F(RouterRoutes, LoadAndUnloadByRequest) {
  Serve();
  EXPECT_EQ(Post("/models/load", R"({"model":"qwen"})").body, R"({"success":true})");
  EXPECT_TRUE(Eventually([&] { return StatusOf("qwen") == "loaded"; }));
  EXPECT_EQ(Post("/models/load", R"({"model":"qwen"})").status, 400);
  EXPECT_EQ(Post("/models/unload", R"({"model":"qwen-alias"})").status, 200);
  EXPECT_TRUE(Eventually([&] { return StatusOf("qwen") == "unloaded"; }));
  EXPECT_EQ(Post("/models/unload", R"({"model":"qwen"})").status, 400);
  EXPECT_EQ(Post("/models/load", R"({"model":"x"})").status, 404);
  EXPECT_EQ(Post("/models/load", "{}").status, 400);
}

TEST_F(RouterRoutes, ReadTheModelsAnewOnRequest) {
  Serve();
  Status result;
  int reloads = 0;
  parts_.reload = [&] {
    ++reloads;
    ModelEntry added;
    added.name = "added";
    if (result) models_->SetModels({*models_->Find("qwen"), added});
    return result;
  };
  EXPECT_EQ(Get("/models").status, 200);
  EXPECT_EQ(StatusOf("added"), "absent");
  EXPECT_EQ(Get("/v1/models?reload=1").status, 200);
  EXPECT_EQ(StatusOf("qwen"), "unloaded");
  EXPECT_EQ(StatusOf("gemma"), "absent");
  EXPECT_EQ(StatusOf("added"), "unloaded");
  result = Fail(ErrorCode::kInvalidArgument, "section [qwen]: wrong");
  const HttpReply failed = Get("/models?reload=true");
  EXPECT_EQ(failed.status, 400);
  EXPECT_EQ(MessageOf(failed), "section [qwen]: wrong");
  EXPECT_EQ(reloads, 2);
}

TEST_F(RouterRoutes, ReadTheModelsAnewForAnAdminAlone) {
  Serve(4, {{"client"}, {"boss"}});
  int reloads = 0;
  parts_.reload = [&] {
    ++reloads;
    return Status();
  };
  EXPECT_EQ(Get("/models?reload=1").status, 401);
  EXPECT_EQ(Get("/models?reload=1", "client").status, 403);
  EXPECT_EQ(reloads, 0);
  EXPECT_EQ(Get("/models?reload=1", "boss").status, 200);
  EXPECT_EQ(Get("/models").status, 200);
  EXPECT_EQ(reloads, 1);
}

TEST_F(RouterRoutes, LoadNothingWhereTheRequestSaysSo) {
  Serve();
  const HttpReply reply = Get("/slots?model=qwen&autoload=false");
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(StatusOf("qwen"), "unloaded");
}

TEST_F(RouterRoutes, SwapModelsWhereOneIsAllowed) {
  Serve(1);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(By(Post("/v1/completions", R"({"model":"qwen"})")), "qwen");
    EXPECT_EQ(By(Post("/v1/completions", R"({"model":"gemma"})")), "gemma");
  }
  EXPECT_EQ(models_->List()[0].starts, 5u);
}

TEST_F(RouterRoutes, ServeManyClientsOfTwoModelsWhereOneIsAllowed) {
  Serve(1);
  // The first client of a process fills a table of std::regex without a lock, always with the same
  // values; the thread sanitizer reports it where clients are made by several threads at once.
  ASSERT_EQ(Get("/health").status, 200);
  std::vector<std::thread> clients;
  std::atomic<int> right = 0;
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([this, i, &right] {
      const std::string model = i % 2 == 0 ? "qwen" : "gemma";
      for (int k = 0; k < 5; ++k) {
        if (By(Post("/v1/completions", R"({"model":")" + model + "\"}")) == model) ++right;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(right, 40);
}

TEST_F(RouterRoutes, FindTheProcessThatKnowsAnId) {
  Serve();
  EXPECT_EQ(Get("/v1/responses/of-gemma").status, 404);
  Post("/v1/completions", R"({"model":"qwen"})");
  Post("/v1/completions", R"({"model":"gemma"})");
  EXPECT_EQ(Get("/v1/responses/of-gemma").body, "gemma");
  EXPECT_EQ(Get("/v1/responses/of-qwen").body, "qwen");
  EXPECT_EQ(Get("/v1/responses/of-nobody").status, 404);
  EXPECT_EQ(Get("/v1/responses/of-qwen?model=gemma").status, 404);
}

TEST_F(RouterRoutes, MergeMetrics) {
  Serve();
  Post("/v1/completions", R"({"model":"qwen"})");
  const std::string page = Get("/metrics").body;
  EXPECT_NE(page.find("\ncairn_x{model=\"qwen\"} 1\n"), std::string::npos) << page;
  EXPECT_NE(page.find("\ncairn_model_loaded{model=\"qwen\"} 1\n"), std::string::npos) << page;
  EXPECT_NE(page.find("\ncairn_model_loaded{model=\"gemma\"} 0\n"), std::string::npos) << page;
}

TEST_F(RouterRoutes, SayThatTheServerIsARouter) {
  Serve();
  const Json props = Json::parse(Get("/props").body);
  EXPECT_EQ(props["role"].text(), "router");
  EXPECT_EQ(props["max_instances"].get<int>(), 4);
  EXPECT_EQ(Get("/health").status, 200);
}

}  // namespace
}  // namespace cairn
