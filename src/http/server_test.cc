#include "http/server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"
#include "testing/http/server_fixture.h"

namespace cairn {
namespace {

TEST_F(HttpServerTest, HandsTheWholeRequestToItsHandler) {
  HttpRequest seen;
  MakeServer().Handle("POST", "/echo/:name", [&](const HttpRequest& request) {
    seen = request;
    return Text(request.body);
  });
  StartServer();
  const std::string answer =
      AskFor("POST", "/echo/a%20b?x=1&x=2&y=%C3%A9", "X-Odd: Value\r\n", "hello");
  EXPECT_EQ(StatusOf(answer), 200);
  EXPECT_EQ(BodyOf(answer), "hello");
  EXPECT_EQ(seen.method, "POST");
  EXPECT_EQ(seen.path, "/echo/a b");
  EXPECT_EQ(seen.captures.at("name"), "a b");
  EXPECT_EQ(seen.params.count("x"), 2u);
  EXPECT_EQ(seen.params.find("y")->second, "\xC3\xA9");
  EXPECT_EQ(seen.Header("x-ODD"), "Value");
  EXPECT_EQ(seen.Header("absent"), "");
  EXPECT_TRUE(seen.remote.starts_with("127.0.0.1:")) << seen.remote;
  EXPECT_EQ(seen.key_number, 0u);
  EXPECT_TRUE(Eventually([&] { return seen.gone(); })) << "the connection is over";
}

TEST_F(HttpServerTest, ARequestIsAnsweredWithoutAConnectionToo) {
  HttpServer& server = MakeServer();
  server.Handle("POST", "/echo/:id", [](const HttpRequest& request) {
    return Text(request.captures.at("id") + " " + request.path + " " + request.body);
  });
  const auto call = [&](const char* method, const char* path) {
    HttpRequest request;
    request.method = method;
    request.path = path;
    request.body = "b";
    return server.Call(std::move(request));
  };
  EXPECT_EQ(call("POST", "/echo/a%20b").body, "a b /echo/a b b");
  EXPECT_EQ(call("GET", "/echo/a").status, 405);
  EXPECT_EQ(call("POST", "/echo").status, 404);
}

TEST_F(HttpServerTest, SendsStatusTypeAndHeaders) {
  MakeServer().Handle("GET", "/", [](const HttpRequest&) {
    HttpResponse response = Text("made");
    response.status = 201;
    response.content_type = "application/x-thing";
    response.headers.emplace_back("X-Cairn", "yes");
    response.headers.emplace_back("X-Split", "a\r\nX-Injected: b");
    response.headers.emplace_back("Bad Name", "c");
    return response;
  });
  StartServer();
  const std::string answer = AskFor("GET", "/");
  EXPECT_EQ(StatusOf(answer), 201);
  EXPECT_TRUE(Contains(answer, "Content-Type: application/x-thing\r\n"));
  EXPECT_TRUE(Contains(answer, "X-Cairn: yes\r\n"));
  EXPECT_TRUE(Contains(answer, "Content-Length: 4\r\n"));
  EXPECT_FALSE(Contains(answer, "X-Injected"));
  EXPECT_FALSE(Contains(answer, "Bad Name"));
}

TEST_F(HttpServerTest, KnowsNoCors) {
  MakeServer().Handle("POST", "/v1/chat", [](const HttpRequest&) { return Text("ok"); });
  StartServer();
  const std::string preflight = AskFor(
      "OPTIONS", "/v1/chat", "Origin: http://evil\r\nAccess-Control-Request-Method: POST\r\n");
  EXPECT_EQ(StatusOf(preflight), 200) << "without the headers a browser sends nothing";
  EXPECT_FALSE(Contains(preflight, "Access-Control"));
  EXPECT_FALSE(Contains(AskFor("POST", "/v1/chat", "Origin: http://evil\r\n"), "Access-Control"));
}

TEST_F(HttpServerTest, AnswersUnknownPathsAndMethods) {
  MakeServer().Handle("GET", "/known", [](const HttpRequest&) { return Text("ok"); });
  StartServer();
  const std::string unknown = AskFor("GET", "/unknown%0d%0aX-Injected:%20a%ff");
  EXPECT_EQ(StatusOf(unknown), 404);
  EXPECT_FALSE(Contains(unknown.substr(0, unknown.find("\r\n\r\n")), "X-Injected"));
  EXPECT_TRUE(BodyOf(unknown).starts_with("{404: no route at /unknown"));
  const std::string method = AskFor("POST", "/known", "", "body");
  EXPECT_EQ(StatusOf(method), 405);
  EXPECT_TRUE(Contains(method, "Allow: GET, HEAD\r\n"));
  EXPECT_EQ(StatusOf(AskFor("TRACE", "/known")), 405);
  EXPECT_EQ(StatusOf(AskFor("CONNECT", "host:80")), 404);
}

TEST_F(HttpServerTest, AnswersHeadLikeGetWithoutABody) {
  MakeServer().Handle("GET", "/", [](const HttpRequest& request) { return Text(request.method); });
  StartServer();
  const std::string answer = AskFor("HEAD", "/");
  EXPECT_EQ(StatusOf(answer), 200);
  EXPECT_TRUE(Contains(answer, "Content-Length: 4\r\n"));
  EXPECT_EQ(BodyOf(answer), "");
  EXPECT_EQ(StatusOf(AskFor("HEAD", "/nothing")), 404);
}

TEST_F(HttpServerTest, WantsOneOfItsKeys) {
  options_.keys = *ApiKeys::Make({"first", "50%41"});
  HttpServer& server = MakeServer();
  server.Handle("GET", "/who", [](const HttpRequest& request) {
    return Text(std::to_string(request.key_number));
  });
  server.Handle(
      "GET", "/health",
      [](const HttpRequest& request) { return Text(std::to_string(request.key_number)); },
      HttpAccess::kPublic);
  StartServer();
  const std::string none = AskFor("GET", "/who");
  EXPECT_EQ(StatusOf(none), 401);
  EXPECT_TRUE(Contains(none, "WWW-Authenticate: Bearer\r\n"));
  EXPECT_TRUE(Contains(none, "an API key is required"));
  EXPECT_TRUE(Contains(AskFor("GET", "/who", "x-api-key: firs\r\n"), "the API key is wrong"));
  EXPECT_EQ(StatusOf(AskFor("GET", "/who", "Authorization: Basic first\r\n")), 401);
  EXPECT_EQ(StatusOf(AskFor("GET", "/who", "Authorization: Bearer \r\n")), 401);
  EXPECT_EQ(BodyOf(AskFor("GET", "/who", "Authorization: Bearer first\r\n")), "1");
  EXPECT_EQ(BodyOf(AskFor("GET", "/who", "X-API-Key: 50%41\r\n")), "2");
  EXPECT_EQ(BodyOf(AskFor("GET", "/who", "Authorization: Bearer x\r\nx-api-key: first\r\n")), "1");
  EXPECT_EQ(BodyOf(AskFor("GET", "/health")), "0");
  EXPECT_EQ(BodyOf(AskFor("GET", "/health", "x-api-key: first\r\n")), "1");
  EXPECT_EQ(StatusOf(AskFor("POST", "/who", "", "x")), 405) << "whatever the key";
}

TEST_F(HttpServerTest, WhatActsOnAllClientsNeedsAnAdminsKey) {
  const auto keys = *ApiKeys::Make(ApiKeys::Texts{{"client"}, {"boss"}});
  options_.keys = keys;
  MakeServer().Handle(
      "POST", "/all",
      [](const HttpRequest& request) { return Text(request.is_admin ? "admin" : "client"); },
      HttpAccess::kAdmin);
  server_->Handle("GET", "/own", [](const HttpRequest& request) {
    return Text(request.is_admin ? "admin" : "client");
  });
  StartServer();
  EXPECT_EQ(StatusOf(AskFor("POST", "/all")), 401);
  const std::string refused = AskFor("POST", "/all", "x-api-key: client\r\n");
  EXPECT_EQ(StatusOf(refused), 403);
  EXPECT_TRUE(Contains(refused, "POST /all acts on all clients and so needs an admin's key"));
  EXPECT_EQ(BodyOf(AskFor("POST", "/all", "x-api-key: boss\r\n")), "admin");
  EXPECT_EQ(BodyOf(AskFor("GET", "/own", "x-api-key: client\r\n")), "client");
  EXPECT_EQ(BodyOf(AskFor("GET", "/own", "x-api-key: boss\r\n")), "admin");
  ASSERT_TRUE(keys->Replace(std::vector<std::string>{"client", "boss"}));
  const std::string nobody = AskFor("POST", "/all", "x-api-key: boss\r\n");
  EXPECT_EQ(StatusOf(nobody), 403);
  EXPECT_TRUE(Contains(nobody, "\"admin NAME KEY\" in --api-key-file")) << nobody;
}

TEST_F(HttpServerTest, TheOnlyKeyMayDoWhatActsOnNoClientButItsOwn) {
  const auto keys = *ApiKeys::Make({"only"});
  options_.keys = keys;
  const auto done = [](const HttpRequest&) { return Text("done"); };
  MakeServer().Handle("POST", "/models/load", done, HttpAccess::kAdminOfMany);
  server_->Handle("POST", "/drain", done, HttpAccess::kAdmin);
  StartServer();
  EXPECT_EQ(BodyOf(AskFor("POST", "/models/load", "x-api-key: only\r\n")), "done");
  EXPECT_EQ(StatusOf(AskFor("POST", "/drain", "x-api-key: only\r\n")), 403);
  ASSERT_TRUE(keys->Replace(std::vector<std::string>{"only", "other"}));
  EXPECT_EQ(StatusOf(AskFor("POST", "/models/load", "x-api-key: only\r\n")), 403);
}

TEST_F(HttpServerTest, WithoutKeysEverybodyIsAnAdmin) {
  MakeServer().Handle(
      "POST", "/all", [](const HttpRequest&) { return Text("done"); }, HttpAccess::kAdmin);
  StartServer();
  EXPECT_EQ(BodyOf(AskFor("POST", "/all")), "done");
}

// A copy of a refusal, whose texts live for the call alone.
struct Refused {
  int status = 0;
  std::string asked;
  std::string route;
  std::string message;
  uint32_t key = 0;
};

TEST_F(HttpServerTest, EveryRefusalIsReportedOnce) {
  options_.keys = *ApiKeys::Make(ApiKeys::Texts{{"k"}});
  options_.body_bytes_max = 10;
  std::mutex mutex;
  std::vector<Refused> refused;
  options_.on_refusal = [&](const HttpRefusal& refusal) {
    EXPECT_TRUE(refusal.remote.starts_with("127.0.0.1:")) << refusal.remote;
    const std::lock_guard<std::mutex> lock(mutex);
    refused.push_back(
        {refusal.status, std::string(refusal.method) + " " + std::string(refusal.path),
         std::string(refusal.route), std::string(refusal.message), refusal.key_number});
  };
  MakeServer().Handle("POST", "/read/:id", [](const HttpRequest& request) {
    HttpResponse response = Text("no");
    response.status = request.body == "known" ? 404 : 400;
    if (request.body != "known") response.error_message = "the body is wrong";
    return response;
  });
  StartServer();
  const std::string key = "x-api-key: k\r\n";
  const auto ask = [&](const char* method, const char* path, const std::string& headers,
                       const std::string& body, const Refused& expected) {
    AskFor(method, path, headers, body);
    const std::lock_guard<std::mutex> lock(mutex);
    ASSERT_EQ(refused.size(), 1u) << path;
    EXPECT_EQ(refused[0].status, expected.status);
    EXPECT_EQ(refused[0].asked, expected.asked);
    EXPECT_EQ(refused[0].route, expected.route);
    EXPECT_TRUE(refused[0].message.starts_with(expected.message)) << refused[0].message;
    EXPECT_EQ(refused[0].key, expected.key);
    refused.clear();
  };
  const std::string route = "POST /read/:id";
  ask("POST", "/read/7", key, "wrong", {400, "POST /read/7", route, "the body is wrong", 1});
  ask("POST", "/read/7", "", "x", {401, "POST /read/7", route, "an API key is required", 0});
  ask("POST", "/raed/7", "", "x",
      {404, "POST /raed/7", "", "no route at /raed/7; did you mean POST /read/:id?", 0});
  ask("POST", "/raed/7", key, "x", {404, "POST /raed/7", "", "no route at /raed/7", 1});
  ask("GET", "/read/7", key, "", {405, "GET /read/7", "", "/read/7 does not support", 1});
  ask("POST", "/read/7", key, std::string(11, 'x'), {413, "POST /read/7", route, "the request", 1});
  AskFor("POST", "/read/7", key, "known");
  const std::lock_guard<std::mutex> lock(mutex);
  EXPECT_TRUE(refused.empty()) << "the handler has told of it elsewhere";
}

TEST_F(HttpServerTest, WhatCannotBeReadIsReportedToo) {
  std::mutex mutex;
  std::vector<int> statuses;
  options_.on_refusal = [&](const HttpRefusal& refusal) {
    const std::lock_guard<std::mutex> lock(mutex);
    statuses.push_back(refusal.status);
    EXPECT_EQ(refusal.path, "");
  };
  MakeServer();
  StartServer();
  Ask("this is no HTTP\r\n\r\n");
  EXPECT_TRUE(Eventually([&] {
    const std::lock_guard<std::mutex> lock(mutex);
    return statuses == std::vector<int>{400};
  }));
}

TEST_F(HttpServerTest, ReplacedKeysHoldFromTheNextRequestOn) {
  const auto keys = *ApiKeys::Make({"old", "stays"});
  options_.keys = keys;
  MakeServer().Handle("GET", "/", [](const HttpRequest& request) {
    return Text(std::to_string(request.key_number));
  });
  StartServer();
  RawClient client(server_->port());
  const std::string ask = "GET / HTTP/1.1\r\nHost: localhost\r\nx-api-key: stays\r\n\r\n";
  client.Send(ask);
  EXPECT_TRUE(client.ReadUntil("\r\n\r\n2"));
  EXPECT_EQ(BodyOf(AskFor("GET", "/", "x-api-key: old\r\n")), "1");
  ASSERT_TRUE(keys->Replace({"new", "stays"}));
  EXPECT_EQ(StatusOf(AskFor("GET", "/", "x-api-key: old\r\n")), 401);
  EXPECT_EQ(BodyOf(AskFor("GET", "/", "x-api-key: new\r\n")), "3");
  client.Forget();
  client.Send(ask);
  EXPECT_TRUE(client.ReadUntil("\r\n\r\n2")) << "a connection lives on";
  ASSERT_TRUE(keys->Replace({"new"}));
  client.Forget();
  client.Send(ask);
  EXPECT_TRUE(client.ReadUntil(" 401 ")) << "no connection keeps a key that was taken away";
}

TEST_F(HttpServerTest, AKeyMayHaveOnlySoManyRequestsAtWork) {
  options_.keys = *ApiKeys::Make({"greedy", "modest"});
  options_.key_requests_max = 1;
  HttpServer& server = MakeServer();
  std::atomic<bool> ends = false;
  server.Handle("POST", "/stream", [&ends](const HttpRequest&) {
    HttpResponse response;
    response.stream.next = [&ends](std::string* chunk) {
      *chunk = "more ";
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      return !ends;
    };
    return response;
  });
  server.Handle("GET", "/look", [](const HttpRequest&) { return Text("seen"); });
  server.Handle("POST", "/stream/:id/cancel", [](const HttpRequest&) { return Text("ended"); });
  StartServer();
  RawClient stream(server.port());
  stream.Send("POST /stream HTTP/1.1\r\nHost: localhost\r\nx-api-key: greedy\r\n\r\n");
  EXPECT_TRUE(stream.ReadUntil("more "));
  const std::string refused = AskFor("POST", "/stream", "x-api-key: greedy\r\n");
  EXPECT_EQ(StatusOf(refused), 429);
  EXPECT_TRUE(Contains(refused, "--max-streams"));
  EXPECT_TRUE(Contains(refused, "Retry-After: 1\r\n"));
  EXPECT_EQ(BodyOf(AskFor("GET", "/look", "x-api-key: greedy\r\n")), "seen");
  EXPECT_EQ(BodyOf(AskFor("POST", "/stream/1/cancel", "x-api-key: greedy\r\n")), "ended");
  ends = true;
  EXPECT_EQ(StatusOf(AskFor("POST", "/stream", "x-api-key: modest\r\n")), 200);
  EXPECT_TRUE(stream.ReadUntil("\r\n0\r\n"));
  EXPECT_TRUE(Eventually(
      [&] { return StatusOf(AskFor("POST", "/stream", "x-api-key: greedy\r\n")) == 200; }));
}

TEST_F(HttpServerTest, RefusesBodiesThatAreTooBig) {
  options_.body_bytes_max = 1000;
  std::atomic<int> calls = 0;
  MakeServer().Handle("POST", "/", [&](const HttpRequest& request) {
    ++calls;
    return Text(std::to_string(request.body.size()));
  });
  StartServer();
  EXPECT_EQ(BodyOf(AskFor("POST", "/", "", std::string(1000, 'x'))), "1000");
  const std::string announced = AskFor("POST", "/", "", std::string(1001, 'x'));
  EXPECT_EQ(StatusOf(announced), 413);
  EXPECT_TRUE(Contains(announced, "1001 bytes, more than the 1000 bytes that --max-body allows"));
  EXPECT_EQ(StatusOf(Ask("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n" +
                         std::string(2000, 'x') + "\r\n0\r\n\r\n")),
            413);
  // Far more than the socket buffers hold: the answer must reach a client that is still sending.
  EXPECT_EQ(StatusOf(AskFor("POST", "/", "", std::string(size_t{16} << 20, 'x'))), 413);
  EXPECT_EQ(StatusOf(AskFor("POST", "/", "Expect: 100-continue\r\nContent-Length: 9999999\r\n")),
            413);
  EXPECT_EQ(calls, 1);
}

TEST_F(HttpServerTest, AsksForABodyThatWaitsForLeave) {
  MakeServer().Handle("POST", "/", [](const HttpRequest& request) { return Text(request.body); });
  StartServer();
  RawClient client(server_->port());
  client.Send("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
  ASSERT_TRUE(client.ReadUntil("HTTP/1.1 100 Continue\r\n\r\n"));
  client.Send("late");
  EXPECT_TRUE(client.ReadUntil("\r\n\r\nlate"));
}

TEST_F(HttpServerTest, KeepsFormBodiesAsTheyAre) {
  MakeServer().Handle("POST", "/", [](const HttpRequest& request) {
    return Text(std::string(request.Header("content-type")) + "|" + request.body + "|" +
                std::to_string(request.params.size()));
  });
  StartServer();
  const std::string form = "Content-Type: application/x-www-form-urlencoded\r\n";
  EXPECT_EQ(BodyOf(AskFor("POST", "/", form, "{\"a\":1}")),
            "application/x-www-form-urlencoded|{\"a\":1}|0");
  EXPECT_EQ(StatusOf(AskFor("POST", "/", form, std::string(100'000, 'x'))), 200);
  EXPECT_EQ(BodyOf(AskFor("POST", "/", "Content-Type: multipart/form-data; boundary=b\r\n", "abc")),
            "multipart/form-data; boundary=b|abc|0");
}

TEST_F(HttpServerTest, TurnsExceptionsInto500AndGoesOn) {
  HttpServer& server = MakeServer();
  server.Handle("GET", "/known", [](const HttpRequest&) -> HttpResponse {
    throw std::runtime_error("secret detail");
  });
  server.Handle("GET", "/odd", [](const HttpRequest&) -> HttpResponse { throw 42; });
  StartServer();
  const std::string answer = AskFor("GET", "/known");
  EXPECT_EQ(StatusOf(answer), 500);
  EXPECT_TRUE(BodyOf(answer).starts_with("{500: "));
  EXPECT_FALSE(Contains(answer, "secret"));
  EXPECT_EQ(StatusOf(AskFor("GET", "/odd")), 500);
  ASSERT_EQ(Log().size(), 2u);
  EXPECT_EQ(Log()[0], "failed on /known: secret detail");
}

TEST_F(HttpServerTest, SaysThatThereIsNoMemoryForARequestAndGoesOn) {
  HttpServer& server = MakeServer();
  server.Handle("GET", "/large",
                [](const HttpRequest&) -> HttpResponse { throw std::bad_alloc(); });
  server.Handle("GET", "/", [](const HttpRequest&) { return Text("alive"); });
  StartServer();
  const std::string answer = AskFor("GET", "/large");
  EXPECT_EQ(StatusOf(answer), 503);
  EXPECT_TRUE(Contains(answer, "Retry-After: 1"));
  EXPECT_TRUE(
      Contains(answer, "no memory left for this request; try again later, or send a smaller one"));
  EXPECT_EQ(BodyOf(AskFor("GET", "/")), "alive");
  ASSERT_EQ(Log().size(), 1u);
  EXPECT_EQ(Log()[0], "failed on /large: out of memory");
}

TEST_F(HttpServerTest, SurvivesWhatIsNotHttp) {
  MakeServer().Handle("GET", "/", [](const HttpRequest&) { return Text("alive"); });
  StartServer();
  const std::string long_line(100'000, 'x');
  std::string many_headers;
  for (int i = 0; i < 500; ++i) many_headers += "X-" + std::to_string(i) + ": y\r\n";
  const std::vector<std::string> bad = {
      "hello\r\n\r\n",
      "GET /\r\n\r\n",
      "GET / HTTP/9.9\r\n\r\n",
      "BREW / HTTP/1.1\r\n\r\n",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
      "GET / HTTP/1.1\r\nNoColon\r\n\r\n",
      "GET / HTTP/1.1\r\n: empty\r\n\r\n",
      "GET / HTTP/1.1\r\nBad Name: x\r\n\r\n",
      "GET / HTTP/1.1\r\nX: a" + std::string(1, '\0') + "b\r\n\r\n",
      "GET / HTTP/1.1\r\nX: " + long_line + "\r\n\r\n",
      "GET / HTTP/1.1\r\n" + many_headers + "\r\n",
      "POST / HTTP/1.1\r\nContent-Length: abc\r\n\r\n",
      "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
      "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n",
      "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
      "GET / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc",
      "GET / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
      "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
      "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nx",
      "GET / HTTP/1.1\r\nRange: bytes=z\r\n\r\n",
      "GET / HTTP/1.1\r\nContent-Encoding: odd\r\nContent-Length: 1\r\n\r\nx",
      "GET / HTTP/1.1\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nxxxxx",
      "GET /" + std::string(9000, 'a') + " HTTP/1.1\r\n\r\n",
  };
  for (const std::string& request : bad) {
    RawClient client(server_->port());
    client.Send(request);
    const std::string& answer = client.ReadAll();
    EXPECT_GE(StatusOf(answer), 400) << request.substr(0, 80) << " -> " << answer;
    EXPECT_TRUE(Contains(answer, "Connection: close\r\n")) << request.substr(0, 80);
    EXPECT_TRUE(BodyOf(answer).starts_with("{")) << request.substr(0, 80) << " -> " << answer;
  }
  EXPECT_EQ(BodyOf(AskFor("GET", "/")), "alive");
}

TEST_F(HttpServerTest, ReadsABodyInTheContentEncodingThatItsHeaderNames) {
  MakeServer().Handle("POST", "/", [](const HttpRequest& request) { return Text(request.body); });
  StartServer();
  const auto ask = [&](const std::string& encoding) {
    RawClient client(server_->port());
    client.Send("POST / HTTP/1.1\r\nConnection: close\r\nContent-Encoding: " + encoding +
                "\r\nContent-Length: 5\r\n\r\nhello");
    return client.ReadAll();
  };
  EXPECT_EQ(BodyOf(ask("Identity")), "hello");
  for (const char* encoding : {"gzip", "zstd"}) {
    const std::string answer = ask(encoding);
    EXPECT_EQ(StatusOf(answer), 400) << encoding;
    EXPECT_TRUE(Contains(BodyOf(answer), "in the Content-Encoding")) << encoding << answer;
  }
  EXPECT_EQ(StatusOf(ask("odd")), 415);
}

TEST_F(HttpServerTest, SurvivesEveryByteAsARequest) {
  MakeServer().Handle("GET", "/", [](const HttpRequest&) { return Text("alive"); });
  StartServer();
  uint32_t random = 1;
  for (int i = 0; i < 200; ++i) {
    std::string noise = i % 2 == 0 ? "GET / HTTP/1.1\r\n" : "";
    for (int n = 0; n < 300; ++n) {
      random = random * 1664525u + 1013904223u;
      noise.push_back(static_cast<char>(random >> 24));
    }
    RawClient client(server_->port());
    client.Send(noise);
    client.Send("\r\n\r\n");
  }
  // While the last of these are being closed all threads may be taken.
  EXPECT_TRUE(Eventually([&] { return BodyOf(AskFor("GET", "/")) == "alive"; }));
}

TEST_F(HttpServerTest, AnswersPipelinedRequestsInOrder) {
  HttpServer& server = MakeServer();
  server.Handle("POST", "/a", [](const HttpRequest& request) { return Text("A" + request.body); });
  server.Handle("GET", "/b", [](const HttpRequest&) { return Text("B"); });
  StartServer();
  const std::string answer =
      Ask("POST /a HTTP/1.1\r\nContent-Length: 1\r\n\r\n1\r\n"
          "POST /a HTTP/1.1\r\n\r\n"  // a POST without a length has no body
          "GET /b HTTP/1.1\r\n\r\n"
          "GET /b HTTP/1.1\r\nConnection: close\r\n\r\n");
  std::string bodies;
  for (size_t at = answer.find("\r\n\r\n"); at != std::string::npos;
       at = answer.find("\r\n\r\n", at + 4)) {
    const size_t next = answer.find("HTTP/1.1", at);
    bodies += answer.substr(at + 4, next == std::string::npos ? next : next - at - 4) + " ";
  }
  EXPECT_EQ(bodies, "A1 A B B ");
}

TEST_F(HttpServerTest, KeepsAConnectionForTheNextRequest) {
  MakeServer().Handle("GET", "/", [](const HttpRequest& request) { return Text(request.remote); });
  StartServer();
  RawClient client(server_->port());
  for (int i = 0; i < 3; ++i) {
    client.Send("GET / HTTP/1.1\r\n\r\n");
    ASSERT_TRUE(client.ReadUntil("127.0.0.1:"));
    client.Forget();
  }
}

TEST_F(HttpServerTest, ServesManyAtOnce) {
  options_.threads_max = 16;
  MakeServer().Handle("POST", "/", [](const HttpRequest& request) { return Text(request.body); });
  StartServer();
  std::atomic<int> right = 0;
  std::vector<std::thread> clients;
  for (int c = 0; c < 16; ++c) {
    clients.emplace_back([&, c] {
      for (int i = 0; i < 25; ++i) {
        const std::string body =
            std::to_string(c) + ":" + std::to_string(i) + std::string(5000, 'b');
        std::string answer;
        do {  // a connection that has just ended may still hold its thread
          answer = AskFor("POST", "/", "", body);
        } while (StatusOf(answer) == 503);
        if (BodyOf(answer) == body) ++right;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(right, 16 * 25);
}

TEST_F(HttpServerTest, SaysThatAPortIsTaken) {
  MakeServer();
  StartServer();
  HttpServerOptions second_options = options_;
  second_options.port = server_->port();
  HttpServer second(second_options);
  const Status bound = second.Bind();
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(bound.error().message, "port " + std::to_string(server_->port()) +
                                       " on 127.0.0.1 is in use; choose another port with --port");
}

TEST_F(HttpServerTest, ListensBeyondThisMachineOnlyWithAKey) {
  for (const char* host : {"0.0.0.0", "::"}) {
    options_.host = host;
    const Status bound = HttpServer(options_).Bind();
    ASSERT_FALSE(bound);
    EXPECT_TRUE(
        bound.error().message.starts_with(std::string("listening on ") + host + " needs --api-key"))
        << bound.error().message;
  }
  options_.host = "0.0.0.0";
  options_.keys = std::make_shared<ApiKeys>();
  EXPECT_FALSE(HttpServer(options_).Bind()) << "no keys";
  options_.keys = *ApiKeys::Make({"k"});
  HttpServer with_key(options_);
  EXPECT_TRUE(with_key.Bind());
  options_.keys = nullptr;
  options_.insecure = true;
  HttpServer insecure(options_);
  EXPECT_TRUE(insecure.Bind()) << "somebody insisted";
}

TEST_F(HttpServerTest, ExplainsAddressesItCannotListenOn) {
  options_.port = 70000;
  EXPECT_EQ(HttpServer(options_).Bind().error().message,
            "port 70000 is out of range; --port takes 0 to 65535");
  options_.port = 0;
  options_.keys = *ApiKeys::Make({"k"});
  options_.host = "192.0.2.1";  // an address reserved for documentation, which no machine has
  EXPECT_EQ(HttpServer(options_).Bind().error().message,
            "192.0.2.1 is not an address of this machine; choose another with --host");
  options_.host = "300.1.1.1.";
  EXPECT_EQ(HttpServer(options_).Bind().error().code, ErrorCode::kInvalidArgument);
}

TEST_F(HttpServerTest, PathsMayHaveAPrefixThatHandlersDoNotSee) {
  options_.api_prefix = "/llm";
  HttpRequest seen;
  MakeServer().Handle("GET", "/v1/models", [&seen](const HttpRequest& request) {
    seen = request;
    return Text("models");
  });
  StartServer();
  EXPECT_EQ(StatusOf(AskFor("GET", "/v1/models", "")), 404);
  EXPECT_EQ(StatusOf(AskFor("GET", "/llm/v1/models?a=b", "")), 200);
  EXPECT_EQ(seen.path, "/v1/models");
  EXPECT_EQ(seen.target, "/v1/models?a=b");
}

TEST_F(HttpServerTest, TellsHowManyBytesARequestMovedOnceItHasEnded) {
  std::atomic<size_t> moved = 0;
  options_.on_end = [&](size_t bytes) { moved += bytes; };
  MakeServer().Handle("POST", "/", [](const HttpRequest& request) {
    return Text(std::string(request.body.size() / 2, 'x'));
  });
  StartServer();
  EXPECT_EQ(StatusOf(AskFor("POST", "/", "", std::string(100'000, 'x'))), 200);
  EXPECT_TRUE(Eventually([&] { return moved > 150'000; }));
  EXPECT_LT(moved, 160'000u);
  moved = 0;
  EXPECT_EQ(StatusOf(AskFor("POST", "/nowhere", "", "x")), 404);
  EXPECT_TRUE(Eventually([&] { return moved > 0; }));
  EXPECT_LT(moved, 10'000u);
}

}  // namespace
}  // namespace cairn
