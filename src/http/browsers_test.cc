#include "http/browsers.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "testing/http/server_fixture.h"

namespace cairn {
namespace {

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Browsers, AnOriginIsASchemeAndAHostAndNothingMore) {
  EXPECT_TRUE(CheckOrigins({"https://a.example", "http://localhost:3000", "app://x"}, false));
  for (const char* bad : {"", "a.example", "https://", "://x", "https://a/", "https://a b",
                          "https://*.example", "null"}) {
    EXPECT_FALSE(CheckOrigins({bad}, true)) << bad;
  }
}

TEST(Browsers, EveryOriginNeedsKeys) {
  EXPECT_TRUE(CheckOrigins({"*"}, true));
  EXPECT_FALSE(CheckOrigins({"*"}, false));
}

TEST(Browsers, KnowsThisMachineByItsOwnNames) {
  for (const char* host : {"", "localhost", "LOCALHOST:8080", "127.0.0.1:80", "127.1.2.3", "[::1]",
                           "[::1]:8080", "stone:80"}) {
    EXPECT_TRUE(NamesLoopback(host, "stone")) << host;
  }
  for (const char* host : {"evil.example", "evil.example:8080", "127.0.0.1.evil.example",
                           "localhost.evil.example", "192.0.2.1", "[::2]"}) {
    EXPECT_FALSE(NamesLoopback(host, "stone")) << host;
  }
}

class BrowsersServerTest : public HttpServerTest {
 protected:
  void Serve() {
    const auto answer = [this](const HttpRequest&) {
      ++calls_;
      return Text("done");
    };
    MakeServer().Handle("POST", "/ask", answer);
    server_->Handle("GET", "/ask", answer);
    StartServer();
  }
  std::string Preflight(const std::string& origin) {
    return AskFor("OPTIONS", "/ask",
                  "Origin: " + origin +
                      "\r\nAccess-Control-Request-Method: POST\r\n"
                      "Access-Control-Request-Headers: content-type,x-api-key\r\n");
  }

  std::atomic<int> calls_ = 0;
};

TEST_F(BrowsersServerTest, NoPageMayAskUnlessToldSo) {
  options_.keys = *ApiKeys::Make({"k"});
  Serve();
  const std::string answer = Preflight("https://a.example");
  EXPECT_EQ(StatusOf(answer), 200) << "as llama-server; the missing headers refuse it";
  EXPECT_FALSE(Has(answer, "Access-Control")) << answer;
  EXPECT_FALSE(Has(AskFor("POST", "/ask", "x-api-key: k\r\nOrigin: https://a.example\r\n"),
                   "Access-Control"));
}

TEST_F(BrowsersServerTest, TheOwnerIsToldWhichPagesAreRefused) {
  std::atomic<int> reports = 0;
  options_.on_refusal = [&](const HttpRefusal& refusal) {
    EXPECT_EQ(refusal.status, 403);
    EXPECT_EQ(refusal.method, "OPTIONS");
    EXPECT_TRUE(Has(std::string(refusal.message), "--cors-origin")) << refusal.message;
    ++reports;
  };
  options_.cors_origins = {"https://a.example"};
  Serve();
  EXPECT_EQ(StatusOf(Preflight("https://evil.example")), 200);
  EXPECT_EQ(reports, 1);
  Preflight("https://a.example");
  EXPECT_EQ(reports, 1);
  EXPECT_EQ(calls_, 0);
}

TEST_F(BrowsersServerTest, PagesOfExactlyTheseOriginsMayAsk) {
  options_.keys = *ApiKeys::Make({"k"});
  options_.cors_origins = {"https://a.example", "https://b.example:8443"};
  Serve();
  for (const std::string& origin : options_.cors_origins) {
    const std::string answer = Preflight(origin);
    EXPECT_EQ(StatusOf(answer), 200) << "without a key: browsers send none here";
    EXPECT_TRUE(Has(answer, "Access-Control-Allow-Origin: " + origin + "\r\n")) << answer;
    EXPECT_TRUE(Has(answer, "Access-Control-Allow-Methods: GET, HEAD, POST\r\n")) << answer;
    EXPECT_TRUE(Has(answer, "Access-Control-Allow-Headers: content-type,x-api-key\r\n")) << answer;
    EXPECT_TRUE(Has(answer, "Vary: Origin\r\n")) << answer;
    EXPECT_FALSE(Has(answer, "Allow-Credentials")) << answer;
    const std::string refused = AskFor("POST", "/ask", "Origin: " + origin + "\r\n");
    EXPECT_EQ(StatusOf(refused), 401);
    EXPECT_TRUE(Has(refused, "Access-Control-Allow-Origin: ")) << "a page may read its error";
  }
  for (const char* origin : {"https://a.example.evil.example", "http://a.example", "null",
                             "https://A.example", "https://b.example"}) {
    EXPECT_FALSE(Has(Preflight(origin), "Access-Control")) << origin;
  }
  EXPECT_EQ(calls_, 0);
}

TEST_F(BrowsersServerTest, EveryOriginIsToldByAStar) {
  options_.keys = *ApiKeys::Make({"k"});
  options_.cors_origins = {"*"};
  Serve();
  EXPECT_TRUE(Has(Preflight("https://a.example"), "Access-Control-Allow-Origin: *\r\n"));
}

TEST_F(BrowsersServerTest, WithoutKeysAPageOfAnotherSiteIsNotAnswered) {
  options_.cors_origins = {"https://a.example"};
  Serve();
  const auto post = [this](const std::string& origin) {
    return StatusOf(AskFor("POST", "/ask", "Origin: " + origin + "\r\n"));
  };
  EXPECT_EQ(post("https://evil.example"), 403);
  EXPECT_EQ(post("null"), 403);
  EXPECT_EQ(calls_, 0) << "what a page may not read it may not do either";
  EXPECT_EQ(post("https://a.example"), 200);
  EXPECT_EQ(post("http://localhost"), 200) << "the server's own page";
}

TEST_F(BrowsersServerTest, WithoutKeysANameThatIsNotThisMachinesIsNotAnswered) {
  Serve();
  const auto ask = [this](const std::string& host) {
    return StatusOf(Ask("GET /ask HTTP/1.1\r\nConnection: close\r\nHost: " + host + "\r\n\r\n"));
  };
  EXPECT_EQ(ask("evil.example"), 403) << "DNS rebinding";
  EXPECT_EQ(ask("127.0.0.1:8080"), 200);
}

TEST_F(BrowsersServerTest, WhoeverInsistsIsAnsweredByAnyName) {
  options_.insecure = true;
  Serve();
  EXPECT_EQ(StatusOf(Ask("GET /ask HTTP/1.1\r\nConnection: close\r\nHost: a.example\r\n\r\n")),
            200);
}

TEST(Browsers, LocalhostStandsForThePagesOfThisMachine) {
  EXPECT_TRUE(CheckOrigins({"localhost"}, false));
  for (const char* origin :
       {"http://localhost", "http://localhost:5173", "https://127.0.0.1:80", "http://[::1]:3000"}) {
    EXPECT_TRUE(AllowsOrigin({"localhost"}, origin)) << origin;
  }
  for (const char* origin : {"", "null", "http://", "http://a.example", "app://localhost",
                             "http://localhost.evil.example", "localhost"}) {
    EXPECT_FALSE(AllowsOrigin({"localhost"}, origin)) << origin;
  }
}

// Chromium asks before a page of the internet sends a request to a machine of the local network.
TEST_F(BrowsersServerTest, AnAllowedPageMayAskOverAPrivateNetwork) {
  options_.cors_origins = {"https://a.example"};
  Serve();
  const auto preflight = [this](const std::string& origin, const std::string& header) {
    return AskFor("OPTIONS", "/ask",
                  "Origin: " + origin + "\r\nAccess-Control-Request-Method: POST\r\n" + header);
  };
  const std::string wanted = "Access-Control-Request-Private-Network: true\r\n";
  EXPECT_TRUE(Has(preflight("https://a.example", wanted),
                  "Access-Control-Allow-Private-Network: true\r\n"));
  EXPECT_FALSE(Has(preflight("https://a.example", ""), "Private-Network"));
  EXPECT_FALSE(Has(preflight("https://evil.example", wanted), "Private-Network"));
}

}  // namespace
}  // namespace cairn
