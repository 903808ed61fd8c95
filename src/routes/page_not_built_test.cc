#include <gtest/gtest.h>

#include <string>

#include "routes/page.h"
#include "testing/http/server_fixture.h"

namespace cairn {
namespace {

class PageNotBuiltTest : public HttpServerTest {};

TEST_F(PageNotBuiltTest, AProgramWithoutAPageSaysSoAtTheRootAndServesOn) {
  EXPECT_TRUE(BuiltPage().empty());
  HttpServer& server = MakeServer();
  AddPageRoutes(&server, BuiltPage());
  server.Handle("GET", "/health", [](const HttpRequest&) {
    HttpResponse response;
    response.body = "well";
    return response;
  });
  StartServer();
  const std::string root = AskFor("GET", "/", "Accept: text/html\r\n");
  EXPECT_EQ(StatusOf(root), 404);
  EXPECT_NE(root.find("Content-Type: text/plain"), std::string::npos);
  EXPECT_NE(BodyOf(root).find("without the web page"), std::string::npos);
  EXPECT_EQ(StatusOf(AskFor("GET", "/assets/page.js")), 404);
  EXPECT_EQ(BodyOf(AskFor("GET", "/health")), "well");
}

}  // namespace
}  // namespace cairn
