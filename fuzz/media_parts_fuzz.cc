// Bodies of the three chat APIs whose messages have images and recordings. The first byte chooses
// the API and the rules; the rest is the body. A body is parsed, or refused with a 400; the media
// of a parsed one are of the kinds and sizes that the rules take, and their markers stand in
// messages.

#include <cstdint>
#include <string>
#include <string_view>

#include "api/anthropic/anthropic_request.h"
#include "api/openai/responses_request.h"
#include "api/request/chat_request.h"
#include "base/check.h"
#include "fuzz/input.h"
#include "fuzz/json_mutator.h"

namespace cairn {
namespace {

constexpr size_t kFileBytesMax = 64;
constexpr size_t kAllBytesMax = 200;
constexpr size_t kMediaMax = 4;

// A web server that knows three addresses.
Result<Bytes> Fetch(const std::string& url, size_t bytes_max) {
  CHECK(bytes_max <= kFileBytesMax);
  if (url.ends_with("a.png")) return Bytes{0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
  if (url.ends_with("a.wav")) return Bytes{'R', 'I', 'F', 'F', 0, 0, 0, 0, 'W', 'A', 'V', 'E'};
  if (url.ends_with("large")) return Bytes(kFileBytesMax + 1, 'x');
  return Fail(ErrorCode::kUnavailable, "there is nothing");
}

MediaRules RulesOf(uint8_t flags) {
  MediaRules rules;
  rules.takes_images = (flags & 4U) == 0;
  rules.takes_audio = (flags & 8U) == 0;
  rules.allow_url = (flags & 16U) != 0;
  rules.fetch = Fetch;
  rules.file_bytes_max = kFileBytesMax;
  rules.all_bytes_max = kAllBytesMax;
  rules.media_max = kMediaMax;
  if ((flags & 32U) != 0) rules.media_path = "/no/such/folder";
  return rules;
}

ApiResult<Conversation> Parse(uint8_t flags, const Json& body, const MediaRules& rules) {
  if ((flags & 3U) == 0) return ParseConversation(body, rules);
  if ((flags & 3U) == 1) return ParseMessagesConversation(body, rules);
  auto request = ParseResponsesRequest(body, {}, {}, rules);
  if (!request) return tl::unexpected(request.error());
  return std::move(request->chat.conversation);
}

void CheckMedia(const Conversation& talk, const MediaRules& rules) {
  size_t count = 0;
  size_t bytes = 0;
  for (const Message& message : talk.messages) {
    size_t at = 0;
    for (const MarkedMedium& marked : message.media) {
      const Medium& medium = *marked.medium;
      const bool image = medium.kind == MediumKind::kImage;
      CHECK(image ? rules.takes_images : rules.takes_audio);
      CHECK(medium.file.size() <= kFileBytesMax);
      CHECK(!medium.place.empty());
      bytes += medium.file.size();
      ++count;
      CHECK(at <= marked.begin && marked.begin < marked.end);
      CHECK(message.content.substr(marked.begin, marked.end - marked.begin) == MarkerOf(medium));
      at = marked.end;
    }
  }
  CHECK(count <= kMediaMax);
  CHECK(bytes <= kAllBytesMax);
}

}  // namespace
}  // namespace cairn

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cairn;  // NOLINT: the target begins here
  fuzz::FuzzInput input(data, size);
  const uint8_t flags = input.Byte();
  const auto body = ParseBody(input.RestText());
  if (!body) {
    CHECK(body.error().status == 400);
    return 0;
  }
  const MediaRules rules = RulesOf(flags);
  const auto talk = Parse(flags, *body, rules);
  if (talk) {
    CheckMedia(*talk, rules);
  } else {
    CHECK(talk.error().status == 400);
    CHECK(!talk.error().message.empty());
  }
  return 0;
}
