// Tests clients that read their streams slowly or not at all, on a complete server.

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "http/http_client.h"
#include "testing/base/memory_fs.h"
#include "testing/http/test_connection.h"
#include "testing/http/whole_server.h"

namespace cairn::slow_readers_test {
namespace {

using test::PlainConnection;
using test::WholeServer;

constexpr size_t kContextTokens = 65'536;
constexpr size_t kSlots = 3;

int PortOf(const WholeServer& server) {
  return std::stoi(server.url().substr(server.url().rfind(':') + 1));
}

// A request whose answer only ends at the end of the context; some are Ollama's.
std::unique_ptr<PlainConnection> BeginEndless(const WholeServer& server, const std::string& prompt,
                                              bool ollama) {
  auto client = std::make_unique<PlainConnection>(PortOf(server));
  const std::string body =
      ollama ? R"({"model":"m","options":{"ignore_eos":true},"prompt":")" + prompt + R"("})"
             : R"({"stream":true,"ignore_eos":true,"prompt":")" + prompt + R"("})";
  client->Send("POST " + std::string(ollama ? "/api/generate" : "/completion") +
               " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) +
               "\r\n\r\n" + body);
  return client;
}

TEST(SlowReaders, HoldNoSlotAlthoughTheyNeverRead) {
  MemoryFs fs;
  WholeServer server(&fs, {MemoryClass::kHybrid, {}, 0, kContextTokens});
  std::vector<std::unique_ptr<PlainConnection>> silent;
  for (size_t i = 0; i < 2 * kSlots; ++i) {
    silent.push_back(BeginEndless(server, "silent " + std::to_string(i), i % 2 == 0));
  }
  for (int tries = 0; tries < 4000 && server.stats().open.running < kSlots; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ASSERT_EQ(server.stats().open.running, kSlots);
  const auto answer =
      HttpClient(server.url(), {})
          .Post("/v1/completions", R"({"max_tokens":3,"ignore_eos":true,"prompt":"other"})");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 200) << answer->body;
  // The others would have ended first.
  EXPECT_EQ(server.stats().tokens.generated, 3u);
  for (const auto& client : silent) client->Close();
}

TEST(SlowReaders, GetAllOfTheirAnswersWhenTheyRead) {
  MemoryFs fs;
  WholeServer server(&fs, {MemoryClass::kHybrid, {}, 0, kContextTokens});
  const std::string body =
      R"({"stream":true,"max_tokens":20000,"ignore_eos":true,"temperature":0,"prompt":"long"})";
  int status = 0;
  std::string error;
  std::string text;
  // It reads nothing while others are answered.
  const auto hear = [&](std::string_view chunk) {
    const bool is_first = text.empty();
    for (size_t i = 0; is_first && i < kSlots; ++i) {
      const auto other =
          HttpClient(server.url(), {})
              .Post("/v1/completions", R"({"max_tokens":9,"ignore_eos":true,"prompt":"other"})");
      EXPECT_TRUE(other && other->status == 200);
    }
    text += chunk;
    return true;
  };
  const Status heard =
      HttpClient(server.url(), {}).PostStream("/v1/completions", body, hear, &status, &error);
  ASSERT_TRUE(heard) << heard.error().message;
  EXPECT_EQ(status, 200);
  EXPECT_NE(text.find("[DONE]"), std::string::npos);
  EXPECT_EQ(server.stats().tokens.generated, 20'000 + kSlots * 9);
}

}  // namespace
}  // namespace cairn::slow_readers_test
