#include "lab/client/sse.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cairn {
namespace {

// Returns all events of `stream`, fed in parts of `piece` bytes; one line each.
std::string Parse(std::string_view stream, size_t piece) {
  SseParser parser;
  std::string events;
  for (size_t i = 0; i < stream.size(); i += piece) {
    parser.Feed(stream.substr(i, piece), [&](const SseEvent& event) {
      events += "[" + event.event + "|" + event.data + "|" + event.id + "]";
    });
  }
  return events;
}

// Expects the same events for every way to split the stream into equal parts.
void ExpectEvents(std::string_view stream, const std::string& events) {
  for (size_t piece = 1; piece <= stream.size(); ++piece) {
    EXPECT_EQ(Parse(stream, piece), events) << "in pieces of " << piece;
  }
}

TEST(Sse, GivesDataAndItsEventName) {
  ExpectEvents("data: one\n\nevent: ping\ndata: two\n\n", "[message|one|][ping|two|]");
}

TEST(Sse, JoinsSeveralDataLines) {
  ExpectEvents("data: a\ndata:\ndata: b\n\n", "[message|a\n\nb|]");
}

TEST(Sse, TakesAnyLineEnd) {
  ExpectEvents("data: a\r\n\r\ndata: b\r\rdata: c\n\n", "[message|a|][message|b|][message|c|]");
  ExpectEvents("data: a\r\ndata: b\rdata: c\n\r\n", "[message|a\nb\nc|]");
}

TEST(Sse, StripsOneSpaceOnly) {
  ExpectEvents("data:a\n\ndata: a\n\ndata:  a\n\n", "[message|a|][message|a|][message| a|]");
}

TEST(Sse, SkipsCommentsAndUnknownFields) {
  ExpectEvents(": ping\n\n:\nfoo: bar\nretry: 10\ndata: x\n: y\n\n", "[message|x|]");
}

TEST(Sse, TakesAFieldWithoutAColonAsEmpty) {
  ExpectEvents("data\n\ndata\ndata\n\nevent\ndata: x\n\n", "[message||][message|\n|][message|x|]");
}

TEST(Sse, DropsEventsWithoutData) {
  ExpectEvents("event: lost\n\ndata: x\n\n", "[message|x|]");
}

TEST(Sse, KeepsTheLastId) {
  ExpectEvents("id: 7\ndata: a\n\ndata: b\n\nid\ndata: c\n\n",
               "[message|a|7][message|b|7][message|c|]");
  ExpectEvents(std::string_view("id: a\0b\ndata: x\n\n", 17), "[message|x|]");
}

TEST(Sse, SkipsAByteOrderMarkAtTheStartOnly) {
  ExpectEvents(
      "\xEF\xBB\xBF"
      "data: a\n\n\xEF\xBB\xBF"
      "data: b\n\ndata: \xEF\xBB\xBF\n\n",
      "[message|a|][message|\xEF\xBB\xBF|]");
}

TEST(Sse, DropsWhatTheStreamsEndCutsOff) {
  SseParser parser;
  int events = 0;
  const auto count = [&](const SseEvent&) { ++events; };
  parser.Feed("data: a\n\ndata: b\n", count);
  EXPECT_EQ(events, 1);
  EXPECT_TRUE(parser.InsideEvent());
  parser.Feed("\n", count);
  EXPECT_EQ(events, 2);
  EXPECT_FALSE(parser.InsideEvent());
}

TEST(Sse, ReadsAChatStream) {
  ExpectEvents("data: {\"choices\":[]}\n\ndata: [DONE]\n\n",
               "[message|{\"choices\":[]}|][message|[DONE]|]");
}

}  // namespace
}  // namespace cairn
