#include "http/nearest_route.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cairn {
namespace {

const std::vector<std::string>& Routes() {
  static const std::vector<std::string> routes = {"GET /",
                                                  "GET /v1/models",
                                                  "GET /models",
                                                  "POST /v1/chat/completions",
                                                  "POST /chat/completions",
                                                  "POST /v1/completions",
                                                  "POST /completion",
                                                  "POST /v1/messages",
                                                  "POST /v1/messages/count_tokens",
                                                  "DELETE /v1/messages/:id",
                                                  "POST /v1/responses",
                                                  "GET /v1/responses/:id",
                                                  "POST /v1/responses/:id/cancel",
                                                  "GET /slots",
                                                  "POST /slots/:id",
                                                  "GET /cairn/cache"};
  return routes;
}

std::string Nearest(const char* method, const std::string& path) {
  return NearestRoute(Routes(), method, path);
}

TEST(NearestRoute, IsTheSamePathWithAnotherPrefix) {
  EXPECT_EQ(Nearest("POST", "/messages"), "POST /v1/messages");
  EXPECT_EQ(Nearest("POST", "/responses"), "POST /v1/responses");
  EXPECT_EQ(Nearest("POST", "/v1/v1/chat/completions"), "POST /v1/chat/completions");
  EXPECT_EQ(Nearest("GET", "/api/v1/models"), "GET /v1/models");
  EXPECT_EQ(Nearest("POST", "/api/chat/completions"), "POST /v1/chat/completions");
  EXPECT_EQ(Nearest("GET", "/v1/slots"), "GET /slots");
  EXPECT_EQ(Nearest("POST", "/messages/count_tokens"), "POST /v1/messages/count_tokens");
  EXPECT_EQ(Nearest("GET", "/responses/resp_1"), "GET /v1/responses/:id");
}

TEST(NearestRoute, ForgivesTypingErrors) {
  EXPECT_EQ(Nearest("POST", "/v1/chat/completion"), "POST /v1/chat/completions");
  EXPECT_EQ(Nearest("POST", "/v1/mesages"), "POST /v1/messages");
  EXPECT_EQ(Nearest("POST", "/V1/Messages/"), "POST /v1/messages");
  EXPECT_EQ(Nearest("GET", "//v1//models"), "GET /v1/models");
  EXPECT_EQ(Nearest("POST", "/v1/repsonses/resp_1/cancel"), "POST /v1/responses/:id/cancel");
}

TEST(NearestRoute, PrefersTheRequestsMethod) {
  EXPECT_EQ(Nearest("POST", "/slot/1"), "POST /slots/:id");
  EXPECT_EQ(Nearest("PUT", "/messages"), "POST /v1/messages");
}

TEST(NearestRoute, IsNoneForWhatIsFar) {
  for (const std::string path : {"/nothing", "/v1/conversations", "/.env", "/wp-login.php", "/x",
                                 "/favicon.ico", "", "*", "no/slash"}) {
    EXPECT_EQ(Nearest("GET", path), "") << path;
  }
  EXPECT_EQ(Nearest("GET", "/" + std::string(8000, 'm')), "");
}

TEST(NearestRoute, IsInTheMessage) {
  const NoRoute near = AnswerWithoutRoute(Routes(), "POST", "/messages");
  EXPECT_EQ(near.status, 404);
  EXPECT_EQ(near.message, "no route at /messages; did you mean POST /v1/messages?");
  EXPECT_EQ(AnswerWithoutRoute(Routes(), "POST", "/nothing").message, "no route at /nothing");
}

TEST(NearestRoute, OfLlamaServerThatIsLeftOutOnPurposeIsA403WithTheReason) {
  for (const char* path : {"/cors-proxy", "/tools"}) {
    const NoRoute left_out = AnswerWithoutRoute(Routes(), "GET", path);
    EXPECT_EQ(left_out.status, 403) << path;
    EXPECT_EQ(left_out.message.find(std::string(path) + " is not offered: the server "), 0u)
        << left_out.message;
  }
  EXPECT_EQ(AnswerWithoutRoute(Routes(), "GET", "/toolsy").status, 404);
}

}  // namespace
}  // namespace cairn
