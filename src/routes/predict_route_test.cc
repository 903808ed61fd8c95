#include "routes/predict_route.h"

#include <gtest/gtest.h>

#include <map>
#include <stdexcept>

#include "api/json.h"
#include "routes/routes.h"

namespace cairn {
namespace {

// A server whose routes answer with what they were asked.
class PredictRoute : public ::testing::Test {
 protected:
  PredictRoute() : server_(Options()) {
    for (const char* path : {"/v1/chat/completions", "/v1/embeddings", "/v1/responses"}) {
      server_.Handle("POST", path, [](const HttpRequest& request) {
        const Json body = Json::parse(request.body);
        if (body.contains("throws")) throw std::runtime_error("broken");
        HttpResponse response;
        response.body =
            ToText({{"path", request.path}, {"key", request.key_number}, {"body", body}});
        return response;
      });
    }
    server_.Handle("POST", "/models/load", [this](const HttpRequest&) {
      loaded_ = true;
      return HttpResponse{};
    });
    server_.Handle("GET", "/health", [](const HttpRequest&) {
      HttpResponse response;
      response.body = "healthy";
      return response;
    });
    AddPredictRoute(&server_, {"/predict", "/ping", std::nullopt});
  }

  static HttpServerOptions Options() {
    HttpServerOptions options;
    options.error_body = HttpErrorBody;
    return options;
  }
  HttpResponse Post(const std::string& body) const {
    HttpRequest request;
    request.method = "POST";
    request.path = "/predict";
    request.body = body;
    request.key_number = 7;
    return server_.Call(std::move(request));
  }
  Json Predictions(const std::string& instances) const {
    const HttpResponse response = Post("{\"instances\":[" + instances + "]}");
    EXPECT_EQ(response.status, 200) << response.body;
    return Json::parse(response.body)["predictions"];
  }

  bool loaded_ = false;
  HttpServer server_;
};

TEST_F(PredictRoute, AnswersEachInstanceByItsRouteInOrder) {
  std::string instances = R"({"@requestFormat":"/v1/embeddings","input":"x"})";
  for (int i = 1; i < 20; ++i) {
    instances +=
        R"(,{"@requestFormat":"chatCompletions","stream":true,"n":)" + std::to_string(i) + "}";
  }
  const Json predictions = Predictions(instances);
  ASSERT_EQ(predictions.size(), 20u);
  EXPECT_EQ(predictions[0]["path"], "/v1/embeddings");
  EXPECT_EQ(predictions[0]["body"], Json::parse(R"({"input":"x"})"));
  for (size_t i = 1; i < 20; ++i) {
    EXPECT_EQ(predictions[i]["path"], "/v1/chat/completions");
    EXPECT_EQ(predictions[i]["key"], 7);
    EXPECT_EQ(predictions[i]["body"]["n"], i);
    EXPECT_EQ(predictions[i]["body"]["stream"], false);
  }
  EXPECT_EQ(Predictions("").size(), 0u);
}

TEST_F(PredictRoute, ReachesNothingThatNeedsAnAdmin) {
  const Json predictions = Predictions(
      R"({"@requestFormat":"modelsLoad"},{"@requestFormat":"/models/load"},{"@requestFormat":7},
         {"messages":[]},7)");
  for (const Json& prediction : predictions) {
    EXPECT_EQ(prediction["error"]["code"], 400) << ToText(prediction);
  }
  EXPECT_EQ(predictions[0]["error"]["param"], "instances[0].@requestFormat");
  EXPECT_FALSE(loaded_);
}

TEST_F(PredictRoute, AnInstanceThatFailsLeavesTheOthers) {
  const Json predictions = Predictions(
      R"({"@requestFormat":"chatCompletions","throws":1},
         {"@requestFormat":"responses","input":"x"})");
  EXPECT_EQ(predictions[0]["error"]["message"], "broken");
  EXPECT_EQ(predictions[1]["path"], "/v1/responses");
}

TEST_F(PredictRoute, SaysWhatIsWrongWithTheWhole) {
  std::string many = "1";
  for (int i = 0; i < 128; ++i) many += ",1";
  for (const std::string& body :
       {std::string("{}"), std::string("[]"), std::string("nonsense"),
        std::string(R"({"instances":{}})"), "{\"instances\":[" + many + "]}"}) {
    EXPECT_EQ(Post(body).status, 400) << body;
  }
}

TEST_F(PredictRoute, HasTheHealthRouteOfThePlatform) {
  HttpRequest request;
  request.method = "GET";
  request.path = "/ping";
  EXPECT_EQ(server_.Call(std::move(request)).body, "healthy");
}

TEST(PredictOptions, ComeFromTheEnvironment) {
  EXPECT_FALSE((*PredictOptionsOf({})).has_value());
  EXPECT_FALSE((*PredictOptionsOf({{"AIP_HTTP_PORT", "x"}})).has_value());
  EXPECT_EQ((*PredictOptionsOf({{"AIP_MODE", "PREDICTION"}}))->path, "/predict");
  const auto options = PredictOptionsOf({{"AIP_MODE", "PREDICTION"},
                                         {"AIP_PREDICT_ROUTE", "/v1/endpoints/1:predict"},
                                         {"AIP_HEALTH_ROUTE", "/ping"},
                                         {"AIP_HTTP_PORT", "8081"}});
  ASSERT_TRUE(options.has_value() && options->has_value());
  EXPECT_EQ((*options)->path, "/v1/endpoints/1:predict");
  EXPECT_EQ((*options)->health_path, "/ping");
  EXPECT_EQ((*options)->port, 8081);
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"AIP_PREDICT_ROUTE", "predict"},
                                          {"AIP_HEALTH_ROUTE", "/:any"},
                                          {"AIP_HTTP_PORT", "70000"}}) {
    const auto wrong = PredictOptionsOf({{"AIP_MODE", "PREDICTION"}, {name, value}});
    ASSERT_FALSE(wrong.has_value()) << name;
    EXPECT_NE(wrong.error().message.find(name), std::string::npos) << wrong.error().message;
  }
}

}  // namespace
}  // namespace cairn
