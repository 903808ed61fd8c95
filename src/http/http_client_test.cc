// Tests HttpClient against the real HttpServer.

#include "http/http_client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "testing/http/server_fixture.h"

namespace cairn {
namespace {

class HttpClientTest : public HttpServerTest {
 protected:
  std::string Url() const { return "http://127.0.0.1:" + std::to_string(server_->port()); }
};

TEST_F(HttpClientTest, GetsAndPosts) {
  HttpServer& server = MakeServer();
  server.Handle("GET", "/a",
                [](const HttpRequest& request) { return Text(request.params.find("q")->second); });
  server.Handle("POST", "/b", [](const HttpRequest& request) {
    HttpResponse response = Text(request.body);
    response.headers.emplace_back("X-Type", std::string(request.Header("content-type")));
    response.headers.emplace_back("X-Expect", "<" + std::string(request.Header("expect")) + ">");
    return response;
  });
  server.Handle("DELETE", "/c", [](const HttpRequest&) { return Text("deleted"); });
  StartServer();
  const HttpClient client(Url());
  EXPECT_EQ(client.Get("/a?q=x%20y")->body, "x y");
  const std::string big(100'000, 'b');
  const Result<HttpReply> posted = client.Post("/b", big);
  ASSERT_TRUE(posted) << posted.error().message;
  EXPECT_EQ(posted->status, 200);
  EXPECT_EQ(posted->body, big);
  EXPECT_EQ(posted->Header("x-type"), "application/json");
  EXPECT_EQ(posted->Header("x-expect"), "<>") << "large bodies are sent without asking leave";
  EXPECT_EQ(client.Post("/b", "", "text/plain")->Header("X-Type"), "text/plain");
  EXPECT_EQ(client.Delete("/c")->body, "deleted");
}

TEST_F(HttpClientTest, GivesErrorStatusesAsAnswers) {
  MakeServer();
  StartServer();
  const Result<HttpReply> reply = HttpClient(Url()).Get("/nothing");
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 404);
  EXPECT_EQ(reply->body, "{404: no route at /nothing}");
}

TEST_F(HttpClientTest, SendsItsHeadersAndPutsItsPathFirst) {
  options_.keys = *ApiKeys::Make({"k"});
  MakeServer().Handle("GET", "/v1/models", [](const HttpRequest&) { return Text("models"); });
  StartServer();
  const HttpClient client(Url() + "/v1/", {.headers = {{"Authorization", "Bearer k"}}});
  EXPECT_EQ(client.Get("/models")->body, "models");
}

TEST_F(HttpClientTest, PassesAStreamOnPieceByPiece) {
  std::atomic<int> received = 0;
  MakeServer().Handle("POST", "/", [&](const HttpRequest&) {
    HttpResponse response;
    response.stream.next = [&received, sent = 0](std::string* chunk) mutable {
      // The next chunk is produced only after the client has received the one before.
      if (!Eventually([&] { return received == sent; })) return false;
      *chunk = "piece" + std::to_string(sent++);
      return sent < 5;
    };
    return response;
  });
  StartServer();
  std::string all;
  int status = 0;
  std::string error_body;
  const Status done = HttpClient(Url()).PostStream(
      "/", "{}",
      [&](std::string_view chunk) {
        all += chunk;
        ++received;
        return true;
      },
      &status, &error_body);
  EXPECT_TRUE(done);
  EXPECT_EQ(status, 200);
  EXPECT_EQ(all, "piece0piece1piece2piece3piece4");
  EXPECT_EQ(error_body, "");
}

TEST_F(HttpClientTest, ClosesAStreamThatIsNoLongerWanted) {
  std::atomic<int> gone = 0;
  MakeServer().Handle("POST", "/", [&](const HttpRequest&) {
    HttpResponse response;
    response.stream.next = [first = true](std::string* chunk) mutable {
      if (first) *chunk = "x";
      first = false;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      return true;
    };
    response.stream.on_gone = [&] { ++gone; };
    return response;
  });
  StartServer();
  int status = 0;
  int chunks = 0;
  std::string error_body;
  EXPECT_TRUE(HttpClient(Url()).PostStream(
      "/", "{}",
      [&](std::string_view) {
        ++chunks;
        return false;
      },
      &status, &error_body));
  EXPECT_EQ(chunks, 1);
  EXPECT_TRUE(Eventually([&] { return gone == 1; }));
}

TEST_F(HttpClientTest, KeepsAnErrorOutOfTheStream) {
  MakeServer();
  StartServer();
  int status = 0;
  std::string error_body;
  const Status done = HttpClient(Url()).PostStream(
      "/nothing", "{}",
      [](std::string_view) {
        ADD_FAILURE() << "an error body is no stream";
        return true;
      },
      &status, &error_body);
  EXPECT_TRUE(done);
  EXPECT_EQ(status, 404);
  EXPECT_EQ(error_body, "{404: no route at /nothing}");
}

TEST_F(HttpClientTest, SaysWhenAStreamBreaksOff) {
  MakeServer().Handle("POST", "/", [](const HttpRequest&) {
    HttpResponse response;
    response.stream.next = [calls = 0](std::string* chunk) mutable -> bool {
      if (calls++ > 0) throw 1;
      *chunk = "half";
      return true;
    };
    return response;
  });
  StartServer();
  int status = 0;
  std::string error_body;
  std::string all;
  const Status done = HttpClient(Url()).PostStream(
      "/", "{}",
      [&](std::string_view chunk) {
        all += chunk;
        return true;
      },
      &status, &error_body);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(all, "half");
}

TEST_F(HttpClientTest, GivesUpOnASilentServer) {
  MakeServer().Handle("GET", "/", [](const HttpRequest& request) {
    EXPECT_TRUE(Eventually(request.gone));
    return Text("");
  });
  StartServer();
  const Result<HttpReply> reply = HttpClient(Url(), {.timeout_ms = 50, .headers = {}}).Get("/");
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::kUnavailable);
}

TEST(HttpClient, SaysThatNobodyListens) {
  int port = 0;
  {
    HttpServer server(
        {.port = 0,
         .error_body = [](int, std::string_view, std::string_view) { return std::string(); },
         .log = nullptr});
    ASSERT_TRUE(server.Bind());
    port = server.port();
  }
  const std::string url = "http://127.0.0.1:" + std::to_string(port);
  const Result<HttpReply> reply = HttpClient(url).Get("/x");
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(reply.error().message.starts_with("GET " + url + "/x failed: "))
      << reply.error().message;
}

TEST(HttpClient, RefusesWhatIsNoAddress) {
  for (const char* url : {"ftp://127.0.0.1:1", "http://127.0.0.1:port", "://"}) {
    const Result<HttpReply> reply = HttpClient(url).Get("/");
    ASSERT_FALSE(reply) << url;
    EXPECT_EQ(reply.error().code, ErrorCode::kInvalidArgument) << url;
  }
}

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
