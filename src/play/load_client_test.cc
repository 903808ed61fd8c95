// LoadClient against a server that is played.

#include "play/load_client.h"

#include <gtest/gtest.h>

#include <limits>

#include "play/load_fixture.h"

namespace cairn {
namespace {

using Kind = LoadReply::Kind;

class LoadClientTest : public test::LoadServerTest {
 protected:
  LoadClient Client() const { return {Url(), &clock_, {}}; }

  static LoadAsk Asking(size_t tokens) {
    LoadAsk ask;
    ask.messages = {{"user", "Hello"}};
    ask.params.tokens_max = tokens;
    ask.params.ignore_end = true;
    return ask;
  }

  // What becomes of a request for three tokens that is answered with `response`.
  LoadReply Answered(const HttpResponse& response) {
    StartChats([response](size_t) { return response; });
    return Client().Ask(Asking(3));
  }
};

TEST_F(LoadClientTest, TimesEveryPieceOfAWholeAnswer) {
  StartChats();
  const double begin_ms = clock_.NowMs();
  const LoadReply reply = Client().Ask(Asking(12));
  ASSERT_EQ(reply.kind, Kind::kWhole) << reply.fault << reply.detail;
  EXPECT_EQ(reply.answer.answer_tokens, 12U);
  EXPECT_EQ(reply.answer.read_tokens(), 60U);
  ASSERT_EQ(reply.pieces.at_ms.size(), 12U);
  EXPECT_TRUE(reply.pieces.ended);
  EXPECT_EQ(reply.pieces.tokens, 12U);
  EXPECT_TRUE(std::is_sorted(reply.pieces.at_ms.begin(), reply.pieces.at_ms.end()));
  EXPECT_GE(reply.asked_ms, begin_ms);
  EXPECT_GE(reply.pieces.at_ms.front(), reply.asked_ms);
  EXPECT_EQ(Bodies().at(0)["ignore_eos"], true);
  EXPECT_FALSE(Bodies().at(0).contains("grammar"));
}

TEST_F(LoadClientTest, GivesAnAnswerUpWhenNoMoreIsWanted) {
  StartChats();
  LoadAsk ask = Asking(100'000);
  ask.goes_on = [](size_t pieces) { return pieces < 5; };
  const LoadReply reply = Client().Ask(ask);
  EXPECT_EQ(reply.kind, Kind::kGivenUp);
  EXPECT_EQ(reply.pieces.at_ms.size(), 5U);
  EXPECT_FALSE(reply.pieces.ended);
}

TEST_F(LoadClientTest, A503WithRetryAfterIsARefusal) {
  const LoadReply reply = Answered(Refusal("2"));
  EXPECT_EQ(reply.kind, Kind::kBusy);
  EXPECT_EQ(reply.retry_after_s, 2);
}

TEST_F(LoadClientTest, A503WithoutItIsAFault) {
  const LoadReply reply = Answered(Refusal(""));
  EXPECT_EQ(reply.kind, Kind::kFailed);
  EXPECT_EQ(reply.fault, "503 without Retry-After");
  EXPECT_NE(reply.detail.find("come back later"), std::string::npos) << reply.detail;
}

TEST_F(LoadClientTest, AnyOtherStatusIsAFault) {
  HttpResponse response = Text("no");
  response.status = 500;
  const LoadReply reply = Answered(response);
  EXPECT_EQ(reply.kind, Kind::kFailed);
  EXPECT_EQ(reply.fault, "status 500");
}

TEST_F(LoadClientTest, NobodyThereIsAFault) {
  const LoadClient client("http://127.0.0.1:1", &clock_, {});
  const LoadReply reply = client.Ask(Asking(3));
  EXPECT_EQ(reply.kind, Kind::kFailed);
  EXPECT_EQ(reply.fault, "no answer");
}

TEST_F(LoadClientTest, AStreamWithoutDoneIsBroken) {
  EXPECT_EQ(Answered(Stream(Letter() + Letter() + Letter() + Finish() + Usage(3))).kind,
            Kind::kBroken);
}

TEST_F(LoadClientTest, AStreamWithoutAFinishReasonIsBroken) {
  const LoadReply reply = Answered(Stream(Letter() + Letter() + Letter() + Usage(3) + Done()));
  EXPECT_EQ(reply.kind, Kind::kBroken);
  EXPECT_EQ(reply.fault, "the stream has no finish reason");
}

TEST_F(LoadClientTest, AStreamWithFewerTokensThanWereAskedForIsBroken) {
  EXPECT_EQ(Answered(Stream(Letter() + Letter() + Finish() + Usage(2) + Done())).kind,
            Kind::kBroken);
}

TEST_F(LoadClientTest, AnErrorInTheMiddleIsBroken) {
  EXPECT_EQ(Answered(Stream(Letter() + Chunk({{"error", {{"message", "oh"}}}}))).kind,
            Kind::kBroken);
}

TEST_F(LoadClientTest, ComesBackUntilItIsServed) {
  StartChats([](size_t chat) { return chat < 2 ? Refusal("0") : HttpResponse(); });
  std::atomic<size_t> busy = 0;
  const LoadReply reply =
      Client().AskPatiently(Asking(3), std::numeric_limits<double>::infinity(), &busy);
  EXPECT_EQ(reply.kind, Kind::kWhole);
  EXPECT_EQ(busy, 2U);
}

TEST_F(LoadClientTest, DoesNotWaitForATimeThatComesTooLate) {
  StartChats([](size_t) { return Refusal("3600"); });
  std::atomic<size_t> busy = 0;
  const LoadReply reply = Client().AskPatiently(Asking(3), clock_.NowMs() + 1000, &busy);
  EXPECT_EQ(reply.kind, Kind::kBusy);
  EXPECT_EQ(busy, 1U);
}

TEST(BackOff, DoublesFromWhatTheServerAsksForUpToALimit) {
  EXPECT_EQ(BackOffMs(0, 1), 250);
  EXPECT_EQ(BackOffMs(0, 3), 1000);
  EXPECT_EQ(BackOffMs(1, 1), 1000);
  EXPECT_EQ(BackOffMs(1, 4), 2000);
  EXPECT_EQ(BackOffMs(3600, 1), kBackOffMsMax);
  EXPECT_EQ(BackOffMs(0, 1000), kBackOffMsMax);
}

}  // namespace
}  // namespace cairn
