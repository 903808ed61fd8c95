#include "routes/page.h"

#include <gtest/gtest.h>

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "testing/http/server_fixture.h"

namespace cairn {
namespace {

constexpr std::array<PageFile, 3> kFiles = {{{"index.html", "<!doctype html>"},
                                             {"page.js", std::string_view("let a;\0", 7)},
                                             {"icon.svg", "<svg/>"}}};

// What browsers send for a page that their user opens.
constexpr const char* kAsBrowser = "Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n";

class PageTest : public HttpServerTest {
 protected:
  void Serve(std::span<const PageFile> files = kFiles) {
    AddPageRoutes(&MakeServer(), files);
    StartServer();
  }

  std::string Get(const std::string& path, const std::string& header = "") {
    return AskFor("GET", path, header);
  }

  static bool Has(const std::string& answer, std::string_view text) {
    return answer.find(text) != std::string::npos;
  }
};

TEST_F(PageTest, IsServedAtTheRootWithAPolicyThatAllowsNothingFromElsewhere) {
  Serve();
  const std::string answer = Get("/", kAsBrowser);
  EXPECT_EQ(StatusOf(answer), 200);
  EXPECT_EQ(BodyOf(answer), "<!doctype html>");
  EXPECT_TRUE(Has(answer, "Content-Type: text/html; charset=utf-8\r\n"));
  EXPECT_TRUE(Has(answer, "Content-Security-Policy: default-src 'self';"));
  EXPECT_TRUE(Has(answer, "frame-ancestors 'none'"));
  EXPECT_FALSE(Has(answer, "unsafe"));
  EXPECT_TRUE(Has(answer, "X-Content-Type-Options: nosniff\r\n"));
}

// Ollama's clients look for a server that way.
TEST_F(PageTest, ProgramsThatAcceptNoPageAreToldThatTheServerRuns) {
  Serve();
  for (const char* header : {"", "Accept: */*\r\n", "Accept: application/json\r\n"}) {
    const std::string answer = Get("/", header);
    EXPECT_EQ(StatusOf(answer), 200);
    EXPECT_EQ(BodyOf(answer), "Ollama is running");
    EXPECT_TRUE(Has(answer, "Vary: Accept\r\n"));
  }
  const std::string head = AskFor("HEAD", "/", "Accept: application/json\r\n");
  EXPECT_EQ(StatusOf(head), 200);
  EXPECT_TRUE(Has(head, "Content-Type: text/plain"));
  EXPECT_TRUE(Has(Get("/", kAsBrowser), "Vary: Accept\r\n"));
}

TEST_F(PageTest, FilesComeByteForByteWithTheirTypes) {
  Serve();
  const std::string script = Get("/assets/page.js");
  EXPECT_TRUE(Has(script, "Content-Type: text/javascript"));
  EXPECT_EQ(BodyOf(script), std::string("let a;\0", 7));
  EXPECT_TRUE(Has(Get("/assets/icon.svg"), "Content-Type: image/svg+xml"));
  EXPECT_EQ(StatusOf(Get("/assets/other.js")), 404);
  EXPECT_EQ(StatusOf(Get("/assets/..%2Findex.html")), 404);
}

TEST_F(PageTest, WhoeverHasTheFileGetsNoSecondCopy) {
  Serve();
  const std::string first = Get("/assets/page.js");
  const size_t begin = first.find("ETag: ") + 6;
  const std::string etag = first.substr(begin, first.find("\r\n", begin) - begin);
  const std::string again = Get("/assets/page.js", "If-None-Match: " + etag + "\r\n");
  EXPECT_EQ(StatusOf(again), 304);
  EXPECT_EQ(BodyOf(again), "");
  EXPECT_EQ(StatusOf(Get("/assets/page.js", "If-None-Match: W/\"x\", W/" + etag + "\r\n")), 304);
  EXPECT_EQ(StatusOf(Get("/assets/page.js", "If-None-Match: \"another\"\r\n")), 200);
  EXPECT_EQ(StatusOf(Get("/", kAsBrowser + ("If-None-Match: " + etag) + "\r\n")), 200);
}

TEST_F(PageTest, IsPublicSoThatItCanAskForTheKey) {
  options_.keys = *ApiKeys::Make({"right"});
  Serve();
  EXPECT_EQ(StatusOf(Get("/")), 200);
  EXPECT_EQ(StatusOf(Get("/assets/page.js")), 200);
}

// llama-server's page, which a browser has kept, asks for these without a key.
TEST_F(PageTest, TakesThePlaceOfAnotherServersPage) {
  options_.keys = *ApiKeys::Make({"right"});
  Serve({});
  const std::string worker = Get("/sw.js");
  EXPECT_EQ(StatusOf(worker), 200);
  EXPECT_TRUE(Has(worker, "Content-Type: text/javascript"));
  EXPECT_TRUE(Has(worker, "Cache-Control: no-cache"));
  EXPECT_TRUE(Has(worker, "registration.unregister()"));
  EXPECT_EQ(BodyOf(Get("/_app/version.json")), R"({"version":"cairn"})");
  const std::string manifest = Get("/manifest.webmanifest");
  EXPECT_TRUE(Has(manifest, "Content-Type: application/manifest+json"));
  EXPECT_TRUE(Has(manifest, R"("name":"Cairn")"));
}

TEST_F(PageTest, SaysThatItWasNotBuilt) {
  Serve({});
  const std::string answer = Get("/", kAsBrowser);
  EXPECT_EQ(StatusOf(answer), 404);
  EXPECT_TRUE(Has(answer, "Content-Type: text/plain"));
  EXPECT_TRUE(Has(BodyOf(answer), "built without the web page"));
}

}  // namespace
}  // namespace cairn
