// Tests streams, waiting handlers, disconnecting clients, and stopping the server.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "http/server.h"
#include "testing/http/server_fixture.h"

namespace cairn {
namespace {

// The chunks of a stream, supplied one by one by the test.
class Script {
 public:
  void Say(const std::string& piece) {
    const std::lock_guard<std::mutex> lock(mutex_);
    pieces_ += piece;
    changed_.notify_all();
  }
  void End() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  bool Next(std::string* chunk) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(20),
                      [this] { return ended_ || !pieces_.empty(); });
    chunk->swap(pieces_);
    pieces_.clear();
    return !ended_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string pieces_;
  bool ended_ = false;
};

class HttpServerStreamTest : public HttpServerTest {
 protected:
  void AddStream() {
    server_->Handle("GET", "/stream", [this](const HttpRequest&) {
      HttpResponse response;
      response.content_type = "text/event-stream";
      response.stream.next = [this](std::string* chunk) { return script_.Next(chunk); };
      response.stream.on_gone = [this] { ++gone_; };
      return response;
    });
  }

  Script script_;
  std::atomic<int> gone_ = 0;
};

TEST_F(HttpServerStreamTest, SendsEveryPieceBeforeTheNextExists) {
  MakeServer();
  AddStream();
  StartServer();
  RawClient client(server_->port());
  client.Send("GET /stream HTTP/1.1\r\nAccept-Encoding: gzip, br\r\n\r\n");
  for (const char* piece : {"one", "two", "three"}) {
    script_.Say(piece);
    ASSERT_TRUE(client.ReadUntil("\r\n" + std::string(piece) + "\r\n")) << client.received();
  }
  EXPECT_TRUE(client.received().find("Transfer-Encoding: chunked\r\n") != std::string::npos);
  EXPECT_TRUE(client.received().find("Content-Type: text/event-stream\r\n") != std::string::npos);
  EXPECT_TRUE(client.received().find("Content-Encoding") == std::string::npos);
  script_.Say("end");
  script_.End();
  ASSERT_TRUE(client.ReadUntil("end\r\n0\r\n\r\n"));
  // The connection is kept, and on_gone was not called.
  client.Forget();
  client.Send("GET /nothing HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(client.ReadUntil("404"));
  EXPECT_EQ(gone_, 0);
}

TEST_F(HttpServerStreamTest, EndsAnHttp10StreamWithItsConnection) {
  MakeServer();
  AddStream();
  StartServer();
  script_.Say("all");
  script_.End();
  const std::string answer = Ask("GET /stream HTTP/1.0\r\n\r\n");
  EXPECT_EQ(BodyOf(answer), "all");
  EXPECT_TRUE(answer.find("chunked") == std::string::npos);
  EXPECT_EQ(gone_, 0);
}

TEST_F(HttpServerStreamTest, EndsARequestThatIsSentDropByDrop) {
  options_.request_timeout_ms = 200;
  MakeServer();
  std::atomic<bool> handled = false;
  server_->Handle("POST", "/read", [&](const HttpRequest&) {
    handled = true;
    return HttpResponse{};
  });
  StartServer();
  RawClient slow(server_->port());
  ASSERT_TRUE(slow.Send("POST /read HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n"));
  // Each byte arrives long before the read timeout.
  EXPECT_TRUE(Eventually([&] { return !slow.Send("x"); }));
  EXPECT_FALSE(handled);
  EXPECT_EQ(Ask("GET /nothing HTTP/1.1\r\nConnection: close\r\n\r\n").substr(9, 3), "404");
}

TEST_F(HttpServerStreamTest, WithoutAKeyABodyThatIsSentDropByDropIsNotWaitedFor) {
  options_.keys = *ApiKeys::Make({"k"});
  MakeServer();
  server_->Handle("POST", "/read", [&](const HttpRequest&) { return HttpResponse{}; });
  StartServer();
  RawClient slow(server_->port());
  ASSERT_TRUE(slow.Send("POST /read HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n"));
  EXPECT_TRUE(Eventually([&] { return !slow.Send("x"); }));
}

TEST_F(HttpServerStreamTest, LinesThatEndInAnotherWayThanHttpsHoldNoConnection) {
  MakeServer();
  StartServer();
  RawClient client(server_->port());
  ASSERT_TRUE(client.Send("GET / HTTP/1.1\nX: "));
  EXPECT_TRUE(client.ReadUntil("HTTP/1.1 400 "));
}

TEST_F(HttpServerStreamTest, SlowHeadersHoldNoConnectionThatOthersWant) {
  options_.threads_max = 4;
  options_.spare_threads = 0;
  MakeServer().Handle("GET", "/", [](const HttpRequest&) { return Text("served"); });
  StartServer();
  std::vector<std::unique_ptr<RawClient>> slow;
  const auto drip = [&] {
    for (const auto& client : slow) static_cast<void>(client->Send("x"));
    return true;
  };
  for (int i = 0; i < 16; ++i) {
    slow.push_back(std::make_unique<RawClient>(server_->port()));
    static_cast<void>(slow.back()->Send("GET / HTTP/1.1\r\nHost: localhost\r\nX: "));
  }
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(Eventually([&] { return drip() && BodyOf(AskFor("GET", "/")) == "served"; }));
  }
}

TEST_F(HttpServerStreamTest, EndsHeadersThatAreSentDropByDrop) {
  options_.header_timeout_ms = 200;
  MakeServer();
  StartServer();
  RawClient slow(server_->port());
  ASSERT_TRUE(slow.Send("GET / HTTP/1.1\r\nX: "));
  EXPECT_TRUE(Eventually([&] { return !slow.Send("x"); }));
}

TEST_F(HttpServerStreamTest, HeadersMayComeInPiecesAsLongAsTheyComeSoon) {
  MakeServer().Handle("GET", "/", [](const HttpRequest&) { return Text("served"); });
  StartServer();
  RawClient client(server_->port());
  const std::string request = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  for (const char letter : request) ASSERT_TRUE(client.Send(std::string(1, letter)));
  EXPECT_TRUE(client.ReadUntil("served"));
}

TEST_F(HttpServerStreamTest, RefusesHeadersThatAreTooLong) {
  MakeServer();
  StartServer();
  RawClient client(server_->port());
  std::string request = "GET / HTTP/1.1\r\n";
  for (int i = 0; i < 20; ++i) {
    request += "X" + std::to_string(i) + ": " + std::string(1000, 'x') + "\r\n";
  }
  ASSERT_TRUE(client.Send(request));
  EXPECT_TRUE(client.ReadUntil("HTTP/1.1 431 "));
}

TEST_F(HttpServerStreamTest, NoticesAClientThatLeavesASilentStream) {
  MakeServer();
  AddStream();
  StartServer();
  RawClient client(server_->port());
  client.Send("GET /stream HTTP/1.1\r\n\r\n");
  script_.Say("first");
  ASSERT_TRUE(client.ReadUntil("first"));
  EXPECT_EQ(gone_, 0);
  client.Close();
  EXPECT_TRUE(Eventually([&] { return gone_ == 1; }));
}

TEST_F(HttpServerStreamTest, NoticesAClientThatLeavesWhileBytesOfItAreUnread) {
  MakeServer();
  AddStream();
  StartServer();
  RawClient client(server_->port());
  client.Send("GET /stream HTTP/1.1\r\n\r\nGET /stream HTTP/1.1\r\n\r\n");
  script_.Say("first");
  ASSERT_TRUE(client.ReadUntil("first"));
  client.Send("more");
  client.Close();
  EXPECT_TRUE(Eventually([&] { return gone_ == 1; }));
}

TEST_F(HttpServerStreamTest, NoticesAClientThatReadsNothing) {
  options_.write_timeout_ms = 100;
  MakeServer().Handle("GET", "/flood", [this](const HttpRequest&) {
    HttpResponse response;
    response.stream.next = [](std::string* chunk) {
      chunk->assign(1 << 20, 'x');
      return true;
    };
    response.stream.on_gone = [this] { ++gone_; };
    return response;
  });
  StartServer();
  RawClient client(server_->port());
  client.Send("GET /flood HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(Eventually([&] { return gone_ == 1; }));
}

// What the system holds for a client that does not read is lost work, and hides that it does not.
TEST_F(HttpServerStreamTest, LittleIsProducedForAClientThatReadsNothing) {
  constexpr size_t kMany = size_t{1} << 20U;
  options_.write_timeout_ms = 100;
  std::atomic<size_t> produced = 0;
  MakeServer().Handle("GET", "/tokens", [&](const HttpRequest&) {
    HttpResponse response;
    response.stream.next = [&](std::string* chunk) {
      chunk->assign(256, 'x');
      produced += chunk->size();
      return produced < kMany;
    };
    response.stream.on_gone = [this] { ++gone_; };
    return response;
  });
  StartServer();
  RawClient client(server_->port());
  client.Send("GET /tokens HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(Eventually([&] { return gone_ == 1 || produced >= kMany; }));
  EXPECT_LT(produced, kMany / 2);
}

TEST_F(HttpServerStreamTest, CutsAStreamThatThrows) {
  MakeServer().Handle("GET", "/", [this](const HttpRequest&) {
    HttpResponse response;
    response.stream.next = [calls = 0](std::string* chunk) mutable -> bool {
      if (calls++ > 0) throw std::runtime_error("broke");
      *chunk = "piece";
      return true;
    };
    response.stream.on_gone = [this]() -> void {
      ++gone_;
      throw std::runtime_error("again");
    };
    return response;
  });
  StartServer();
  const std::string answer = Ask("GET / HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(answer.ends_with("\r\npiece\r\n"))
      << "no last chunk, so the client knows: " << answer;
  EXPECT_EQ(gone_, 1);
  EXPECT_EQ(Log().size(), 2u);
}

TEST_F(HttpServerStreamTest, AsksNothingOfAStreamForHead) {
  MakeServer();
  AddStream();
  StartServer();
  const std::string answer = AskFor("HEAD", "/stream");
  EXPECT_EQ(StatusOf(answer), 200);
  EXPECT_EQ(BodyOf(answer), "");
  EXPECT_TRUE(Eventually([&] { return gone_ == 1; }));
}

TEST_F(HttpServerStreamTest, TellsAWaitingHandlerThatItsClientLeft) {
  std::atomic<bool> waiting = false;
  std::atomic<bool> noticed = false;
  MakeServer().Handle("POST", "/", [&](const HttpRequest& request) {
    EXPECT_FALSE(request.gone());
    waiting = true;
    noticed = Eventually(request.gone);
    return Text("");
  });
  StartServer();
  RawClient client(server_->port());
  client.Send("POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}");
  ASSERT_TRUE(Eventually([&] { return waiting.load(); }));
  client.Close();
  EXPECT_TRUE(Eventually([&] { return noticed.load(); }));
}

TEST_F(HttpServerStreamTest, StopEndsStreamsAndWaitingHandlers) {
  std::atomic<int> waiting = 0;
  MakeServer().Handle("GET", "/wait", [&](const HttpRequest& request) {
    ++waiting;
    EXPECT_TRUE(Eventually(request.gone));
    HttpResponse response = Text("stopping");
    response.status = 503;
    return response;
  });
  AddStream();
  StartServer();
  RawClient idle(server_->port());
  RawClient half(server_->port());
  half.Send("POST /wait HTTP/1.1\r\nContent-Le");
  RawClient stream(server_->port());
  stream.Send("GET /stream HTTP/1.1\r\n\r\n");
  script_.Say("open");
  ASSERT_TRUE(stream.ReadUntil("open"));
  RawClient waiter(server_->port());
  waiter.Send("GET /wait HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(Eventually([&] { return waiting == 1; }));

  StopServer();  // returns only when every connection's thread has ended
  EXPECT_EQ(gone_, 1);
  EXPECT_TRUE(stream.AtEnd());
  EXPECT_TRUE(idle.AtEnd());
  EXPECT_TRUE(half.AtEnd());
  EXPECT_EQ(StatusOf(waiter.ReadAll()), 503) << "an answer on its way still goes out";
  EXPECT_FALSE(RawClient(server_->port()).connected());
}

// A 400 would blame the client, which would then not retry.
TEST_F(HttpServerStreamTest, ABodyThatTheServersEndBrokeOffIsRefusedWith503) {
  std::atomic<bool> handled = false;
  MakeServer().Handle("POST", "/read", [&](const HttpRequest&) {
    handled = true;
    return HttpResponse{};
  });
  StartServer();
  RawClient half(server_->port());
  ASSERT_TRUE(
      half.Send("POST /read HTTP/1.1\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n"));
  // Now the server waits for the body.
  ASSERT_TRUE(half.ReadUntil("100 Continue"));
  ASSERT_TRUE(half.Send("half of"));
  StopServer();
  const std::string answer = half.ReadAll();
  EXPECT_NE(answer.find("HTTP/1.1 503"), std::string::npos) << answer;
  EXPECT_NE(answer.find("Retry-After: 1"), std::string::npos) << answer;
  EXPECT_FALSE(handled);
}

TEST_F(HttpServerStreamTest, StopBeforeServeIsNotForgotten) {
  MakeServer();
  server_->Stop();
  ASSERT_TRUE(server_->Bind());
  server_->Serve();
  EXPECT_FALSE(RawClient(server_->port()).connected());
}

TEST_F(HttpServerStreamTest, RefusesAtOnceWhenAllConnectionsAreAtWork) {
  options_.threads_max = 2;
  MakeServer();
  AddStream();
  StartServer();
  std::vector<std::unique_ptr<RawClient>> streams;
  for (int i = 0; i < 2; ++i) {
    streams.push_back(std::make_unique<RawClient>(server_->port()));
    streams.back()->Send("GET /stream HTTP/1.1\r\n\r\n");
    ASSERT_TRUE(streams.back()->ReadUntil("\r\n\r\n"));
  }
  const std::string answer = AskFor("GET", "/stream", "", std::string(1 << 20, 'x'));
  EXPECT_EQ(StatusOf(answer), 503);
  EXPECT_TRUE(answer.find("Retry-After: 1\r\n") != std::string::npos);
  EXPECT_EQ(BodyOf(answer), "{503: all 2 connections of this server are in use; try again later}");
  // Once a stream has ended, a new connection is accepted.
  streams.pop_back();
  EXPECT_TRUE(Eventually([&] { return StatusOf(AskFor("GET", "/nothing")) == 404; }));
}

TEST_F(HttpServerStreamTest, AnIdleConnectionMakesRoomForANewOne) {
  options_.threads_max = 2;
  options_.spare_threads = 0;
  MakeServer().Handle("GET", "/", [](const HttpRequest&) { return Text("served"); });
  AddStream();
  StartServer();
  RawClient stream(server_->port());
  stream.Send("GET /stream HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(stream.ReadUntil("\r\n\r\n"));
  RawClient idle(server_->port());
  idle.Send("GET / HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(idle.ReadUntil("served"));
  // Its thread may not be free yet, so the first tries may be refused.
  EXPECT_TRUE(Eventually([&] { return BodyOf(AskFor("GET", "/")) == "served"; }));
  EXPECT_TRUE(idle.AtEnd());
}

TEST_F(HttpServerStreamTest, ConnectionsThatSayNothingMakeRoomForOthers) {
  options_.threads_max = 3;
  options_.spare_threads = 0;
  MakeServer().Handle("GET", "/", [](const HttpRequest&) { return Text("served"); });
  StartServer();
  std::atomic<int> served = 0;
  std::vector<std::thread> clients;
  for (int c = 0; c < 8; ++c) {
    clients.emplace_back([&] {
      for (int i = 0; i < 3; ++i) {
        RawClient silent(server_->port());
        if (Eventually([&] { return BodyOf(AskFor("GET", "/")) == "served"; })) ++served;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(served, 8 * 3);
}

}  // namespace
}  // namespace cairn
