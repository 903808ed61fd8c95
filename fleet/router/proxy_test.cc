#include "fleet/router/proxy.h"

#include <gtest/gtest.h>

#include <string>

#include "base/json.h"

namespace cairn {
namespace {

std::string Passed(StreamEnd* end, std::string_view bytes) {
  std::string chunk;
  end->Pass(bytes, &chunk);
  return chunk;
}

std::string Broken(StreamEnd* end) {
  std::string chunk;
  end->Break("the process has died", &chunk);
  return chunk;
}

TEST(StreamEnd, PassesCompleteEventsAtOnce) {
  StreamEnd end("/v1/chat/completions");
  EXPECT_EQ(Passed(&end, "data: 1\n\n"), "data: 1\n\n");
  EXPECT_EQ(Passed(&end, ": ping\n\ndata: 2\n\nda"), ": ping\n\ndata: 2\n\n");
  EXPECT_EQ(Passed(&end, "ta: 3\n"), "");
  EXPECT_EQ(Passed(&end, "\n"), "data: 3\n\n");
}

// Searched from its beginning for each piece, it would take minutes.
TEST(StreamEnd, AnEventInManyPiecesCostsWhatItIsLong) {
  StreamEnd end("/v1/responses");
  const std::string piece(64, 'x');
  for (size_t i = 0; i < 200'000; ++i) ASSERT_EQ(Passed(&end, piece), "");
  EXPECT_EQ(Passed(&end, "\n"), "");
  EXPECT_EQ(Passed(&end, "\n").size(), 200'000 * piece.size() + 2);
}

TEST(StreamEnd, PassesTheRestOfACompleteStream) {
  StreamEnd end("/v1/chat/completions");
  std::string chunk;
  end.Pass("data: x", &chunk);
  end.Complete(&chunk);
  EXPECT_EQ(chunk, "data: x");
}

TEST(StreamEnd, NeverPutsAnErrorBehindHalfAnEvent) {
  StreamEnd end("/v1/chat/completions");
  EXPECT_EQ(Passed(&end, "data: {\"a\":1}\n\ndata: {\"b"), "data: {\"a\":1}\n\n");
  EXPECT_EQ(Broken(&end),
            "data: {\"error\":{\"code\":503,\"message\":\"the process has died\",\"type\":"
            "\"unavailable_error\"}}\n\n");
}

TEST(StreamEnd, SaysItAsTheMessagesApiDoes) {
  StreamEnd end("/v1/messages");
  Passed(&end, "event: message_start\ndata: {}\n\n");
  const std::string event = Broken(&end);
  EXPECT_TRUE(event.starts_with("event: error\ndata: {\"type\":\"error\"")) << event;
  EXPECT_NE(event.find("the process has died"), std::string::npos);
}

TEST(StreamEnd, PassesOllamasLinesAndSaysItInOne) {
  StreamEnd end("/api/chat");
  EXPECT_EQ(Passed(&end, "{\"a\":1}\n{\"b\":"), "{\"a\":1}\n");
  EXPECT_EQ(Passed(&end, "2}\n{"), "{\"b\":2}\n");
  EXPECT_EQ(Broken(&end), "{\"error\":\"the process has died\"}\n");
}

TEST(StreamEnd, SaysItAsTheResponsesApiDoes) {
  StreamEnd end("/v1/responses");
  Passed(&end,
         "event: response.created\ndata: {\"type\":\"response.created\",\"sequence_number\":0,"
         "\"response\":{\"id\":\"resp_1\",\"status\":\"in_progress\"}}\n\n: ping\n\n");
  Passed(&end, "event: response.in_progress\ndata: {\"sequence_number\":1}\n\nevent: re");
  const std::string event = Broken(&end);
  const std::string begin = "event: response.failed\ndata: ";
  ASSERT_TRUE(event.starts_with(begin)) << event;
  const Json data = Json::parse(event.substr(begin.size()));
  EXPECT_EQ(data["sequence_number"].get<int>(), 2);
  EXPECT_EQ(data["response"]["id"].text(), "resp_1");
  EXPECT_EQ(data["response"]["status"].text(), "failed");
  EXPECT_EQ(data["response"]["error"]["message"].text(), "the process has died");
}

TEST(StreamEnd, SaysItAlsoBeforeTheFirstEvent) {
  StreamEnd end("/v1/responses");
  EXPECT_NE(Broken(&end).find("\"sequence_number\":0"), std::string::npos);
}

}  // namespace
}  // namespace cairn
