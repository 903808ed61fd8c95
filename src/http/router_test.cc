#include "http/router.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cairn {
namespace {

TEST(Router, FindsAMethodOfAPath) {
  Router router;
  const size_t get = router.Add("GET", "/v1/models");
  const size_t post = router.Add("POST", "/v1/models");
  EXPECT_TRUE(router.Find("GET", "/v1/models").found);
  EXPECT_EQ(router.Find("GET", "/v1/models").route, get);
  EXPECT_EQ(router.Find("POST", "/v1/models").route, post);
}

TEST(Router, APrefixIsTakenAwayWhereItIsAWholePath) {
  EXPECT_EQ(WithoutPrefix("", "/v1/models"), "/v1/models");
  EXPECT_EQ(WithoutPrefix("/llm", "/llm/v1/models?x=1"), "/v1/models?x=1");
  EXPECT_EQ(WithoutPrefix("/llm", "/llm"), "/");
  EXPECT_EQ(WithoutPrefix("/llm", "/llm/"), "/");
  EXPECT_EQ(WithoutPrefix("/llm", "/v1/models"), "");
  EXPECT_EQ(WithoutPrefix("/llm", "/llms/v1/models"), "");
}

TEST(Router, TellsAnUnknownPathFromAnUnknownMethod) {
  Router router;
  router.Add("POST", "/a");
  router.Add("GET", "/a");
  const RouteMatch method = router.Find("DELETE", "/a");
  EXPECT_FALSE(method.found);
  EXPECT_TRUE(method.path_known);
  EXPECT_EQ(method.allow, "GET, HEAD, POST");
  for (const char* path : {"/b", "/a/", "/a/b", "/", "//a", "", "a", "*", "/A"}) {
    EXPECT_FALSE(router.Find("GET", path).path_known) << path;
  }
}

TEST(Router, APathWithoutARouteHasThatWithAnotherVersionPrefix) {
  Router router;
  const size_t messages = router.Add("POST", "/v1/messages");
  const size_t response = router.Add("GET", "/v1/responses/:id");
  const size_t slots = router.Add("GET", "/slots");
  const size_t openai = router.Add("POST", "/v1/completions");
  const size_t native = router.Add("POST", "/completions");
  router.Add("GET", "/");
  EXPECT_EQ(router.Find("POST", "/messages").route, messages);
  EXPECT_EQ(router.Find("GET", "/responses/7").route, response);
  EXPECT_EQ(router.Find("GET", "/responses/7").captures.at("id"), "7");
  EXPECT_EQ(router.Find("GET", "/v1/slots").route, slots);
  // A path's own route comes first.
  EXPECT_EQ(router.Find("POST", "/v1/completions").route, openai);
  EXPECT_EQ(router.Find("POST", "/completions").route, native);
  EXPECT_EQ(router.Find("GET", "/messages").allow, "POST");
  for (const char* path : {"/v1", "/v1/", "/v1messages", "/v1/v1/messages", "/v2/messages", ""}) {
    EXPECT_FALSE(router.Find("POST", path).path_known) << path;
  }
}

TEST(Router, AnswersHeadWhereGetIs) {
  Router router;
  router.Add("POST", "/post");
  const size_t get = router.Add("GET", "/get");
  EXPECT_EQ(router.Find("HEAD", "/get").route, get);
  EXPECT_TRUE(router.Find("HEAD", "/get").found);
  EXPECT_FALSE(router.Find("HEAD", "/post").found);
  EXPECT_EQ(router.Find("HEAD", "/post").allow, "POST");
}

TEST(Router, CapturesOneNonEmptySegment) {
  Router router;
  router.Add("POST", "/slots/:id");
  const RouteMatch match = router.Find("POST", "/slots/3");
  ASSERT_TRUE(match.found);
  EXPECT_EQ(match.captures.at("id"), "3");
  EXPECT_FALSE(router.Find("POST", "/slots/").path_known);
  EXPECT_FALSE(router.Find("POST", "/slots/3/4").path_known);
}

TEST(Router, DecodesEachSegmentAfterSplitting) {
  Router router;
  router.Add("GET", "/files/:name");
  router.Add("GET", "/v1/models");
  EXPECT_EQ(router.Find("GET", "/files/a%2Fb%20c").captures.at("name"), "a/b c");
  EXPECT_TRUE(router.Find("GET", "/v1/%6Dodels").found);
  EXPECT_FALSE(router.Find("GET", "/v1%2Fmodels").found);
}

TEST(Router, PrefersAFixedPathToACapture) {
  Router router;
  router.Add("GET", "/checkpoints/:id");
  const size_t fixed = router.Add("GET", "/checkpoints/summary");
  EXPECT_EQ(router.Find("GET", "/checkpoints/summary").route, fixed);
  EXPECT_EQ(router.Find("GET", "/checkpoints/other").captures.at("id"), "other");
}

TEST(Router, NamesItsRoutesInTheirOrder) {
  Router router;
  router.Add("POST", "/slots/:id");
  router.Add("GET", "/");
  EXPECT_EQ(router.Names(), (std::vector<std::string>{"POST /slots/:id", "GET /"}));
}

TEST(Router, LeavesBrokenPercentSignsAsTheyAre) {
  EXPECT_EQ(PercentDecode("100%"), "100%");
  EXPECT_EQ(PercentDecode("%4"), "%4");
  EXPECT_EQ(PercentDecode("%zz%41"), "%zzA");
  EXPECT_EQ(PercentDecode("%00"), std::string(1, '\0'));
  EXPECT_EQ(PercentDecode("a+b"), "a+b");
}

TEST(Router, TakesThePathOutOfATarget) {
  EXPECT_EQ(TargetPath("/a/b?c=/d#e"), "/a/b");
  EXPECT_EQ(TargetPath("/a#e?c"), "/a");
  EXPECT_EQ(TargetPath("http://host:80/a?b"), "/a");
  EXPECT_EQ(TargetPath("http://host?b=/c"), "/");
  EXPECT_EQ(TargetPath("https://host"), "/");
  EXPECT_EQ(TargetPath("*"), "*");
  EXPECT_EQ(TargetPath(""), "");
}

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
