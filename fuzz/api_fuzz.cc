// Bodies of every endpoint. Each line is a request: the endpoint's word, a space, the body. Every
// request is answered, or refused with a 4xx; a body that is not JSON gets a 400; the response is
// JSON, or events of JSON.

#include <array>
#include <string>
#include <string_view>

#include "api/json.h"
#include "base/check.h"
#include "fuzz/input.h"
#include "fuzz/json_mutator.h"
#include "fuzz/served_fake.h"
#include "lab/client/sse.h"

namespace cairn {
namespace {

struct Endpoint {
  std::string_view word;
  std::string_view path;
  bool reads_body = true;
};
constexpr Endpoint kEndpoints[] = {{"chat", "/v1/chat/completions"},
                                   {"text", "/v1/completions"},
                                   {"native", "/completion"},
                                   {"messages", "/v1/messages"},
                                   {"count", "/v1/messages/count_tokens"},
                                   {"responses", "/v1/responses"},
                                   {"chat_tokens", "/v1/chat/completions/input_tokens"},
                                   {"response_tokens", "/v1/responses/input_tokens"},
                                   {"embed", "/v1/embeddings"},
                                   {"ollama_chat", "/api/chat"},
                                   {"ollama_text", "/api/generate"},
                                   {"ollama_embed", "/api/embed"},
                                   {"ollama_show", "/api/show"},
                                   {"tokenize", "/tokenize"},
                                   {"detokenize", "/detokenize"},
                                   {"template", "/apply-template"},
                                   {"prefetch", "/cairn/cache/prefetch"},
                                   {"pin", "/cairn/cache/checkpoints/1"},
                                   {"save", "/slots/0?action=save"},
                                   {"restore", "/slots/0?action=restore"},
                                   {"erase", "/slots/0?action=erase", false},
                                   {"flush", "/cairn/cache/flush", false}};
constexpr size_t kRequestsMax = 6;

void CheckEvents(const std::string& body) {
  size_t events = 0;
  SseParser parser;
  parser.Feed(body, [&](const SseEvent& event) {
    ++events;
    CHECK(event.data == "[DONE]" || !Json::parse(event.data, nullptr, false).is_discarded());
  });
  CHECK(events > 0);
  CHECK(!parser.InsideEvent());
}

// Ollama's streams have a line of JSON for each event.
void CheckLines(std::string_view body) {
  CHECK(body.ends_with('\n'));
  while (!body.empty()) {
    const size_t end = body.find('\n');
    CHECK(!Json::parse(body.substr(0, end), nullptr, false).is_discarded());
    body.remove_prefix(end + 1);
  }
}

void CheckAnswer(const Endpoint& endpoint, std::string_view body,
                 const fuzz::ServedFake::Answer& answer) {
  const bool refused = answer.status >= 400 && answer.status < 500;
  CHECK(answer.status == 200 || refused || answer.status == 501);
  if (endpoint.reads_body && answer.status != 404 && answer.status != 501) {
    if (Json::parse(body, nullptr, false).is_discarded()) CHECK(answer.status == 400);
  }
  if (answer.content_type == "text/event-stream") {
    CHECK(answer.status == 200);
    CheckEvents(answer.body);
    return;
  }
  if (answer.content_type == "application/x-ndjson") {
    CHECK(answer.status == 200);
    CheckLines(answer.body);
    return;
  }
  const Json json = Json::parse(answer.body, nullptr, false);
  CHECK(!json.is_discarded());
  if (answer.status != 200) {
    CHECK(json.contains("error"));
    const Json& error = json["error"];
    CHECK(!(error.is_string() ? error : error["message"]).get<std::string>().empty());
  }
}

fuzz::ServedFake::Options OptionsOf(uint8_t flags) {
  constexpr std::array<MemoryClass, 4> kClasses = {MemoryClass::kHybrid, MemoryClass::kAttention,
                                                   MemoryClass::kSlidingWindow,
                                                   MemoryClass::kRecurrent};
  constexpr std::array<const char*, 4> kTemplates = {"qwen", "chatml", "gemma", "llama3"};
  fuzz::ServedFake::Options options;
  options.memory_class = kClasses[flags & 3U];
  options.template_name = kTemplates[(flags >> 2U) & 3U];
  options.slots = (flags & 16U) != 0 ? 3 : 1;
  options.warm = (flags & 32U) != 0;
  options.cuts_overflow = (flags & 64U) != 0;
  return options;
}

}  // namespace
}  // namespace cairn

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cairn;  // NOLINT: the target begins here
  fuzz::FuzzInput input(data, size);
  const uint8_t flags = input.Byte();
  if (input.empty()) return 0;
  fuzz::ServedFake server(OptionsOf(flags));
  for (size_t i = 0; i < kRequestsMax && !input.empty(); ++i) {
    const std::string_view line = input.Line();
    const std::string_view word = line.substr(0, line.find(' '));
    const std::string_view body = line.substr(std::min(word.size() + 1, line.size()));
    for (const Endpoint& endpoint : kEndpoints) {
      if (endpoint.word == word) CheckAnswer(endpoint, body, server.Post(endpoint.path, body));
    }
  }
  return 0;
}
