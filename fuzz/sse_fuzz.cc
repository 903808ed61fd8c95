// Server-Sent Events: the client's parser returns the same events however the bytes are cut, and
// the server's framing keeps every text unchanged.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/json.h"
#include "base/check.h"
#include "base/utf8.h"
#include "fuzz/input.h"
#include "lab/client/sse.h"
#include "routes/answering.h"

namespace cairn {

static bool operator==(const SseEvent& a, const SseEvent& b) {
  return a.event == b.event && a.data == b.data && a.id == b.id;
}

namespace {

// Feeds the bytes in parts whose sizes are `cuts`, repeated.
std::vector<SseEvent> Parsed(std::string_view bytes, ByteSpan cuts) {
  std::vector<SseEvent> events;
  SseParser parser;
  for (size_t i = 0; !bytes.empty(); ++i) {
    const size_t size = cuts.empty() ? bytes.size() : size_t{1} + cuts[i % cuts.size()] % 16U;
    const std::string_view piece = bytes.substr(0, size);
    parser.Feed(piece, [&](const SseEvent& event) { events.push_back(event); });
    bytes.remove_prefix(piece.size());
  }
  return events;
}

void CheckAnyBytes(std::string_view bytes, ByteSpan cuts) {
  const std::vector<SseEvent> whole = Parsed(bytes, {});
  CHECK(Parsed(bytes, cuts) == whole);
  for (const SseEvent& event : whole) {
    CHECK(!event.event.empty());
    CHECK(event.event.find_first_of("\r\n") == std::string::npos);
    CHECK(event.data.find('\r') == std::string::npos);
  }
}

// Frames arbitrary bytes, as an answer may have them, with pings in between.
void CheckFramed(fuzz::FuzzInput* input, ByteSpan cuts) {
  std::string framed;
  std::vector<Json> sent;
  while (!input->empty()) {
    if (input->Flag()) framed += kPingComment;
    const std::string text(input->Text(input->Below(40)));
    Json event = {{"text", ToValidUtf8(text)}, {text.empty() ? "k" : ToValidUtf8(text), 1}};
    AppendDataEvent(event, &framed);
    sent.push_back(std::move(event));
  }
  const std::vector<SseEvent> got = Parsed(framed, cuts);
  CHECK(got.size() == sent.size());
  for (size_t i = 0; i < got.size(); ++i) {
    CHECK(got[i].event == "message" && got[i].id.empty());
    CHECK(Json::parse(got[i].data) == sent[i]);
  }
}

}  // namespace
}  // namespace cairn

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cairn::fuzz::FuzzInput input(data, size);
  const bool framed = input.Flag();
  const cairn::ByteSpan cuts = input.Take(1 + input.Below(8));
  if (framed) {
    cairn::CheckFramed(&input, cuts);
  } else {
    cairn::CheckAnyBytes(input.RestText(), cuts);
  }
  return 0;
}
