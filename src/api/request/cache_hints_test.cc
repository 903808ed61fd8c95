#include "api/request/cache_hints.h"

#include <gtest/gtest.h>

#include "api/openai/responses_request.h"
#include "api/request/chat_request.h"

namespace cairn::cache_hints_test {
namespace {

ApiResult<CacheHints> Read(const std::string& fields) {
  return ParseCacheHints(Json::parse("{" + fields + "}"));
}

TEST(CacheHints, TimesAreReadByTheirNames) {
  EXPECT_FALSE(Read("")->keep_s.has_value());
  EXPECT_EQ(Read(R"("prompt_cache_key":"k")")->key, "k");
  EXPECT_FALSE(Read(R"("prompt_cache_retention":"in_memory")")->keep_s.has_value());
  EXPECT_FALSE(Read(R"("prompt_cache_retention":null)")->keep_s.has_value());
  EXPECT_EQ(Read(R"("prompt_cache_retention":"24h")")->keep_s, 86'400);
  EXPECT_EQ(Read(R"("prompt_cache_options":{})")->keep_s, 1800);
  EXPECT_EQ(Read(R"("prompt_cache_options":{"ttl":"12h"})")->keep_s, 43'200);
  EXPECT_EQ(Read(R"("prompt_cache_options":{"ttl":"30m"},"prompt_cache_retention":"24h")")->keep_s,
            86'400);
  EXPECT_TRUE(Read(R"("prompt_cache_options":{"mode":"explicit"})")->explicit_only);
}

TEST(CacheHints, MistakesAreNamed) {
  const auto begins = [](const std::string& fields, const std::string& place) {
    const auto hints = Read(fields);
    ASSERT_FALSE(hints.has_value()) << fields;
    EXPECT_TRUE(hints.error().message.starts_with("'" + place + "' must be "))
        << hints.error().message;
  };
  begins(R"("prompt_cache_key":7)", "prompt_cache_key");
  begins(R"("prompt_cache_key":")" + std::string(1025, 'k') + "\"", "prompt_cache_key");
  begins(R"("prompt_cache_retention":"7d")", "prompt_cache_retention");
  begins(R"("prompt_cache_options":"24h")", "prompt_cache_options");
  begins(R"("prompt_cache_options":{"ttl":"7d"})", "prompt_cache_options.ttl");
  begins(R"("prompt_cache_options":{"mode":"off"})", "prompt_cache_options.mode");
  begins(R"("prompt_cache_options":{"prewarm":true})", "prompt_cache_options.prewarm");
}

// "message: seconds", with 'i' for inside.
std::string Marks(const Conversation& conversation) {
  std::string all;
  for (const Message& message : conversation.messages) {
    all += std::string(RoleName(message.role)) + ":";
    for (const CacheMark& mark : message.marks) {
      all += " " + std::to_string(mark.ttl_s) + (mark.inside ? "i" : "");
    }
    all += "\n";
  }
  return all;
}

Conversation Marked(const std::string& body) {
  auto chat = ParseChatRequest(Json::parse(body), GenerationParams{});
  EXPECT_TRUE(chat.has_value()) << chat.error().message;
  MarkToKeep(chat->options.cache, &chat->conversation);
  return chat->conversation;
}

const std::string kTalk =
    R"({"messages":[{"role":"system","content":"S"},{"role":"user","content":"a"},
        {"role":"assistant","content":"b"},{"role":"user","content":"c"}])";

TEST(CacheHints, ATimeMarksTheEndsOfTheSystemPromptAndOfTheConversation) {
  EXPECT_EQ(Marks(Marked(kTalk + "}")), "system:\nuser:\nassistant:\nuser:\n");
  EXPECT_EQ(Marks(Marked(kTalk + R"(,"prompt_cache_retention":"24h"})")),
            "system: 86400\nuser:\nassistant:\nuser: 86400\n");
  EXPECT_EQ(Marks(Marked(kTalk + R"(,"prompt_cache_options":{"mode":"explicit","ttl":"12h"}})")),
            "system:\nuser:\nassistant:\nuser:\n");
}

std::string Part(const std::string& breakpoint) {
  return R"({"type":"text","text":"x","prompt_cache_breakpoint":)" + breakpoint + "}";
}

TEST(CacheHints, ABreakpointHasItsOwnTimeOrThatOfTheRequest) {
  const std::string parts = R"({"messages":[{"role":"user","content":[)" +
                            Part(R"({"mode":"explicit","ttl":"1h"})") + "," +
                            Part(R"({"mode":"explicit"})") + "]}]";
  EXPECT_EQ(Marks(Marked(parts + "}")), "user: 3600i 1800\n");
  EXPECT_EQ(Marks(Marked(parts + R"(,"prompt_cache_options":{"mode":"explicit","ttl":"12h"}})")),
            "user: 3600i 43200\n");
}

TEST(CacheHints, OfTooManyMarksTheLastOnesStay) {
  std::string parts;
  for (const char* ttl : {"5m", "30m", "1h", "12h", "24h"}) {
    parts += (parts.empty() ? "" : ",") + Part(R"({"ttl":")" + std::string(ttl) + "\"}");
  }
  EXPECT_EQ(Marks(Marked(R"({"messages":[{"role":"user","content":[)" + parts + "]}]}")),
            "user: 1800i 3600i 43200i 86400\n");
}

TEST(CacheHints, ResponsesHaveTheSame) {
  const std::string body = R"({"input":[{"role":"user","content":[{"type":"input_text","text":"x",
      "prompt_cache_breakpoint":{"mode":"explicit"}}]}],"prompt_cache_key":"k",
      "prompt_cache_retention":"24h"})";
  auto request = ParseResponsesRequest(Json::parse(body), GenerationParams{});
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->chat.options.cache.key, "k");
  MarkToKeep(request->chat.options.cache, &request->chat.conversation);
  EXPECT_EQ(Marks(request->chat.conversation), "user: 86400 86400\n");
  const auto wrong = ParseResponsesRequest(
      Json::parse(R"({"input":[{"role":"user","content":[{"type":"input_text","text":"x",
                      "prompt_cache_breakpoint":{"ttl":"x"}}]}]})"),
      GenerationParams{});
  ASSERT_FALSE(wrong.has_value());
  EXPECT_TRUE(wrong.error().message.starts_with(
      "'input[0].content[0].prompt_cache_breakpoint.ttl' must be "));
}

}  // namespace
}  // namespace cairn::cache_hints_test
