#include "http/url_fetch.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "testing/http/server_fixture.h"

namespace cairn {
namespace {

// Short enough to be free of the threads that resolve names.
constexpr int kConnectMs = 900;

class UrlFetchTest : public HttpServerTest {
 protected:
  std::string Url(const std::string& path) const {
    return "http://127.0.0.1:" + std::to_string(server_->port()) + path;
  }
  // A route that redirects to `location`.
  void Redirect(const std::string& path, int status, const std::string& location) {
    server_->Handle("GET", path, [status, location](const HttpRequest&) {
      HttpResponse response = Text("moved");
      response.status = status;
      if (!location.empty()) response.headers.emplace_back("Location", location);
      return response;
    });
  }
  static Result<Bytes> Fetched(const std::string& url, size_t bytes_max = 1000,
                               int time_ms_max = kPatienceMs) {
    return FetchUrl(url, bytes_max, {.time_ms_max = time_ms_max, .connect_timeout_ms = kConnectMs});
  }
  static std::string TextOf(const Result<Bytes>& bytes) {
    return bytes ? std::string(bytes->begin(), bytes->end()) : bytes.error().message;
  }
  static void ExpectRefused(const Result<Bytes>& fetched, ErrorCode code, const std::string& why) {
    ASSERT_FALSE(fetched.has_value());
    EXPECT_EQ(fetched.error().code, code) << fetched.error().message;
    EXPECT_NE(fetched.error().message.find(why), std::string::npos) << fetched.error().message;
  }
};

TEST_F(UrlFetchTest, GetsABodyWithTheQueryAndWithoutTheFragment) {
  MakeServer().Handle("GET", "/a/b.png", [](const HttpRequest& request) {
    return Text("<" + request.params.find("c")->second + ">");
  });
  StartServer();
  EXPECT_EQ(TextOf(Fetched(Url("/a/b.png?c=1%202#part"))), "<1 2>");
}

TEST_F(UrlFetchTest, ABodyOfTheLimitIsTakenAndOneByteMoreIsNot) {
  MakeServer().Handle("GET", "/",
                      [](const HttpRequest&) { return Text(std::string(70'000, 'x')); });
  StartServer();
  EXPECT_EQ(Fetched(Url(""), 70'000)->size(), 70'000u);
  ExpectRefused(Fetched(Url("/"), 69'999), ErrorCode::kTooLong, "more than 69999 bytes");
}

TEST_F(UrlFetchTest, AnEndlessBodyIsGivenUpAtTheLimit) {
  MakeServer().Handle("GET", "/", [](const HttpRequest&) {
    HttpResponse response;
    response.stream.next = [](std::string* chunk) {
      *chunk = std::string(1000, 'x');
      return true;
    };
    return response;
  });
  StartServer();
  ExpectRefused(Fetched(Url("/"), 5000), ErrorCode::kTooLong, "more than 5000 bytes");
}

TEST_F(UrlFetchTest, ABodyThatNeverEndsIsGivenUpAtTheTimeLimit) {
  MakeServer().Handle("GET", "/", [](const HttpRequest&) {
    HttpResponse response;
    response.stream.next = [](std::string* chunk) {
      *chunk = "x";
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      return true;
    };
    return response;
  });
  StartServer();
  ExpectRefused(Fetched(Url("/"), 1'000'000, 200), ErrorCode::kTimedOut, "longer than 200 ms");
}

TEST_F(UrlFetchTest, FollowsThreeRedirectsOfAnyForm) {
  MakeServer();
  Redirect("/one", 301, "/folder/two");
  Redirect("/folder/two", 307, "three?x=1");
  server_->Handle("GET", "/end", [](const HttpRequest&) { return Text("found"); });
  // The port is known only after the start, so the last one names no host.
  Redirect("/folder/three", 302, "/end");
  StartServer();
  EXPECT_EQ(TextOf(Fetched(Url("/one"))), "found");
}

TEST_F(UrlFetchTest, AFourthRedirectIsRefused) {
  MakeServer();
  Redirect("/again", 302, "/again");
  Redirect("/nowhere", 302, "");
  StartServer();
  ExpectRefused(Fetched(Url("/again")), ErrorCode::kUnavailable, "more than 3 times");
  ExpectRefused(Fetched(Url("/nowhere")), ErrorCode::kUnavailable, "without an address");
}

TEST_F(UrlFetchTest, ARedirectToAnotherSchemeIsRefused) {
  MakeServer();
  Redirect("/file", 302, "file:///etc/passwd");
  Redirect("/ftp", 302, "ftp://127.0.0.1/x");
  StartServer();
  for (const char* path : {"/file", "/ftp"}) {
    ExpectRefused(Fetched(Url(path)), ErrorCode::kInvalidArgument, "it is not a URL of the form");
  }
}

TEST_F(UrlFetchTest, OnlyA200HasTheFile) {
  MakeServer();
  StartServer();
  ExpectRefused(Fetched(Url("/nothing")), ErrorCode::kUnavailable, "with the status 404");
}

TEST_F(UrlFetchTest, NobodyListeningIsAnError) {
  ExpectRefused(Fetched("http://127.0.0.1:1/"), ErrorCode::kUnavailable, "failed");
}

TEST_F(UrlFetchTest, OnlyHttpAndHttpsUrlsWithAHostAreTaken) {
  for (const std::string& url : std::vector<std::string>{
           "http://host/" + std::string(9000, 'a'), "", "a.png", "file:///etc/passwd",
           "ftp://host/", "http://", "http:///a", "https://?a", "http://user:secret@host/",
           "http://host/a b", "http://host/a\r\nX: 1", "http://h\xC3\xA4/"}) {
    ExpectRefused(Fetched(url), ErrorCode::kInvalidArgument, "it is not a URL of the form");
  }
}

}  // namespace
}  // namespace cairn
