// Tests what a server does when all its connections are in use: who is refused, who makes room.

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "http/server.h"
#include "testing/http/server_fixture.h"

namespace cairn {
namespace {

using Clients = std::vector<std::unique_ptr<RawClient>>;

class HttpServerCrowdTest : public HttpServerTest {
 protected:
  // GET / says "served", POST /read takes a body, GET /flood sends for ever, GET /wait sends
  // nothing for ever.
  void Serve() {
    MakeServer().Handle("GET", "/", [](const HttpRequest&) { return Text("served"); });
    server_->Handle("POST", "/read", [](const HttpRequest&) { return Text("read"); });
    server_->Handle(
        "GET", "/health", [](const HttpRequest&) { return Text("ok"); }, HttpAccess::kAlways);
    const auto stream = [this](std::string piece) {
      return [this, piece](const HttpRequest&) {
        HttpResponse response;
        response.stream.next = [piece](std::string* chunk) {
          *chunk = piece;
          if (piece.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
          return true;
        };
        response.stream.on_gone = [this] { ++gone_; };
        return response;
      };
    };
    server_->Handle("GET", "/flood", stream(std::string(1 << 20, 'x')));
    server_->Handle("GET", "/public", stream(std::string(1 << 20, 'x')), HttpAccess::kPublic);
    server_->Handle("GET", "/wait", stream(""));
    StartServer();
  }
  // A request whose body of ten bytes lacks the last one.
  std::unique_ptr<RawClient> BeginBody(const std::string& key) {
    auto client = std::make_unique<RawClient>(server_->port());
    client->Send("POST /read HTTP/1.1\r\nHost: localhost\r\nx-api-key: " + key +
                 "\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n");
    EXPECT_TRUE(client->ReadUntil("100 Continue\r\n\r\n")) << client->received();
    client->Forget();
    client->Send("123456789");
    return client;
  }
  std::unique_ptr<RawClient> BeginStream(const std::string& path, const std::string& key) {
    auto client = std::make_unique<RawClient>(server_->port());
    client->Send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nx-api-key: " + key + "\r\n\r\n");
    EXPECT_TRUE(client->ReadUntil("\r\n\r\n")) << client->received();
    return client;
  }
  bool IsServed(const std::string& key) {
    return BodyOf(AskFor("GET", "/", "x-api-key: " + key + "\r\n")) == "served";
  }

  std::atomic<int> gone_ = 0;
};

TEST_F(HttpServerCrowdTest, SlowBodiesOfOneKeyGiveWayToAnotherKey) {
  options_.keys = *ApiKeys::Make({"a", "b"});
  options_.threads_max = 4;
  Serve();
  Clients slow;
  for (int i = 0; i < 4; ++i) slow.push_back(BeginBody("a"));
  // Their threads may not wait for the rest yet.
  EXPECT_TRUE(Eventually([&] { return IsServed("b"); }));
  int read = 0;
  int refused = 0;
  for (const auto& client : slow) {
    client->Send("0");
    client->ReadUntil("\r\n\r\n");
    read += StatusOf(client->received()) == 200 ? 1 : 0;
    if (StatusOf(client->received()) != 503) continue;
    ++refused;
    EXPECT_TRUE(client->ReadUntil("the request came slowly")) << client->received();
    EXPECT_NE(client->received().find("Retry-After: 1\r\n"), std::string::npos);
  }
  EXPECT_EQ(read, 3);
  EXPECT_EQ(refused, 1);
}

TEST_F(HttpServerCrowdTest, NoKeyShutsOutAnotherHoweverManySlowBodiesItBegins) {
  options_.keys = *ApiKeys::Make({"a", "b"});
  options_.threads_max = 8;
  Serve();
  Clients slow;
  for (int i = 0; i < 30; ++i) {
    slow.push_back(std::make_unique<RawClient>(server_->port()));
    slow.back()->Send(
        "POST /read HTTP/1.1\r\nHost: localhost\r\nx-api-key: a\r\nContent-Length: 5000\r\n\r\n");
  }
  for (int i = 0; i < 20; ++i) {
    for (const auto& client : slow) static_cast<void>(client->Send("x"));
    EXPECT_TRUE(Eventually([&] { return IsServed("b"); }));
  }
}

TEST_F(HttpServerCrowdTest, ClientsThatReadNothingGiveWayToAnotherKey) {
  options_.keys = *ApiKeys::Make({"a", "b"});
  options_.threads_max = 3;
  Serve();
  Clients slow;
  for (int i = 0; i < 3; ++i) slow.push_back(BeginStream("/flood", "a"));
  EXPECT_TRUE(Eventually([&] { return IsServed("b"); }));
  EXPECT_TRUE(Eventually([&] { return gone_ == 1; })) << "its stream has ended";
}

TEST_F(HttpServerCrowdTest, StreamsThatAreReadKeepTheirConnections) {
  options_.keys = *ApiKeys::Make({"a", "b"});
  options_.threads_max = 3;
  Serve();
  Clients streams;
  for (int i = 0; i < 3; ++i) streams.push_back(BeginStream("/wait", "a"));
  const std::string refused = AskFor("GET", "/", "x-api-key: b\r\n");
  EXPECT_EQ(StatusOf(refused), 503) << refused;
  EXPECT_EQ(gone_, 0);
}

TEST_F(HttpServerCrowdTest, OneKeyOfTwoLeavesConnectionsToTheOther) {
  options_.keys = *ApiKeys::Make({"a", "b"});
  options_.threads_max = 8;
  Serve();
  Clients streams;
  for (int i = 0; i < 7; ++i) streams.push_back(BeginStream("/wait", "a"));
  const std::string refused = AskFor("GET", "/", "x-api-key: a\r\n");
  EXPECT_EQ(StatusOf(refused), 503);
  EXPECT_NE(refused.find("this key holds 7 of the 8 connections"), std::string::npos) << refused;
  EXPECT_TRUE(IsServed("b"));
}

TEST_F(HttpServerCrowdTest, ThePageForEverybodyGivesWayToAKey) {
  options_.keys = *ApiKeys::Make({"a"});
  options_.threads_max = 2;
  Serve();
  Clients strangers;
  for (int i = 0; i < 2; ++i) strangers.push_back(BeginStream("/public", ""));
  EXPECT_TRUE(Eventually([&] { return IsServed("a"); }));
}

TEST_F(HttpServerCrowdTest, HealthIsAnsweredAlthoughAllConnectionsAreAtWork) {
  options_.threads_max = 2;
  Serve();
  Clients streams;
  for (int i = 0; i < 2; ++i) streams.push_back(BeginStream("/wait", ""));
  for (int i = 0; i < 20; ++i) {
    RawClient client(server_->port());
    client.Send("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const std::string answer = client.ReadAll();  // the server ends the connection
    EXPECT_EQ(StatusOf(answer), 200) << answer;
    EXPECT_EQ(BodyOf(answer), "ok");
    EXPECT_NE(answer.find("Connection: close\r\n"), std::string::npos) << answer;
  }
  EXPECT_EQ(StatusOf(AskFor("GET", "/health", "", "with a body")), 503);
  EXPECT_EQ(StatusOf(AskFor("GET", "/")), 503);
}

TEST_F(HttpServerCrowdTest, RefusedClientsThatStaySilentKeepNobodyOut) {
  options_.keys = *ApiKeys::Make({"a"});
  options_.threads_max = 1;
  options_.spare_threads = 1;
  Serve();
  Clients refused;
  for (int i = 0; i < 10; ++i) {
    refused.push_back(std::make_unique<RawClient>(server_->port()));
    refused.back()->Send("POST /read HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\n");
  }
  for (int i = 0; i < 10; ++i) {
    for (const auto& client : refused) static_cast<void>(client->Send("x"));
    EXPECT_TRUE(Eventually([&] { return IsServed("a"); }));
  }
}

TEST_F(HttpServerCrowdTest, ABodyBelowTheLeastRateIsNotWaitedFor) {
  options_.read_timeout_ms = 300;
  Serve();
  RawClient slow(server_->port());
  slow.Send("POST /read HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n");
  // Each byte comes long before the longest pause.
  EXPECT_TRUE(Eventually([&] { return !slow.Send("x"); }));
}

}  // namespace
}  // namespace cairn
